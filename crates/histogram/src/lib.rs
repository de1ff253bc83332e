//! Latency histogram: log-linear over all 64 bits, 128 sub-buckets per octave, mergeable without
//! loss. It keeps counts and nothing else, so merging is addition. Encoded bytes that have another
//! layout, are cut short or hold impossible buckets are refused.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

/// Histogram of nanoseconds. Values below 128 have a bucket each; above, a bucket is at most 1/128
/// of its lower bound wide.
///
/// Two histograms are equal when their counts are, however much memory each holds.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
}

/// Name of the bucket layout, stored with encoded buckets; fio's and HdrHistogram's layouts differ.
pub const LAYOUT: &str = "loglin128";

/// Number of buckets of the layout: 128 exact ones and 128 for each of the octaves 2^7 to 2^63.
pub const BUCKETS: usize = 58 * 128;

/// Reason why stored buckets cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The buckets are another program's, or a later version's.
    #[error("histogram has another bucket layout than {LAYOUT}")]
    Layout,
    /// The bytes end too early, or go on after the last bucket.
    #[error("histogram is cut short or followed by other bytes")]
    Length,
    /// A bucket is impossible, as the text says: its index is out of order or range, its count is
    /// zero, a number or the total does not fit 64 bits, or there are more buckets than
    /// [`BUCKETS`].
    #[error("histogram has an impossible bucket: {0}")]
    Bucket(&'static str),
}

impl Histogram {
    /// Returns an empty histogram that holds no memory.
    pub fn new() -> Self {
        Histogram::default()
    }

    /// Returns an empty histogram with memory for every value: `record` never allocates.
    pub fn preallocated() -> Self {
        Histogram { counts: vec![0; BUCKETS] }
    }

    /// Adds one latency in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Adds one latency, in nanoseconds, `number` times.
    #[inline]
    pub fn record_many(&mut self, ns: u64, number: u64) {
        let bucket = bucket_of(ns);
        match self.counts.get_mut(bucket) {
            Some(count) => *count += number,
            None => self.grow_and_add(bucket, number),
        }
    }

    /// Sets all counts to zero and keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Returns a copy without the empty buckets at the end.
    pub fn trimmed(&self) -> Histogram {
        Histogram { counts: self.used().to_vec() }
    }

    /// Adds the counts of another histogram; the order of merging does not matter.
    pub fn merge(&mut self, other: &Histogram) {
        for (bucket, count) in other.sparse() {
            self.grow_and_add(bucket as usize, count);
        }
    }

    /// Returns the number of values recorded.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    /// Returns true if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.used().is_empty()
    }

    /// Returns the lower bound, in nanoseconds, of the lowest bucket in use: no value was smaller.
    /// `None` if the histogram is empty.
    pub fn min(&self) -> Option<u64> {
        let lowest = self.counts.iter().position(|count| *count > 0)?;
        Some(bounds(lowest).0)
    }

    /// Returns the upper bound (inclusive), in nanoseconds, of the highest bucket in use: no value
    /// was larger. `None` if the histogram is empty.
    pub fn max(&self) -> Option<u64> {
        let highest = self.used().len().checked_sub(1)?;
        Some(bounds(highest).1)
    }

    /// Returns the mean in nanoseconds, computed from the middles of the buckets: within 1/256 of
    /// the true mean. `None` if the histogram is empty.
    pub fn mean(&self) -> Option<f64> {
        let total = self.count();
        let sum =
            self.sparse().map(|(bucket, count)| middle(bucket as usize) as f64 * count as f64);
        (total > 0).then(|| sum.sum::<f64>() / total as f64)
    }

    /// Returns the value below or at which a share `q` (0 ..= 1; outside is clamped) of all values
    /// lies: the middle of the first bucket where the running count reaches `ceil(q * count)`, or 1
    /// if `q` is 0. It is within 1/256 of the value of that rank. Returns `None` if the histogram
    /// is empty or `q` is not a number.
    pub fn percentile(&self, q: f64) -> Option<u64> {
        let total = self.count();
        if total == 0 || q.is_nan() {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * total as f64).ceil() as u64).clamp(1, total);
        let mut seen = 0u64;
        let reached = |(_, count): &(u32, u64)| {
            seen = seen.saturating_add(*count);
            seen >= rank
        };
        self.sparse().find(reached).map(|(bucket, _)| middle(bucket as usize))
    }

    /// Returns `(bucket, count)` of every bucket in use, in rising order; [`bounds`] returns the
    /// values of a bucket.
    pub fn sparse(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let numbered = self.counts.iter().enumerate();
        numbered.filter(|(_, count)| **count > 0).map(|(bucket, count)| (bucket as u32, *count))
    }

    /// Builds a histogram from its buckets, as the inverse of [`Histogram::sparse`].
    ///
    /// # Errors
    /// [`DecodeError::Bucket`] if indices do not rise or are out of range, a count is zero, or the
    /// counts add up beyond 64 bits.
    pub fn from_sparse(
        buckets: impl IntoIterator<Item = (u32, u64)>,
    ) -> Result<Histogram, DecodeError> {
        let mut histogram = Histogram::new();
        let mut total = 0u64;
        for (bucket, count) in buckets {
            let bucket = bucket as usize;
            if bucket >= BUCKETS || bucket < histogram.counts.len() {
                return Err(DecodeError::Bucket("its index is out of order or range"));
            }
            if count == 0 {
                return Err(DecodeError::Bucket("it counts nothing"));
            }
            total = total.checked_add(count).ok_or(DecodeError::Bucket("counts overflow"))?;
            histogram.grow_and_add(bucket, count);
        }
        Ok(histogram)
    }

    /// Encodes the histogram in compact bytes: the length of [`LAYOUT`] and its text, the number of
    /// buckets in use, then for each of them the number of empty buckets since the one before, and
    /// its count. All numbers are LEB128 varints.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, LAYOUT.len() as u64);
        bytes.extend_from_slice(LAYOUT.as_bytes());
        put_varint(&mut bytes, self.sparse().count() as u64);
        let mut next = 0;
        for (bucket, count) in self.sparse() {
            put_varint(&mut bytes, u64::from(bucket - next));
            put_varint(&mut bytes, count);
            next = bucket + 1;
        }
        bytes
    }

    /// Decodes the bytes of [`Histogram::encode`]; never panics, whatever the bytes.
    ///
    /// # Errors
    /// [`DecodeError`] for another layout, for bytes that are missing or left over, or for an
    /// impossible bucket.
    pub fn decode(bytes: &[u8]) -> Result<Histogram, DecodeError> {
        let mut rest = bytes;
        let name_length = take_varint(&mut rest)?;
        if name_length != LAYOUT.len() as u64 {
            return Err(DecodeError::Layout);
        }
        rest = rest.strip_prefix(LAYOUT.as_bytes()).ok_or(DecodeError::Layout)?;
        let buckets = take_varint(&mut rest)?;
        if buckets > BUCKETS as u64 {
            return Err(DecodeError::Bucket("there are more than the layout has"));
        }
        let mut pairs = Vec::with_capacity(buckets as usize);
        let mut next = 0u64;
        for _ in 0..buckets {
            let bucket = next.saturating_add(take_varint(&mut rest)?);
            let index = u32::try_from(bucket).unwrap_or(u32::MAX);
            pairs.push((index, take_varint(&mut rest)?));
            next = bucket.saturating_add(1);
        }
        if !rest.is_empty() {
            return Err(DecodeError::Length);
        }
        Histogram::from_sparse(pairs)
    }

    #[cold]
    fn grow_and_add(&mut self, bucket: usize, count: u64) {
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(count);
    }

    fn used(&self) -> &[u64] {
        let length = self.counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        &self.counts[..length]
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.used() == other.used()
    }
}

impl Eq for Histogram {}

/// Returns the lowest and highest value (both inclusive) of a bucket. A bucket beyond the layout
/// counts as the last.
pub fn bounds(bucket: usize) -> (u64, u64) {
    let bucket = bucket.min(BUCKETS - 1);
    if bucket < 128 {
        return (bucket as u64, bucket as u64);
    }
    let shift = (bucket >> 7) - 1;
    let low = (128 + (bucket & 127) as u64) << shift;
    (low, low + ((1 << shift) - 1))
}

fn middle(bucket: usize) -> u64 {
    let (low, high) = bounds(bucket);
    low + (high - low) / 2
}

/// Returns the index of the bucket that a value in nanoseconds belongs to.
#[inline]
pub fn bucket_of(ns: u64) -> usize {
    if ns < 128 {
        return ns as usize;
    }
    let octave = 63 - ns.leading_zeros() as usize;
    ((octave - 6) << 7) + ((ns >> (octave - 7)) & 127) as usize
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take_varint(rest: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, tail) = rest.split_first().ok_or(DecodeError::Length)?;
        *rest = tail;
        let part = u64::from(byte & 0x7f);
        if part.leading_zeros() < shift {
            return Err(DecodeError::Bucket("a number does not fit 64 bits"));
        }
        value |= part << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(DecodeError::Bucket("a number does not fit 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    /// Generates values of every magnitude, not only huge ones.
    fn value() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
    }

    #[test]
    fn buckets_join_without_gap_and_end_at_the_largest_value() {
        for bucket in 1..BUCKETS {
            assert_eq!(bounds(bucket - 1).1 + 1, bounds(bucket).0, "bucket {bucket}");
        }
        assert_eq!(bounds(BUCKETS - 1).1, u64::MAX);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn small_values_are_exact() {
        let histogram = of(&[1, 2, 3, 127]);
        assert_eq!(histogram.percentile(0.5), Some(2));
        assert_eq!(histogram.percentile(0.0), Some(1));
        assert_eq!(histogram.percentile(1.0), Some(127));
        assert_eq!(histogram.mean(), Some(33.25));
        assert_eq!((histogram.min(), histogram.max()), (Some(1), Some(127)));
    }

    #[test]
    fn an_empty_histogram_has_no_figures() {
        let histogram = Histogram::preallocated();
        assert!(histogram.is_empty());
        assert_eq!(histogram, Histogram::new());
        assert_eq!(histogram.percentile(0.5), None);
        assert_eq!(histogram.mean(), None);
        assert_eq!((histogram.min(), histogram.max()), (None, None));
        assert_eq!(Histogram::decode(&histogram.encode()), Ok(Histogram::new()));
    }

    #[test]
    fn a_foreign_layout_is_refused_by_name() {
        let mut bytes = of(&[5]).encode();
        bytes[1] = b'h';
        assert_eq!(Histogram::decode(&bytes), Err(DecodeError::Layout));
        assert_eq!(Histogram::decode(&[]), Err(DecodeError::Length));
    }

    #[test]
    fn impossible_buckets_are_refused() {
        assert!(Histogram::from_sparse([(3, 1), (3, 1)]).is_err());
        assert!(Histogram::from_sparse([(3, 0)]).is_err());
        assert!(Histogram::from_sparse([(BUCKETS as u32, 1)]).is_err());
        assert!(Histogram::from_sparse([(3, u64::MAX), (4, 1)]).is_err());
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket_which_is_narrow(value in value()) {
            let (low, high) = bounds(bucket_of(value));
            prop_assert!(low <= value && value <= high);
            prop_assert!(high - low <= low / 128);
        }

        #[test]
        fn merging_is_commutative_associative_and_loses_nothing(
            a in prop::collection::vec(value(), 0..50),
            b in prop::collection::vec(value(), 0..50),
            c in prop::collection::vec(value(), 0..50),
        ) {
            let merged = |parts: &[&Histogram]| {
                let mut sum = Histogram::new();
                parts.iter().for_each(|part| sum.merge(part));
                sum
            };
            let (ha, hb, hc) = (of(&a), of(&b), of(&c));
            let left = merged(&[&merged(&[&ha, &hb]), &hc]);
            let right = merged(&[&hc, &merged(&[&hb, &ha])]);
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(left, of(&[a, b, c].concat()));
        }

        #[test]
        fn percentiles_rise_and_are_within_the_bound(
            mut values in prop::collection::vec(value(), 1..200),
            q in 0.0f64..=1.0, r in 0.0f64..=1.0,
        ) {
            let histogram = of(&values);
            let at = |q: f64| histogram.percentile(q).unwrap();
            prop_assert!(at(q.min(r)) <= at(q.max(r)));
            prop_assert!(histogram.min().unwrap() <= at(0.0));
            prop_assert!(at(1.0) <= histogram.max().unwrap());
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).max(1);
            let truth = values[rank - 1];
            prop_assert!(at(q).abs_diff(truth) <= truth / 128);
        }

        #[test]
        fn mean_is_within_the_bound(values in prop::collection::vec(value(), 1..200)) {
            let truth = values.iter().map(|v| *v as f64).sum::<f64>() / values.len() as f64;
            let error = (of(&values).mean().unwrap() - truth).abs();
            prop_assert!(error <= truth / 200.0, "{error} of {truth}");
        }

        #[test]
        fn bytes_come_back(values in prop::collection::vec(value(), 0..300)) {
            let histogram = of(&values);
            prop_assert_eq!(Histogram::decode(&histogram.encode()), Ok(histogram.clone()));
            prop_assert_eq!(Histogram::from_sparse(histogram.sparse()), Ok(histogram.clone()));
            prop_assert_eq!(&histogram.trimmed(), &histogram);
        }

        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut framed = vec![LAYOUT.len() as u8];
            framed.extend_from_slice(LAYOUT.as_bytes());
            framed.extend_from_slice(&bytes);
            for input in [bytes, framed] {
                if let Ok(histogram) = Histogram::decode(&input) {
                    prop_assert_eq!(Histogram::decode(&histogram.encode()), Ok(histogram));
                }
            }
        }

        #[test]
        fn a_cut_never_passes(values in prop::collection::vec(value(), 1..50), cut in 1usize..400) {
            let bytes = of(&values).encode();
            let kept = bytes.len().saturating_sub(cut);
            prop_assert!(Histogram::decode(&bytes[..kept]).is_err());
        }
    }
}

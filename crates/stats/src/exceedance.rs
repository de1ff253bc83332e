//! Estimates the share of I/Os that take longer than a threshold. The share is a ratio of totals
//! over rounds, so it has the interval of a rate; some 20 slow I/Os suffice. Quantiles follow by
//! inversion (Woodruff 1952, in [`super::quantile`]).

use super::ratio::{self, Ratio, Total};
use super::{ALPHA, Refusal};
use iotax_histogram::{Histogram, bounds, bucket_of};
use serde::Serialize;

/// Smallest number of I/Os beyond a threshold for which their share is estimated.
pub const LEAST_BEYOND: u64 = 20;

/// Largest number of groups of consecutive rounds that are kept apart; this bounds the memory of
/// long runs.
const MOST_GROUPS: usize = 256;

/// Latencies of one stack and direction, round by round. More than 256 rounds are kept in groups of
/// consecutive ones.
#[derive(Clone, Debug, Default)]
pub struct RoundHistograms {
    /// Buckets in use of each group, as `(bucket, count)` with rising buckets.
    groups: Vec<Vec<(u32, u64)>>,
    rounds: usize,
}

impl RoundHistograms {
    /// Returns empty histograms for a known number of rounds.
    pub fn new(rounds: usize) -> RoundHistograms {
        RoundHistograms { groups: vec![Vec::new(); rounds.min(MOST_GROUPS)], rounds }
    }

    /// Adds the histogram of a slice of round `index`, counted from 0. A round beyond the number
    /// given to [`Self::new`] is ignored.
    pub fn add(&mut self, index: usize, slice: &Histogram) {
        let count = self.groups.len();
        if let Some(group) =
            self.groups.get_mut((index * count).checked_div(self.rounds).unwrap_or(0))
        {
            *group = merge_buckets(group, slice.sparse());
        }
    }

    /// Returns all rounds merged.
    pub fn pooled_histogram(&self) -> Histogram {
        pool_groups(&self.groups)
    }

    /// Merges equal numbers of consecutive rounds into at least `most` histograms, and fewer than
    /// twice as many; rounds left over at the end are dropped. Fewer rounds than `most` are
    /// returned one by one.
    pub(super) fn batches(&self, most: usize) -> Vec<Histogram> {
        self.groups.chunks_exact((self.groups.len() / most).max(1)).map(pool_groups).collect()
    }

    /// Returns the number of latencies.
    pub fn count(&self) -> u64 {
        self.groups.iter().flatten().map(|(_, count)| count).sum()
    }

    /// Returns for each group the number of latencies, and the result of `of` for its buckets.
    pub(super) fn totals(&self, of: impl Fn(&[(u32, u64)]) -> f64) -> Vec<(f64, f64)> {
        let items = |group: &[(u32, u64)]| group.iter().map(|(_, count)| *count as f64).sum();
        self.groups.iter().map(|group| (items(group), of(group))).collect()
    }
}

fn pool_groups(groups: &[Vec<(u32, u64)>]) -> Histogram {
    let mut pooled = Histogram::new();
    for (bucket, count) in groups.iter().flatten() {
        pooled.record_many(bounds(*bucket as usize).0, *count);
    }
    pooled
}

/// Adds up two lists of `(bucket, count)` with rising buckets.
fn merge_buckets(one: &[(u32, u64)], other: impl Iterator<Item = (u32, u64)>) -> Vec<(u32, u64)> {
    let (mut all, mut rest) = (Vec::with_capacity(one.len()), one);
    for (bucket, count) in other {
        let before = rest.partition_point(|(known, _)| *known < bucket);
        all.extend_from_slice(&rest[..before]);
        rest = &rest[before..];
        match rest.split_first() {
            Some(((known, more), tail)) if *known == bucket => {
                all.push((bucket, count + more));
                rest = tail;
            }
            _ => all.push((bucket, count)),
        }
    }
    all.extend_from_slice(rest);
    all
}

/// A latency beyond which I/Os are counted. Latencies within a bucket of the histogram count as
/// evenly spread over it; a bucket is narrower than 1/128 of their value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    bucket: usize,
    /// Part of the bucket that lies beyond the threshold, from 0 to 1.
    part: f64,
}

impl Threshold {
    /// Returns the threshold at a latency in nanoseconds.
    pub fn at_latency(ns: u64) -> Threshold {
        let bucket = bucket_of(ns);
        let (low, high) = bounds(bucket);
        Threshold { bucket, part: (high - ns + 1) as f64 / ((high - low) as f64 + 1.0) }
    }

    /// Returns the latency that this share of all I/Os exceeds; `None` for an empty histogram.
    pub fn exceeded_by(pooled: &Histogram, share: f64) -> Option<Threshold> {
        let wanted = share.clamp(0.0, 1.0) * pooled.count() as f64;
        let mut below = pooled.count() as f64 - wanted;
        for (bucket, count) in pooled.sparse() {
            let count = count as f64;
            if count >= below {
                return Some(Threshold { bucket: bucket as usize, part: 1.0 - below / count });
            }
            below -= count;
        }
        None
    }

    /// Returns the threshold in nanoseconds.
    pub fn ns(self) -> f64 {
        let (low, high) = bounds(self.bucket);
        high as f64 + 1.0 - self.part * ((high - low) as f64 + 1.0)
    }

    /// Returns the number of latencies beyond the threshold.
    fn count_beyond(self, counts: &[(u32, u64)]) -> f64 {
        let from = counts.partition_point(|(bucket, _)| (*bucket as usize) < self.bucket);
        let weighed = |(bucket, count): &(u32, u64)| match *bucket as usize == self.bucket {
            true => self.part * *count as f64,
            false => *count as f64,
        };
        counts[from..].iter().map(weighed).sum()
    }

    /// Returns for each group of rounds the number of I/Os, and the number of those beyond the
    /// threshold.
    fn series(self, side: &RoundHistograms) -> Vec<(f64, f64)> {
        side.totals(|counts| self.count_beyond(counts))
    }
}

/// Returns the number of a stack's I/Os beyond a threshold.
pub fn number_beyond(side: &RoundHistograms, threshold: Threshold) -> f64 {
    threshold.series(side).iter().map(|(_, beyond)| beyond).sum()
}

/// Estimates the share of a stack's I/Os beyond a threshold. For several strata it is the geometric
/// mean of their shares, each with residuals of its own.
///
/// # Errors
/// [`Refusal`] below 16 rounds or with fewer than [`LEAST_BEYOND`] I/Os beyond the threshold, both
/// over all strata, or if a stratum has no I/O beyond it.
pub fn share_beyond(strata: &[&RoundHistograms], threshold: Threshold) -> Result<Ratio, Refusal> {
    let series: Vec<Vec<(f64, f64)>> = strata.iter().map(|side| threshold.series(side)).collect();
    enough(&series)?;
    ratio::stratified(&series).map_err(|reason| thin(reason, &series))
}

/// Estimates the share of B's I/Os beyond the second threshold over the share of A's beyond the
/// first (mostly the same one), paired by rounds. Each stratum holds A and B.
///
/// # Errors
/// As [`share_beyond`], of either side.
pub fn share_ratio(
    strata: &[[RoundHistograms; 2]],
    thresholds: [Threshold; 2],
) -> Result<Ratio, Refusal> {
    let series =
        |at: usize| strata.iter().map(|pair| thresholds[at].series(&pair[at])).collect::<Vec<_>>();
    let (a, b) = (series(0), series(1));
    enough(&a)?;
    enough(&b)?;
    let total = |(items, sum): &(f64, f64)| Total { items: *items, sum: *sum };
    let paired: Vec<Vec<(Total, Total)>> = a
        .iter()
        .zip(&b)
        .map(|(a, b)| a.iter().map(total).zip(b.iter().map(total)).collect())
        .collect();
    ratio::of_means(&paired).map_err(|reason| thin(reason, &b))
}

fn enough(series: &[Vec<(f64, f64)>]) -> Result<(), Refusal> {
    let rounds: usize = series.iter().map(Vec::len).sum();
    match total_beyond(series) {
        _ if rounds < super::spread::BATCHES => Err(Refusal::TooFewRounds { have: rounds }),
        have if have < LEAST_BEYOND => Err(Refusal::ThinTail { have }),
        _ => Ok(()),
    }
}

/// Returns the number of I/Os beyond the threshold over all strata. A tiny amount is added, since a
/// threshold that 20 I/Os exceed may lie within a bucket.
fn total_beyond(series: &[Vec<(f64, f64)>]) -> u64 {
    (series.iter().flatten().map(|(_, beyond)| beyond).sum::<f64>() + 1e-6) as u64
}

/// Turns the refusal of a stratum without a slow I/O into that of a thin tail.
fn thin(reason: Refusal, series: &[Vec<(f64, f64)>]) -> Refusal {
    match reason {
        Refusal::IdleBaseline | Refusal::IdleStack => {
            Refusal::ThinTail { have: total_beyond(series) }
        }
        other => other,
    }
}

/// Verdict on a service level ("99 % of the reads are below 500 us").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceVerdict {
    /// Significantly fewer I/Os than allowed lie beyond.
    Kept,
    /// Significantly more I/Os than allowed lie beyond.
    Broken,
    /// Neither of the two is certain.
    Unresolved,
}

impl ServiceVerdict {
    /// Returns `kept`, `broken` or `unresolved`.
    pub fn word(self) -> &'static str {
        match self {
            ServiceVerdict::Kept => "kept",
            ServiceVerdict::Broken => "broken",
            ServiceVerdict::Unresolved => "unresolved",
        }
    }
}

/// Share of a stack's I/Os beyond a threshold with its interval, which may begin at zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailShare {
    /// Share of the I/Os beyond the threshold.
    pub share: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
    /// Number of I/Os beyond the threshold.
    pub beyond: f64,
    /// Number of I/Os, beyond the threshold or not.
    pub ios: u64,
}

impl TailShare {
    /// Estimates the share beyond a threshold, with an interval that holds simultaneously with
    /// those of all `many` of its kind.
    ///
    /// If less than half of `allowed` lies beyond, the share is also bounded by that beyond a lower
    /// threshold: the one that half of `allowed` exceeds, and, if less than a sixteenth lies
    /// beyond, the one that a sixteenth exceeds (at least [`LEAST_BEYOND`] I/Os each). A single
    /// stall then decides nothing. If no I/O lies beyond, the share is also at most the binomial
    /// bound for none in as many trials as there are rounds.
    ///
    /// # Errors
    /// Only if some I/O lies beyond, or there are no I/Os at all: [`Refusal`] below 16 rounds, or
    /// with fewer than [`LEAST_BEYOND`] I/Os in all.
    pub fn estimate(
        side: &RoundHistograms,
        threshold: Threshold,
        allowed: f64,
        many: usize,
    ) -> Result<TailShare, Refusal> {
        let (ios, beyond) = (side.count(), number_beyond(side, threshold));
        let least = LEAST_BEYOND as f64 / ios.max(1) as f64;
        let mut levels: Vec<f64> = [2.0, 16.0].map(|part| (allowed / part).max(least)).into();
        levels.retain(|level| *level <= 1.0 && beyond < level * ios as f64);
        levels.dedup();
        let confidence = 1.0 - ALPHA / (many.max(1) * levels.len().max(1)) as f64;
        let bounds =
            |at: Threshold| Ok::<_, Refusal>(share_beyond(&[side], at)?.bounds_at(confidence));
        let pooled = side.pooled_histogram();
        let lower = levels.iter().filter_map(|level| Threshold::exceeded_by(&pooled, *level));
        let most = lower.map(|at| Ok(bounds(at)?.1)).collect::<Result<Vec<f64>, Refusal>>();
        let most = most.map(|most| most.into_iter().reduce(f64::min));
        // No slow I/O in any round: as if all I/Os of a round were slow together.
        let rounds = side.groups.iter().filter(|group| !group.is_empty()).count();
        let none = (beyond == 0.0 && rounds > 0)
            .then(|| 1.0 - (ALPHA / many.max(1) as f64).powf(1.0 / rounds as f64));
        let (low, high) = match (bounds(threshold), most, none) {
            (_, most, Some(none)) => (0.0, most.ok().flatten().map_or(none, |most| most.min(none))),
            (Ok((low, high)), Ok(Some(most)), _) => (low, high.min(most)),
            (Err(Refusal::ThinTail { .. }), Ok(Some(most)), _) => (0.0, most),
            (_, Err(reason), _) => return Err(reason),
            (own, _, _) => own?,
        };
        Ok(TailShare { share: beyond / ios as f64, low, high: high.min(1.0), beyond, ios })
    }

    /// Returns the verdict if the share `allowed` of all I/Os may lie beyond.
    pub fn verdict(&self, allowed: f64) -> ServiceVerdict {
        match () {
            () if self.high < allowed => ServiceVerdict::Kept,
            () if self.low > allowed => ServiceVerdict::Broken,
            () => ServiceVerdict::Unresolved,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    /// Latencies around 100 us of 64 rounds, of which this share is around 1 ms. Rounds come in
    /// pairs, and in one pair of eight there are `burst` times as many.
    fn bursts(noise: &mut Noise, ios: usize, slow: f64, burst: f64) -> RoundHistograms {
        let mut side = RoundHistograms::new(64);
        let mut is_burst = false;
        for round in 0..64 {
            if round % 2 == 0 {
                is_burst = noise.uniform() < 0.125;
            }
            let share = slow / (0.875 + 0.125 * burst) * if is_burst { burst } else { 1.0 };
            let mut slice = Histogram::new();
            for _ in 0..ios {
                let mode = if noise.uniform() < share { 1e6 } else { 1e5 };
                slice.record((mode * (0.1 * noise.normal()).exp()) as u64);
            }
            side.add(round, &slice);
        }
        side
    }

    fn side(noise: &mut Noise, ios: usize, slow: f64) -> RoundHistograms {
        bursts(noise, ios, slow, 4.0)
    }

    #[test]
    fn none_beyond_in_few_rounds_keeps_what_half_may_exceed_and_not_what_few_may() {
        let mut side = RoundHistograms::new(10);
        for round in 0..10 {
            let mut slice = Histogram::new();
            slice.record_many(100_000 << (round % 3), 10);
            side.add(round, &slice);
        }
        let judged = |allowed| {
            let found =
                TailShare::estimate(&side, Threshold::at_latency(1_000_000_000), allowed, 1)
                    .unwrap();
            (found.verdict(allowed), found.high)
        };
        let (verdict, high) = judged(0.5);
        assert!(verdict == ServiceVerdict::Kept && (high - 0.2589).abs() < 1e-3, "{high}");
        assert_eq!(judged(0.01).0, ServiceVerdict::Unresolved);
    }

    const EDGE: u64 = 400_000;

    #[test]
    fn thresholds_part_a_bucket() {
        let mut one = Histogram::new();
        (0..1000).for_each(|at| one.record(1_000_000 + 10 * at));
        for share in [0.001, 0.01, 0.5, 0.99] {
            let at = Threshold::exceeded_by(&one, share).unwrap();
            let truth = 1_010_000.0 - 10_000.0 * share;
            assert!((at.ns() / truth - 1.0).abs() < 0.004, "{share}: {} {truth}", at.ns());
            assert!(
                (at.count_beyond(&one.sparse().collect::<Vec<_>>()) - 1000.0 * share).abs() < 1e-6
            );
            assert!((Threshold::at_latency(at.ns() as u64).ns() - at.ns()).abs() < 1.0);
        }
        assert_eq!(Threshold::exceeded_by(&Histogram::new(), 0.5), None);
        let [low, high] = [0, 2_000_000]
            .map(|ns| Threshold::at_latency(ns).count_beyond(&[(bucket_of(1_000_000) as u32, 7)]));
        assert_eq!([low, high], [7.0, 0.0]);
    }

    #[test]
    fn rounds_are_merged_in_any_order_and_grouped_where_they_are_many() {
        let mut noise = Noise::new(3);
        let slices: Vec<Histogram> =
            (0..1000).map(|_| side(&mut noise, 1, 0.1).pooled_histogram()).collect();
        let (mut one, mut other) = (RoundHistograms::new(1000), RoundHistograms::new(1000));
        slices.iter().enumerate().for_each(|(at, slice)| one.add(at, slice));
        slices.iter().enumerate().rev().for_each(|(at, slice)| other.add(at, slice));
        assert_eq!((one.groups.len(), one.count()), (256, 64_000));
        assert_eq!(one.groups, other.groups);
        assert_eq!(
            one.pooled_histogram(),
            slices.iter().fold(Histogram::new(), |mut all, one| {
                all.merge(one);
                all
            })
        );
        let mut none = RoundHistograms::new(0);
        none.add(0, &slices[0]);
        assert_eq!(none.count(), 0);
    }

    #[test]
    fn shares_and_their_ratios_are_covered() {
        let (runs, edge) = (400, Threshold::at_latency(EDGE));
        let (mut one, mut both, mut width) = (0, 0, 0.0);
        for seed in 0..runs {
            let mut noise = Noise::new(seed);
            let [a, b] = [0.02, 0.04].map(|slow| side(&mut noise, 40, slow));
            let holds =
                |found: &Ratio, truth: f64| u64::from(found.low < truth && truth < found.high);
            one += holds(&share_beyond(&[&a], edge).unwrap(), 0.02);
            let found = share_ratio(&[[a, b]], [edge; 2]).unwrap();
            both += holds(&found, 2.0);
            width += found.half_width() / runs as f64;
        }
        for (what, held) in [("share", one), ("ratio", both)] {
            let share = held as f64 / runs as f64;
            assert!(
                (0.91..=0.99).contains(&share),
                "the {what} of some 51 slow I/Os is covered in {share}"
            );
        }
        assert!(width < 0.7, "half-width {width}");
    }

    #[test]
    fn what_a_stratum_gives_to_a_side_cancels() {
        // Files swapped at half time: one has twice as many slow I/Os, and the stack half as many
        // more.
        let mut noise = Noise::new(9);
        let mut pair = |slow: [f64; 2]| slow.map(|slow| bursts(&mut noise, 400, slow, 1.0));
        let strata = [pair([0.02, 0.06]), pair([0.04, 0.03])];
        let found = share_ratio(&strata, [Threshold::at_latency(EDGE); 2]).unwrap();
        assert!(found.low < 1.5 && 1.5 < found.high && found.half_width() < 0.3, "{found:?}");
    }

    #[test]
    fn a_service_level_at_its_edge_is_seldom_called() {
        let calls = |slow: f64, ios: usize, many: usize| {
            let (mut kept, mut broken) = (0, 0);
            for seed in 0..300 {
                let found = TailShare::estimate(
                    &side(&mut Noise::new(seed), ios, slow),
                    Threshold::at_latency(EDGE),
                    0.01,
                    many,
                );
                match found.unwrap().verdict(0.01) {
                    ServiceVerdict::Kept => kept += 1,
                    ServiceVerdict::Broken => broken += 1,
                    ServiceVerdict::Unresolved => {}
                }
            }
            [kept, broken]
        };
        let [kept, broken] = calls(0.01, 100, 1);
        assert!((1..24).contains(&(kept + broken)), "false in {kept} and {broken} of 300");
        let [kept, broken] = calls(0.01, 100, 8);
        assert!(kept + broken <= 6, "of eight: false in {kept} and {broken} of 300");
        assert!(calls(0.002, 100, 1)[0] > 220 && calls(0.03, 100, 1)[1] > 290);
        // A fifth of the I/Os: 13 may lie beyond, from which no interval follows; far more settle
        // it.
        assert_eq!(calls(0.0, 20, 1), [0, 0]);
        assert!(calls(0.05, 20, 1)[1] > 280);
    }

    #[test]
    fn no_slow_io_at_all_keeps_a_level_where_enough_were_counted() {
        let fast = side(&mut Noise::new(4), 100, 0.0);
        let found = TailShare::estimate(&fast, Threshold::at_latency(EDGE), 0.01, 1).unwrap();
        assert_eq!(
            (found.beyond, found.low, found.verdict(0.01)),
            (0.0, 0.0, ServiceVerdict::Kept)
        );
        assert!((0.005..0.01).contains(&found.high), "{found:?}");
        assert_eq!(found.verdict(0.001), ServiceVerdict::Unresolved);
        // One stall in ten seconds, of 25 I/Os: its own share could be anything.
        let mut stall = side(&mut Noise::new(5), 1000, 0.0);
        let mut slice = Histogram::new();
        slice.record_many(2_000_000, 25);
        stall.add(30, &slice);
        let found = TailShare::estimate(&stall, Threshold::at_latency(EDGE), 0.05, 1).unwrap();
        assert!(
            found.low < found.share && found.verdict(0.05) == ServiceVerdict::Kept,
            "{found:?}"
        );
        let mut few = RoundHistograms::new(16);
        few.add(3, &Histogram::new());
        assert_eq!(
            TailShare::estimate(&few, Threshold::at_latency(EDGE), 0.01, 1),
            Err(Refusal::ThinTail { have: 0 })
        );
        let short = RoundHistograms::new(15);
        assert_eq!(
            TailShare::estimate(&short, Threshold::at_latency(EDGE), 0.01, 1),
            Err(Refusal::TooFewRounds { have: 15 })
        );
    }
}

//! Latency histogram: log-linear over all 64 bits, 128 sub-buckets an octave, mergeable.

/// Histogram of nanoseconds; relative bucket width at most 1/128.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
}

/// Identity of the bucket layout in records (fio's, HDR's and ours differ).
pub const LAYOUT: &str = "loglin128";

impl Histogram {
    /// Empty.
    pub fn new() -> Self {
        Histogram::default()
    }

    /// Adds one latency.
    pub fn record(&mut self, ns: u64) {
        let bucket = bucket_of(ns);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
    }
}

fn bucket_of(ns: u64) -> usize {
    if ns < 128 {
        return ns as usize;
    }
    let octave = 63 - ns.leading_zeros() as usize;
    ((octave - 6) << 7) + ((ns >> (octave - 7)) & 127) as usize
}

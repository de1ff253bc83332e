//! Open loop: the schedule of a job with `rate_iops`. The I/O of index k is meant to start at
//! start + k / rate, whatever happened before it; its latency counts from there, so a stall shows
//! in every I/O that it delayed. I/Os that the slice's end overtook are not issued: they are
//! missing from the throughput, not from the latencies alone.

/// Highest rate that can be asked of a thread: one I/O a nanosecond.
pub(crate) const MAX_RATE: u64 = 1_000_000_000;

/// Intended starts of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    rate: u64,
    first: u64,
    stride: u64,
    index: u64,
    start_ns: u64,
}

impl Pace {
    /// `rate` I/Os a second (1 ..= [`MAX_RATE`]), of which this thread issues every `stride`-th
    /// beginning with the `first`.
    pub(crate) fn new(rate: u64, first: u64, stride: u64) -> Pace {
        Pace { rate, first, stride, index: first, start_ns: 0 }
    }

    /// Begins anew with a slice.
    pub(crate) fn restart(&mut self, start_ns: u64) {
        self.index = self.first;
        self.start_ns = start_ns;
    }

    /// When the next I/O is meant to start.
    pub(crate) fn intended_ns(&self) -> u64 {
        let (seconds, rest) = (self.index / self.rate, self.index % self.rate);
        self.start_ns + seconds * 1_000_000_000 + rest * 1_000_000_000 / self.rate
    }

    /// Goes on to the one after it.
    pub(crate) fn advance(&mut self) {
        self.index += self.stride;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(mut pace: Pace, count: usize) -> Vec<u64> {
        let mut next = || {
            let at = pace.intended_ns();
            pace.advance();
            at
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn the_schedule_does_not_drift() {
        let mut pace = Pace::new(3, 0, 1);
        pace.restart(10);
        let expected = [10, 333_333_343, 666_666_676, 1_000_000_010];
        assert_eq!(starts(pace.clone(), 4), expected);
        assert_eq!(starts(pace, 3_000_001).last(), Some(&(1_000_000 * 1_000_000_000 + 10)));
    }

    #[test]
    fn threads_that_share_a_rate_interleave() {
        let mut merged = [Pace::new(1000, 0, 2), Pace::new(1000, 1, 2)].map(|pace| starts(pace, 3)).concat();
        merged.sort_unstable();
        assert_eq!(merged, starts(Pace::new(1000, 0, 1), 6));
    }

    #[test]
    fn the_highest_rate_does_not_overflow() {
        let mut pace = Pace::new(MAX_RATE, MAX_RATE - 1, 1);
        pace.restart(0);
        assert_eq!(pace.intended_ns(), MAX_RATE - 1);
    }
}

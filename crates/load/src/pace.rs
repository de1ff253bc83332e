//! Open loop: the schedule of a job with `rate_iops`. The intended start of the I/O of index k is
//! `start + k / rate`, whatever happened before it. Its latency counts from there, so a stall shows
//! in every I/O that it delayed. This includes I/Os that the slice's end overtook: they are not
//! issued and are missing from the throughput, but the time that they had waited by then is in the
//! latencies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Highest rate that a job may ask of a thread: one I/O per nanosecond, the step of the clock that
/// paces them.
pub const MAX_RATE: u64 = 1_000_000_000;

/// Divisor of the number of untaken starts, which gives the size of the next group that is
/// reported.
const GROUPS: u64 = 4096;

/// Index of the next start that no thread has taken. Threads that make up one fio thread share it:
/// any free thread takes the next start, so an I/O that does not come back delays only itself.
pub(crate) type Schedule = Arc<AtomicU64>;

#[derive(Debug)]
pub(crate) struct Pace {
    rate: u64,
    schedule: Schedule,
    /// Index of the start that this thread has taken and not used.
    taken: Option<u64>,
    start_ns: u64,
}

impl Pace {
    /// Creates a pace of `rate` I/Os per second (1 ..= [`MAX_RATE`]) for all threads that share the
    /// schedule.
    pub(crate) fn new(rate: u64, schedule: Schedule) -> Pace {
        Pace { rate, schedule, taken: None, start_ns: 0 }
    }

    /// Returns to the first start. Every thread calls it before any begins the slice.
    pub(crate) fn rewind(&mut self) {
        self.taken = None;
        self.schedule.store(0, Ordering::Relaxed);
    }

    pub(crate) fn begin_schedule(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// Returns the time at which this thread's next I/O is meant to start.
    pub(crate) fn intended_ns(&mut self) -> u64 {
        let index =
            *self.taken.get_or_insert_with(|| self.schedule.fetch_add(1, Ordering::Relaxed));
        self.due_ns(index)
    }

    /// Marks the start of [`Pace::intended_ns`] as used, so that the next I/O takes another.
    pub(crate) fn advance(&mut self) {
        self.taken = None;
    }

    /// Takes the starts before `end_ns` that were not used, and calls `each` with an intended start
    /// and the number of starts that it represents. Starts that are reported together lie within a
    /// small part of the time until the end.
    pub(crate) fn take_overtaken(&mut self, end_ns: u64, mut each: impl FnMut(u64, u64)) {
        let limit = self.starts_before(end_ns);
        if let Some(index) = self.taken.take_if(|index| *index < limit) {
            each(self.due_ns(index), 1);
        }
        loop {
            let untaken = limit.saturating_sub(self.schedule.load(Ordering::Relaxed));
            if untaken == 0 {
                return;
            }
            let group = untaken.div_ceil(GROUPS);
            let first = self.schedule.fetch_add(group, Ordering::Relaxed);
            // Another thread may have taken the last starts since.
            let ours = group.min(limit.saturating_sub(first));
            if ours > 0 {
                each(self.due_ns(first), ours);
            }
        }
    }

    fn starts_before(&self, end_ns: u64) -> u64 {
        let after_ns = end_ns.saturating_sub(self.start_ns);
        let starts = (u128::from(after_ns) * u128::from(self.rate)).div_ceil(1_000_000_000);
        u64::try_from(starts).unwrap_or(u64::MAX)
    }

    fn due_ns(&self, index: u64) -> u64 {
        let (seconds, rest) = (index / self.rate, index % self.rate);
        self.start_ns + seconds * 1_000_000_000 + rest * 1_000_000_000 / self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(rate: u64, start_ns: u64) -> Pace {
        let mut pace = Pace::new(rate, Schedule::default());
        pace.rewind();
        pace.begin_schedule(start_ns);
        pace
    }

    fn starts(pace: &mut Pace, count: usize) -> Vec<u64> {
        let mut next = || {
            let at = pace.intended_ns();
            pace.advance();
            at
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn the_schedule_does_not_drift() {
        let expected = [10, 333_333_343, 666_666_676, 1_000_000_010];
        assert_eq!(starts(&mut pace(3, 10), 4), expected);
        assert_eq!(
            starts(&mut pace(3, 10), 3_000_001).last(),
            Some(&(1_000_000 * 1_000_000_000 + 10))
        );
    }

    #[test]
    fn of_threads_that_share_a_schedule_whoever_is_free_takes_the_next() {
        let schedule = Schedule::default();
        let mut both = [0, 1].map(|_| Pace::new(1000, schedule.clone()));
        both.iter_mut().for_each(Pace::rewind);
        // The first is stuck with the start that it took.
        assert_eq!(both[0].intended_ns(), 0);
        assert_eq!(starts(&mut both[1], 4), [1, 2, 3, 4].map(|ms| ms * 1_000_000));
        both[0].advance();
        assert_eq!(
            (both[0].intended_ns(), both[0].intended_ns()),
            (5_000_000, 5_000_000),
            "until it is used"
        );
        both.iter_mut().for_each(Pace::rewind);
        assert_eq!(both[1].intended_ns(), 0, "of the next slice");
    }

    #[test]
    fn the_highest_rate_does_not_overflow() {
        let mut pace = pace(MAX_RATE, 0);
        pace.schedule.store(MAX_RATE - 1, Ordering::Relaxed);
        assert_eq!(pace.intended_ns(), MAX_RATE - 1);
    }

    fn told(pace: &mut Pace, end_ns: u64) -> Vec<(u64, u64)> {
        let mut told = Vec::new();
        pace.take_overtaken(end_ns, |at_ns, number| told.push((at_ns, number)));
        told
    }

    #[test]
    fn what_the_end_overtook_is_told_once() {
        let mut one = pace(1000, 0);
        starts(&mut one, 5);
        assert_eq!(one.intended_ns(), 5_000_000, "taken, and not used");
        let rest = [5, 6, 7].map(|ms| (ms * 1_000_000, 1));
        assert_eq!(told(&mut one, 8_000_000), rest, "the end is not before itself");
        assert_eq!(told(&mut one, 8_000_000), []);
        let mut kept = pace(1000, 0);
        assert_eq!((kept.intended_ns(), told(&mut kept, 0)), (0, vec![]));
    }

    #[test]
    fn very_many_are_told_in_groups_that_are_whole() {
        let schedule = Schedule::default();
        let mut both = [0, 1].map(|_| Pace::new(MAX_RATE, schedule.clone()));
        both[0].rewind();
        both[1].intended_ns();
        let groups = both.each_mut().map(|pace| told(pace, 1_000_000_007)).concat();
        assert_eq!(groups.iter().map(|(_, number)| number).sum::<u64>(), 1_000_000_007);
        assert!(groups.len() < 100_000, "{}", groups.len());
        assert!(
            groups.iter().all(
                |(at_ns, number)| *number == 1 || number * 4095 <= 1_000_000_007 - at_ns + 4095
            )
        );
    }
}

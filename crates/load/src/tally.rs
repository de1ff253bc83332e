//! Counts of a thread in a slice: completions inside the window, everything else apart, and
//! failures with the first of them in words.

use crate::engine::io::Op;
use crate::spec::Direction;
use crate::{Histogram, Job, Stamping};
use std::ops::Range;

/// Number of failures in a row that ends a slice: the target only fails.
pub(crate) const FAILURES_IN_A_ROW: u64 = 1_000;

/// Time from the first failure to the last, without a success in between, that ends a slice too.
pub(crate) const FAILING_NS: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct CompletedIo {
    pub(crate) op: Op,
    pub(crate) offset: u64,
    pub(crate) len: u32,
    /// Bytes moved, or an errno below zero.
    pub(crate) result: i32,
    /// Time at which its latency begins: with a schedule, its intended start.
    pub(crate) start_ns: u64,
    pub(crate) issued_ns: u64,
}

pub(crate) struct Tally {
    window_ns: Range<u64>,
    /// Longest latency that counts where it ends; longer ones count where they begin, see
    /// [`Tally::is_timed`].
    short_ns: u64,
    pub(crate) read: Direction,
    pub(crate) write: Direction,
    pub(crate) trim: Direction,
    pub(crate) sync_latency: Histogram,
    /// Time between two looks at the queue, for looks that found something. A latency may be too
    /// long by at most this much.
    pub(crate) reap_gap: Histogram,
    /// Reads, writes and trims in flight, summed over the window's nanoseconds.
    pub(crate) in_flight_ns: u64,
    /// Time from the last look to the issue, summed over the I/Os issued since that look.
    late_ns: u64,
    /// Time from issue to end, summed over the reads, writes and trims that ended in the window.
    pub(crate) served_ns: u64,
    /// Times from issue to end, for a job with a rate, whose latencies begin earlier.
    pub(crate) service: Histogram,
    /// True if the job has a rate, so that latencies begin at the intended start.
    paced: bool,
    /// True if latencies are recorded.
    timed: bool,
    pub(crate) discarded_ios: u64,
    pub(crate) errors: u64,
    pub(crate) first_error: Option<String>,
    pub(crate) last_release_ns: Option<u64>,
    failing: Option<Failing>,
}

/// Unbroken row of failures.
struct Failing {
    first_ns: u64,
    last_ns: u64,
    count: u64,
}

impl Tally {
    /// Creates an empty tally with all the memory it will need.
    pub(crate) fn new(job: &Job) -> Tally {
        let (paced, timed) = (job.rate_iops.is_some(), job.stamps != Stamping::Off);
        let direction = || Direction { latency: Histogram::preallocated(), ..Direction::default() };
        Tally {
            window_ns: 0..0,
            short_ns: 0,
            read: direction(),
            write: direction(),
            trim: direction(),
            sync_latency: Histogram::preallocated(),
            reap_gap: Histogram::preallocated(),
            in_flight_ns: 0,
            late_ns: 0,
            served_ns: 0,
            service: if paced { Histogram::preallocated() } else { Histogram::new() },
            paced,
            timed,
            discarded_ios: 0,
            errors: 0,
            first_error: None,
            last_release_ns: None,
            failing: None,
        }
    }

    pub(crate) fn clear(&mut self) {
        for direction in [&mut self.read, &mut self.write, &mut self.trim] {
            (direction.ios, direction.bytes) = (0, 0);
            direction.latency.clear();
        }
        self.sync_latency.clear();
        self.reap_gap.clear();
        self.in_flight_ns = 0;
        self.late_ns = 0;
        self.served_ns = 0;
        self.service.clear();
        self.discarded_ios = 0;
        self.errors = 0;
        self.first_error = None;
        self.last_release_ns = None;
        self.failing = None;
    }

    /// Begins a slice at `start_ns`, of which the completions inside the window count.
    pub(crate) fn begin_window(&mut self, start_ns: u64, window_ns: Range<u64>) {
        // No latency can lie across the end of a window without an end.
        let endless = window_ns.end == u64::MAX;
        self.short_ns = if endless { u64::MAX } else { window_ns.start.saturating_sub(start_ns) };
        self.window_ns = window_ns;
    }

    /// Begins a slice of a series, in which nothing counts before its window.
    pub(crate) fn shut_window(&mut self) {
        self.window_ns = u64::MAX..u64::MAX;
    }

    /// Opens the window of a slice of a series after the completions of this look; the slice began
    /// at `start_ns`.
    pub(crate) fn open_window(&mut self, start_ns: u64, now_ns: u64) {
        self.short_ns = now_ns.saturating_sub(start_ns);
        self.window_ns = now_ns..u64::MAX;
    }

    /// Ends the window with the completions of this look.
    pub(crate) fn close_window(&mut self, now_ns: u64) {
        self.window_ns.end = now_ns;
    }

    /// Returns the number of reads, writes and trims that completed in windows so far.
    pub(crate) fn ios(&self) -> u64 {
        self.read.ios + self.write.ios + self.trim.ios
    }

    /// Returns the number of reads, writes and trims that succeeded so far, also outside of
    /// windows.
    pub(crate) fn completed(&self) -> u64 {
        self.ios() + self.discarded_ios
    }

    /// Records that an I/O was issued `ns` nanoseconds after the last look.
    #[inline]
    pub(crate) fn issued_late(&mut self, ns: u64) {
        self.late_ns += ns;
    }

    /// Records that `in_flight` reads, writes and trims were in flight during `since_ns`, from the
    /// last look to this one; `gap` is true if this look found something that may have lain in the
    /// queue since.
    #[inline]
    pub(crate) fn looked(&mut self, since_ns: Range<u64>, in_flight: u64, gap: bool) {
        if !self.timed {
            return;
        }
        let late_ns = std::mem::take(&mut self.late_ns);
        let (begin_ns, end_ns) =
            (since_ns.start.max(self.window_ns.start), since_ns.end.min(self.window_ns.end));
        if begin_ns >= end_ns {
            return;
        }
        self.in_flight_ns += ((end_ns - begin_ns) * in_flight).saturating_sub(late_ns);
        if gap && end_ns == since_ns.end {
            self.reap_gap.record(since_ns.end - since_ns.start);
        }
    }

    /// Counts one I/O, released at `now_ns`.
    #[inline(always)]
    pub(crate) fn count_io(&mut self, ended: &CompletedIo, now_ns: u64) {
        self.last_release_ns = Some(now_ns);
        if ended.result != ended.len as i32 {
            return self.add_failure(ended, now_ns);
        }
        let latency_ns = now_ns.saturating_sub(ended.start_ns);
        let within = self.window_ns.contains(&now_ns);
        if !within || latency_ns > self.short_ns || ended.op.is_sync() {
            return self.add_apart(ended, now_ns, within);
        }
        self.failing = None;
        let (timed, served_ns) = (self.timed, now_ns.saturating_sub(ended.issued_ns));
        let direction =
            if ended.op == Op::Read { &mut self.read } else { self.direction(ended.op) };
        direction.ios += 1;
        direction.bytes += u64::from(ended.len);
        if timed {
            direction.latency.record(latency_ns);
            self.served_ns += served_ns;
            if self.paced {
                self.service.record(served_ns);
            }
        }
    }

    /// Counts an I/O of the rare kinds: a sync, one outside of the window, a long latency.
    #[inline(never)]
    fn add_apart(&mut self, ended: &CompletedIo, now_ns: u64, within: bool) {
        let latency_ns = now_ns.saturating_sub(ended.start_ns);
        let times = self.is_timed(ended.start_ns, latency_ns, within);
        if ended.op.is_sync() {
            // A successful flush of a cache says nothing about a target that takes no I/O: the row
            // of failures continues.
            if times {
                self.sync_latency.record(latency_ns);
            }
            return;
        }
        self.failing = None;
        let served_ns = now_ns.saturating_sub(ended.issued_ns);
        let direction = self.direction(ended.op);
        if times {
            direction.latency.record(latency_ns);
        }
        if within {
            direction.ios += 1;
            direction.bytes += u64::from(ended.len);
            self.served_ns += served_ns;
        } else {
            self.discarded_ios += 1;
        }
        if times && self.paced {
            self.service.record(served_ns);
        }
    }

    #[inline(always)]
    fn direction(&mut self, op: Op) -> &mut Direction {
        match op {
            Op::Read => &mut self.read,
            Op::Trim => &mut self.trim,
            _ => &mut self.write,
        }
    }

    /// Returns true if a latency is recorded: one of up to `short_ns` if it ended in the window, a
    /// longer one if it began there, however late it ended. If long ones also counted where they
    /// end, one longer than the slice would never be seen: no I/O that began before the slice can
    /// represent one that ends after it.
    fn is_timed(&self, start_ns: u64, latency_ns: u64, within: bool) -> bool {
        let counts =
            if latency_ns <= self.short_ns { within } else { self.window_ns.contains(&start_ns) };
        counts && self.timed
    }

    /// Records `number` I/Os of a schedule that were to start at `intended_ns` and were not issued
    /// before the slice was over, at `now_ns`: each of them would have taken at least this long.
    pub(crate) fn record_overtaken(&mut self, op: Op, intended_ns: u64, number: u64, now_ns: u64) {
        let latency_ns = now_ns.saturating_sub(intended_ns);
        if !self.is_timed(intended_ns, latency_ns, false) {
            return;
        }
        self.direction(op).latency.record_many(latency_ns, number);
    }

    #[inline]
    pub(crate) fn only_fails(&self) -> bool {
        self.failing.as_ref().is_some_and(|failing| {
            let lasted_ns = failing.last_ns.saturating_sub(failing.first_ns);
            failing.count >= FAILURES_IN_A_ROW || lasted_ns >= FAILING_NS
        })
    }

    #[cold]
    fn add_failure(&mut self, ended: &CompletedIo, now_ns: u64) {
        self.errors += 1;
        // The queue's own count has it in flight like any other I/O.
        if !ended.op.is_sync() && self.window_ns.contains(&now_ns) {
            self.served_ns += now_ns.saturating_sub(ended.issued_ns);
        }
        self.first_error.get_or_insert_with(|| failure_words(ended));
        let failing =
            self.failing.get_or_insert(Failing { first_ns: now_ns, last_ns: now_ns, count: 0 });
        failing.last_ns = now_ns;
        failing.count += 1;
    }
}

fn failure_words(ended: &CompletedIo) -> String {
    let (op, offset) = (ended.op.word(), ended.offset);
    if ended.op.is_sync() {
        return format!("{op}: {}", cause(ended.result));
    }
    match ended.result {
        moved @ 0.. => format!("short {op}: {moved} of {} bytes at {offset}", ended.len),
        errno => format!("{op} of {} bytes at {offset}: {}", ended.len, cause(errno)),
    }
}

fn cause(result: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(-result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(op: Op, result: i32) -> CompletedIo {
        CompletedIo {
            op,
            offset: 8192,
            len: if op.is_sync() { 0 } else { 4096 },
            result,
            start_ns: 600,
            issued_ns: 600,
        }
    }

    fn tally() -> Tally {
        let mut tally = Tally::new(&Job::default());
        tally.clear();
        tally.begin_window(0, 1000..2000);
        tally
    }

    #[test]
    fn only_the_window_counts_and_its_end_is_outside() {
        let mut tally = tally();
        for now in [999, 1000, 1999, 2000] {
            tally.count_io(&CompletedIo { start_ns: now - 900, ..ended(Op::Read, 4096) }, now);
        }
        assert_eq!((tally.read.ios, tally.read.bytes), (2, 8192));
        assert_eq!(tally.read.latency.count(), 2);
        assert_eq!(tally.read.latency.max(), Some(903), "bucket of 900");
        assert_eq!(tally.discarded_ios, 2);
        assert_eq!(tally.last_release_ns, Some(2000));
    }

    #[test]
    fn a_long_latency_counts_where_it_begins_however_late_it_ends() {
        let mut tally = tally();
        let mut add = |start_ns: u64, now: u64| {
            let before = tally.read.latency.count();
            tally.count_io(&CompletedIo { start_ns, ..ended(Op::Read, 4096) }, now);
            tally.read.latency.count() > before
        };
        assert!(!add(300, 1900), "its like that began before the slice cannot be seen");
        assert!(add(1500, 9000) && add(1000, 2001), "a stall that the end of the slice cuts");
        assert!(add(500, 1500) && !add(1500, 2500), "a short one counts where it ends");
        assert!(!add(2000, 9000));
        assert_eq!((tally.read.ios, tally.discarded_ios), (2, 4));
    }

    #[test]
    fn what_was_never_issued_counts_with_the_time_it_waited() {
        let mut tally = Tally::new(&Job { rate_iops: Some(1), ..Job::default() });
        tally.clear();
        tally.begin_window(0, 1000..2000);
        for intended_ns in [900, 1200, 2100] {
            tally.record_overtaken(Op::Write, intended_ns, 10, 5200);
        }
        assert_eq!((tally.write.ios, tally.write.latency.count()), (0, 10));
        assert!(tally.write.latency.min().unwrap().abs_diff(4000) < 40);
    }

    #[test]
    fn a_target_that_fails_is_found_where_syncs_succeed() {
        let mut tally = tally();
        for _ in 0..FAILURES_IN_A_ROW {
            tally.count_io(&ended(Op::Write, -5), 1500);
            tally.count_io(&ended(Op::Fsync, 0), 1500);
        }
        assert!(tally.only_fails());
    }

    #[test]
    fn what_is_in_flight_counts_within_the_window() {
        let mut tally = tally();
        for (since_ns, gap) in
            [(0..900, true), (900..1100, true), (1100..1400, false), (1900..2200, true)]
        {
            tally.looked(since_ns, 3, gap);
        }
        assert_eq!(tally.in_flight_ns, (100 + 300 + 100) * 3);
        assert_eq!((tally.reap_gap.count(), tally.reap_gap.min()), (1, Some(200)));
    }

    #[test]
    fn service_begins_at_the_issue_and_latency_at_the_schedule() {
        let mut tally = Tally::new(&Job { rate_iops: Some(1), ..Job::default() });
        tally.clear();
        tally.begin_window(0, 1000..2000);
        tally.count_io(&CompletedIo { issued_ns: 1450, ..ended(Op::Read, 4096) }, 1500);
        assert_eq!(
            (tally.served_ns, tally.service.max(), tally.read.latency.min()),
            (50, Some(50), Some(900))
        );
    }

    #[test]
    fn without_stamps_only_counts_are_kept() {
        let mut tally = Tally::new(&Job { stamps: Stamping::Off, ..Job::default() });
        tally.clear();
        tally.begin_window(0, 1000..2000);
        tally.looked(1000..1500, 3, true);
        tally.count_io(&ended(Op::Read, 4096), 1500);
        assert_eq!((tally.read.ios, tally.read.bytes), (1, 4096));
        assert_eq!(
            (tally.read.latency.count(), tally.reap_gap.count(), tally.in_flight_ns),
            (0, 0, 0)
        );
    }

    #[test]
    fn syncs_are_no_ios() {
        let mut tally = tally();
        tally.count_io(&ended(Op::Fsync, 0), 1500);
        tally.count_io(&ended(Op::Fdatasync, 0), 2500);
        assert_eq!(tally.sync_latency.count(), 1);
        assert_eq!((tally.write.ios, tally.discarded_ios), (0, 0));
    }

    #[test]
    fn failures_are_counted_apart_with_the_first_in_words() {
        let mut tally = tally();
        tally.count_io(&ended(Op::Write, -5), 1500);
        tally.count_io(&ended(Op::Read, 512), 1500);
        assert_eq!((tally.errors, tally.read.ios, tally.write.ios), (2, 0, 0));
        assert_eq!(tally.served_ns, 2 * 900, "by Little's law they count");
        let first = tally.first_error.unwrap();
        assert_eq!(first, "write of 4096 bytes at 8192: Input/output error (os error 5)");
        assert_eq!(failure_words(&ended(Op::Read, 512)), "short read: 512 of 4096 bytes at 8192");
        assert_eq!(failure_words(&ended(Op::Fsync, -5)), "fsync: Input/output error (os error 5)");
    }

    #[test]
    fn a_target_only_fails_after_a_row_of_failures() {
        let mut tally = tally();
        for _ in 1..FAILURES_IN_A_ROW {
            tally.count_io(&ended(Op::Read, -5), 1500);
        }
        assert!(!tally.only_fails());
        tally.count_io(&ended(Op::Read, 4096), 1500);
        tally.count_io(&ended(Op::Read, -5), 1500);
        assert!(!tally.only_fails(), "a success breaks the row");
        for _ in 1..FAILURES_IN_A_ROW {
            tally.count_io(&ended(Op::Read, -5), 1600);
        }
        assert!(tally.only_fails());
    }

    #[test]
    fn a_slow_target_only_fails_after_a_while() {
        let mut tally = tally();
        tally.count_io(&ended(Op::Read, -5), 1500);
        assert!(!tally.only_fails());
        tally.count_io(&ended(Op::Read, -5), 1500 + FAILING_NS);
        assert!(tally.only_fails());
    }
}

//! Time source of a load thread: the time-stamp counter if it runs at a constant rate and the
//! kernel uses it, or else CLOCK_MONOTONIC through the vDSO, which costs two to three times as
//! much. Both give nanoseconds of CLOCK_MONOTONIC.

use crate::clock;
use std::sync::OnceLock;

/// Time over which the counter's rate is measured: long enough to know it to some millionths.
const OVER_NS: u64 = 20_000_000;

/// Number of times that the clock is read before and after the counter; the pair that lies closest
/// counts.
const READINGS: usize = 8;

/// Relative deviation from CLOCK_MONOTONIC above which the counter is not read again. The kernel
/// slews its clock by at most 500 parts per million (adjtimex(2)); if somebody slews it faster, the
/// counter is given up, too.
const APART: f64 = 0.001;

/// Minimum time between two points, in nanoseconds, for their rate to be checked: a step of either
/// clock then shows, and the time of a reading does not.
const TELLING_NS: u64 = 100_000_000;

/// Time after which a thread compares the counter with CLOCK_MONOTONIC again, in nanoseconds.
pub(crate) const ANCHOR_NS: u64 = 1_000_000_000;

/// Path of the file in which the kernel names its time source.
const SOURCE: &std::ffi::CStr = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Time sources of the kernel that use the counter. If the kernel uses none of them any more, it
/// does not trust the counter.
const MADE_OF_IT: [&str; 3] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page"];

#[derive(Clone, Debug)]
pub(crate) struct Stamps {
    counter: Option<Counter>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Counter {
    /// Point from which the rate is measured.
    first: ClockPoint,
    /// Last point at which both clocks were read, from which ticks are converted.
    anchor: ClockPoint,
    /// Nanoseconds per tick, in units of 2^-32.
    rate: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct ClockPoint {
    ticks: u64,
    ns: u64,
}

impl Stamps {
    /// Returns a time source that uses the counter, if this machine's can be trusted. The first
    /// call in a process then takes 20 ms to measure the counter's rate.
    pub(crate) fn new() -> Stamps {
        static HERE: OnceLock<Option<Counter>> = OnceLock::new();
        Stamps { counter: *HERE.get_or_init(Counter::of_this_machine) }
    }

    /// Returns a time source that always uses CLOCK_MONOTONIC.
    #[cfg(test)]
    pub(crate) fn without_counter() -> Stamps {
        Stamps { counter: None }
    }

    pub(crate) fn source(&self) -> &'static str {
        if self.counter.is_some() { "the time-stamp counter" } else { "CLOCK_MONOTONIC" }
    }

    /// Reads both clocks, and converts ticks from this point on. A counter that has deviated from
    /// CLOCK_MONOTONIC, or that the kernel no longer uses, is not read again.
    pub(crate) fn anchor(&mut self) {
        self.counter = self
            .counter
            .filter(|_| is_trusted())
            .and_then(|counter| counter.anchored(ClockPoint::read_both_clocks()?));
    }

    /// Calls [`Stamps::anchor`] if the last anchor is more than [`ANCHOR_NS`] ago.
    #[inline]
    pub(crate) fn anchor_in_time(&mut self, now_ns: u64) {
        if self
            .counter
            .as_ref()
            .is_some_and(|counter| now_ns.saturating_sub(counter.anchor.ns) > ANCHOR_NS)
        {
            self.anchor();
        }
    }

    /// Returns nanoseconds of CLOCK_MONOTONIC, never less than at the anchor.
    #[inline(always)]
    pub(crate) fn read_ns(&self) -> u64 {
        match (&self.counter, ticks()) {
            (Some(counter), Some(ticks)) => counter.ns_at(ticks),
            _ => clock::monotonic_ns(),
        }
    }
}

impl Counter {
    fn of_this_machine() -> Option<Counter> {
        if !is_invariant() || !is_trusted() {
            return None;
        }
        let first = ClockPoint::read_both_clocks()?;
        clock::wait_until(first.ns + OVER_NS);
        Counter::through(first, ClockPoint::read_both_clocks()?)
    }

    fn through(first: ClockPoint, now: ClockPoint) -> Option<Counter> {
        let (ticks, ns) = (now.ticks.checked_sub(first.ticks)?, now.ns.checked_sub(first.ns)?);
        let rate = (u128::from(ns) << 32).checked_div(u128::from(ticks))?;
        Some(Counter {
            first,
            anchor: now,
            rate: u64::try_from(rate).ok().filter(|rate| *rate > 0)?,
        })
    }

    /// Returns the counter with this point as its anchor; `None` if the clocks have not agreed so
    /// far: over the whole time, and since the last anchor, because a mean over hours hides a step
    /// of one of them.
    fn anchored(self, now: ClockPoint) -> Option<Counter> {
        let next = Counter::through(self.first, now)?;
        let agrees = |rate: u64| (rate as f64 / self.rate as f64 - 1.0).abs() <= APART;
        let since = now.ns.saturating_sub(self.anchor.ns);
        let lately =
            || Counter::through(self.anchor, now).is_some_and(|lately| agrees(lately.rate));
        (agrees(next.rate) && (since < TELLING_NS || lately())).then_some(next)
    }

    #[inline(always)]
    fn ns_at(&self, ticks: u64) -> u64 {
        // Counters of two processors may differ by some ticks: the time never runs backwards.
        let passed = ticks.saturating_sub(self.anchor.ticks);
        self.anchor.ns + ((u128::from(passed) * u128::from(self.rate)) >> 32) as u64
    }
}

impl ClockPoint {
    fn read_both_clocks() -> Option<ClockPoint> {
        let around = || {
            let before = clock::monotonic_ns();
            let ticks = ticks()?;
            let width = clock::monotonic_ns() - before;
            Some((width, ClockPoint { ticks, ns: before + width / 2 }))
        };
        (0..READINGS)
            .map_while(|_| around())
            .min_by_key(|(width, _)| *width)
            .map(|(_, point)| point)
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ticks() -> Option<u64> {
    // SAFETY: every x86-64 processor has RDTSC, and Linux lets programs use it unless they ask
    // otherwise (PR_SET_TSC).
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ticks() -> Option<u64> {
    None
}

/// Returns true if the kernel uses the counter for its own time.
fn is_trusted() -> bool {
    // Allocates nothing, because the loop of a slice calls this too.
    let mut bytes = [0; 64];
    let read = rustix::fs::open(SOURCE, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty())
        .and_then(|file| rustix::io::read(file, &mut bytes));
    let source = read.ok().and_then(|length| std::str::from_utf8(&bytes[..length]).ok());
    source.is_some_and(|source| MADE_OF_IT.contains(&source.trim()))
}

/// Returns true if the kernel found that the counter runs at one rate in all processor states.
fn is_invariant() -> bool {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    has("constant_tsc") && has("nonstop_tsc")
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: ClockPoint = ClockPoint { ticks: 1_000, ns: 5_000_000 };

    #[test]
    fn ticks_become_nanoseconds_of_the_clock() {
        // 2.5 GHz, known after 20 ms.
        let counter =
            Counter::through(START, ClockPoint { ticks: 50_001_000, ns: 25_000_000 }).unwrap();
        assert_eq!(counter.ns_at(50_001_000), 25_000_000);
        assert!(counter.ns_at(50_001_000 + 2_500_000_000).abs_diff(1_025_000_000) <= 1);
        assert_eq!(counter.ns_at(0), 25_000_000, "another processor's, a little behind");
        // The second point is a day later.
        let day_ns = 86_400_000_000_000;
        assert!(counter.ns_at(50_001_000 + day_ns * 5 / 2).abs_diff(25_000_000 + day_ns) < 100_000);
    }

    #[test]
    fn a_counter_that_runs_apart_is_not_read_again() {
        let counter =
            Counter::through(START, ClockPoint { ticks: 50_001_000, ns: 25_000_000 }).unwrap();
        let after = |ticks: u64, ns: u64| {
            counter.anchored(ClockPoint { ticks: START.ticks + ticks, ns: START.ns + ns })
        };
        assert!(after(2_500_000_000, 1_000_400_000).is_some(), "slewed by 400 ppm");
        assert_eq!(after(2_500_000_000, 1_002_000_000), None);
        assert_eq!(after(0, 1_000_000_000), None, "it stands");
        let hour =
            ClockPoint { ticks: START.ticks + 9_000_000_000_000, ns: START.ns + 3_600_000_000_000 };
        let later = counter.anchored(hour).unwrap();
        let second =
            |ticks: u64| ClockPoint { ticks: hour.ticks + ticks, ns: hour.ns + 1_000_000_000 };
        assert!(later.anchored(second(2_500_000_000)).is_some());
        assert_eq!(later.anchored(second(0)), None, "a second without it, in an hour that it kept");
        assert_eq!(counter.anchored(ClockPoint { ticks: 0, ns: 1 << 40 }), None, "it went back");
    }

    #[test]
    fn both_tell_the_same_time() {
        let mut stamps = Stamps::new();
        for _ in 0..3 {
            stamps.anchor();
            let (before, told, after) =
                (clock::monotonic_ns(), stamps.read_ns(), clock::monotonic_ns());
            // Each pair of readings is off by half its width.
            assert!(
                before.saturating_sub(10_000) <= told && told <= after + 10_000,
                "{before} {told} {after}"
            );
        }
        assert_eq!(Stamps::without_counter().source(), "CLOCK_MONOTONIC");
    }
}

//! Stops of this process itself: by a signal, by the suspend of its machine, or by the pause of a
//! virtual one. A thread sleeps and looks at the clock; if it slept too long without waiting for a
//! processor, the rest was a stop. A slice that such a stop overlaps shows nothing about a stack,
//! even if the load runs in a guest: it is no longer close in time to the other slices of its
//! round.

use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// Interval at which the thread looks at the clock. Ten looks per second take a ten-thousandth of a
/// processor's time.
const TICK: Duration = Duration::from_millis(100);
/// Shortest stop that can be distinguished from a busy machine. With eight busy threads and a build
/// on two processors no tick in 20 s was later than 0.11 s, the wait for a processor left out.
const LEAST: Duration = Duration::from_millis(250);
/// Shortest stop where the kernel does not report how long a thread waited for a processor. With
/// that wait the latest tick was 0.38 s.
const LEAST_UNKNOWN: Duration = Duration::from_secs(1);
/// Longest wait for the thread's next look, which follows soon after a stop. It takes longer only
/// on a machine that is too busy.
const OVERDUE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessStop {
    /// Length on the clock that times are measured by, which does not advance while a machine is
    /// suspended.
    pub counted: Duration,
    pub whole: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    at: Instant,
    /// Time since boot, suspends included.
    boot: Duration,
    /// Time that the thread has waited for a processor so far; `None` if the kernel does not report
    /// it.
    waited: Option<Duration>,
}

impl Look {
    fn take_look(schedstat: Option<&File>) -> Look {
        let boot = clock_gettime(ClockId::Boottime);
        let boot = Duration::new(boot.tv_sec as u64, boot.tv_nsec as u32);
        Look { at: Instant::now(), boot, waited: schedstat.and_then(waited) }
    }

    /// Returns the stop between this look and the next, `tick` later, if there was one.
    fn stop_before(&self, next: &Look, tick: Duration) -> Option<ProcessStop> {
        let passed = next.at.saturating_duration_since(self.at);
        let waited = self.waited.zip(next.waited).map(|(from, to)| to.saturating_sub(from));
        let late = passed.saturating_sub(tick).saturating_sub(waited.unwrap_or_default());
        let suspended = next.boot.saturating_sub(self.boot).saturating_sub(passed);
        let least = if waited.is_some() { LEAST } else { LEAST_UNKNOWN };
        let counted = if late >= least { late } else { Duration::ZERO };
        let suspended = if suspended >= LEAST { suspended } else { Duration::ZERO };
        let whole = counted + suspended;
        (whole > Duration::ZERO).then_some(ProcessStop { counted, whole })
    }
}

/// Reads from a thread's schedstat how long it has waited for a processor.
fn waited(schedstat: &File) -> Option<Duration> {
    let mut text = [0; 96];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    let second = std::str::from_utf8(&text[..length]).ok()?.split_whitespace().nth(1)?;
    Some(Duration::from_nanos(second.parse().ok()?))
}

struct SeenStops {
    last: Instant,
    stops: Vec<(Instant, ProcessStop)>,
}

static SEEN: OnceLock<Mutex<SeenStops>> = OnceLock::new();

/// Starts the thread that detects stops, unless it runs already.
pub fn watch() {
    let mut begins = false;
    SEEN.get_or_init(|| {
        begins = true;
        Mutex::new(SeenStops { last: Instant::now(), stops: Vec::new() })
    });
    if begins {
        // It ends with the process.
        std::thread::spawn(tick);
    }
}

fn tick() {
    let schedstat = File::open("/proc/thread-self/schedstat").ok();
    let mut last = Look::take_look(schedstat.as_ref());
    loop {
        std::thread::sleep(TICK);
        let now = Look::take_look(schedstat.as_ref());
        let mut seen = seen_stops();
        seen.stops.extend(last.stop_before(&now, TICK).map(|stop| (now.at, stop)));
        seen.last = now.at;
        drop(seen);
        last = now;
    }
}

fn seen_stops() -> MutexGuard<'static, SeenStops> {
    let seen =
        SEEN.get_or_init(|| Mutex::new(SeenStops { last: Instant::now(), stops: Vec::new() }));
    seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Returns how long this process was stopped since `began`: the sum of the stops that ended after
/// it. `None` if there was none, or [`watch`] was never called.
pub fn stopped_since(began: Instant) -> Option<ProcessStop> {
    SEEN.get()?;
    let asked = Instant::now();
    // Just after a stop, others may ask before the thread has looked.
    while asked.saturating_duration_since(seen_stops().last) > 2 * TICK && asked.elapsed() < OVERDUE
    {
        std::thread::sleep(TICK / 20);
    }
    let stops = seen_stops()
        .stops
        .iter()
        .filter(|(over, _)| *over > began)
        .map(|(_, stop)| *stop)
        .collect();
    summed_stop(stops)
}

fn summed_stop(stops: Vec<ProcessStop>) -> Option<ProcessStop> {
    let sum = |one: ProcessStop, other: ProcessStop| ProcessStop {
        counted: one.counted + other.counted,
        whole: one.whole + other.whole,
    };
    stops.into_iter().reduce(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stop between two looks: milliseconds that passed, that the machine was suspended, that
    /// the thread waited.
    fn stop(passed: u64, suspended: u64, waited: Option<u64>) -> Option<(u64, u64)> {
        let ms = Duration::from_millis;
        let first = Look { at: Instant::now(), boot: ms(5000), waited: waited.map(|_| ms(70)) };
        let next = Look {
            at: first.at + ms(passed),
            boot: first.boot + ms(passed + suspended),
            waited: waited.map(|waited| ms(70 + waited)),
        };
        let stop = first.stop_before(&next, ms(100))?;
        Some((stop.counted.as_millis() as u64, stop.whole.as_millis() as u64))
    }

    #[test]
    fn what_was_slept_too_long_and_not_waited_for_is_a_stop() {
        assert_eq!(stop(3100, 0, Some(0)), Some((3000, 3000)));
        assert_eq!(stop(3100, 0, Some(500)), Some((2500, 2500)));
        assert_eq!(stop(3100, 0, Some(2900)), None, "a busy machine");
        assert_eq!((stop(340, 0, Some(0)), stop(360, 0, Some(0))), (None, Some((260, 260))));
        assert_eq!((stop(900, 0, None), stop(1200, 0, None)), (None, Some((1100, 1100))));
    }

    #[test]
    fn a_suspend_is_on_one_clock_only() {
        assert_eq!(stop(100, 60_000, Some(0)), Some((0, 60_000)));
        assert_eq!(stop(1100, 60_000, Some(0)), Some((1000, 61_000)));
        assert_eq!(stop(100, 100, Some(0)), None);
    }

    #[test]
    fn the_kernel_tells_how_long_a_thread_waited() {
        let Ok(schedstat) = File::open("/proc/thread-self/schedstat") else {
            println!("skipped: needs a kernel with schedstat");
            return;
        };
        assert!(waited(&schedstat).is_some());
    }

    #[test]
    fn a_thread_that_watches_ticks() {
        watch();
        let first = seen_stops().last;
        while seen_stops().last == first {
            std::thread::sleep(TICK);
        }
        assert!(stopped_since(Instant::now()).is_none());
    }
}

//! Time source of the generator: CLOCK_MONOTONIC through the vDSO, as nanoseconds in a u64. Also a
//! wait that is exact to about a microsecond, and a sleep that is not.

use rustix::thread::{ClockId, Timespec};

/// Last part of a wait, which is spent spinning: a timer wakes a thread tens of microseconds late.
pub const SPIN_NS: u64 = 60_000;

/// Returns the nanoseconds of CLOCK_MONOTONIC.
#[inline]
pub fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns at `deadline_ns` of [`monotonic_ns`] or just after: sleeps while it is far, spins at the
/// end.
pub fn wait_until(deadline_ns: u64) {
    if monotonic_ns().saturating_add(SPIN_NS) < deadline_ns {
        sleep_until(deadline_ns - SPIN_NS);
    }
    while monotonic_ns() < deadline_ns {
        std::hint::spin_loop();
    }
}

/// Sleeps until `deadline_ns` of [`monotonic_ns`]; returns as late as the system wakes it.
pub fn sleep_until(deadline_ns: u64) {
    let until = timespec(deadline_ns);
    // A signal may end the sleep early; nothing else can fail with a monotonic clock.
    while rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &until)
        == Err(rustix::io::Errno::INTR)
    {}
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_never_ends_early() {
        for wait_ns in [0, 1_000, 50_000, 300_000] {
            let deadline = monotonic_ns() + wait_ns;
            wait_until(deadline);
            assert!(monotonic_ns() >= deadline);
        }
    }

    #[test]
    fn a_deadline_in_the_past_is_no_wait() {
        let before = monotonic_ns();
        wait_until(0);
        assert!(monotonic_ns() >= before);
    }
}

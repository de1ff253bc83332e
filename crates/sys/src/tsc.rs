//! Rate of this processor's time-stamp counter. QEMU's TCG passes this counter on to its guests. A
//! guest's kernel that gets no processor while it compares the counter with the PIT takes it for
//! several times slower than it is.

use std::time::{Duration, Instant};

/// Length of the measurement: long enough that the error of both ends is some millionths of it.
const OVER: Duration = Duration::from_millis(20);
/// Number of readings at each end, of which the one that took the shortest time counts.
const READINGS: usize = 16;

/// Measures the counter's rate in kHz against CLOCK_MONOTONIC for 20 ms. `None` on processors other
/// than x86-64. If the counter follows the processor's frequency, this is the rate during these 20
/// ms.
pub fn khz() -> Option<u32> {
    let from = reading()?;
    std::thread::sleep(OVER);
    let to = reading()?;
    let passed_ns = (to.0 - from.0).as_nanos();
    let ticks = u128::from(to.1.checked_sub(from.1)?);
    u32::try_from((ticks * 1_000_000).div_ceil(passed_ns.max(1))).ok().filter(|khz| *khz > 0)
}

/// Reads the counter several times, each between two looks at the clock. Returns the time midway
/// between the two looks that are closest together, and the counter then.
fn reading() -> Option<(Instant, u64)> {
    let around = || {
        let before = Instant::now();
        let ticks = counter()?;
        let width = before.elapsed();
        Some((width, before + width / 2, ticks))
    };
    let best = (0..READINGS).map_while(|_| around()).min_by_key(|(width, ..)| *width)?;
    Some((best.1, best.2))
}

#[cfg(target_arch = "x86_64")]
fn counter() -> Option<u64> {
    // SAFETY: every x86-64 processor has RDTSC, and Linux lets programs use it unless they ask
    // otherwise (PR_SET_TSC).
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn by_this_rate_the_counter_counts_the_time() {
        let rate = f64::from(khz().unwrap());
        let (from, began) = (counter().unwrap(), Instant::now());
        std::thread::sleep(Duration::from_millis(200));
        let (to, passed) = (counter().unwrap(), began.elapsed());
        let counted_s = (to - from) as f64 / (rate * 1000.0);
        assert!(
            (counted_s / passed.as_secs_f64() - 1.0).abs() < 0.05,
            "{counted_s} s in {passed:?} at {rate} kHz"
        );
    }
}

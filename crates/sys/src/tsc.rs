//! The rate of this processor's time-stamp counter. QEMU's translator shows its guests this very
//! counter, and a guest's kernel that gets no processor while it holds it against the PIT takes it
//! for several times slower than it is.

use std::time::{Duration, Instant};

/// Length of the measurement: long enough that both ends are known to some millionths of it.
const OVER: Duration = Duration::from_millis(20);
/// Number of readings, of which the one that nothing came between counts.
const READINGS: usize = 16;

/// Measures the rate in kHz against CLOCK_MONOTONIC for 20 ms; `None`: no x86-64. Where the counter
/// follows the processor's frequency this is the rate of these 20 ms: QEMU's translator has no
/// better one, whatever its guest's kernel would find.
pub fn khz() -> Option<u32> {
    let from = reading()?;
    std::thread::sleep(OVER);
    let to = reading()?;
    let passed_ns = (to.0 - from.0).as_nanos();
    let ticks = u128::from(to.1.checked_sub(from.1)?);
    u32::try_from((ticks * 1_000_000).div_ceil(passed_ns.max(1))).ok().filter(|khz| *khz > 0)
}

/// Reads the counter, and the time in the middle of the narrowest pair of readings around it.
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

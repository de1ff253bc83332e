//! How the rate of a worker begins after a switch to it. It shows what has to be discarded of a
//! short slice.

use serde::{Deserialize, Serialize};

/// Bins of time in a [`Transient`].
pub const BINS: usize = 64;
/// I/Os since the switch of which it has the cycle times.
pub const FIRST_IOS: usize = 32;

/// Fewer I/Os tell no rate.
const LEAST_IOS: f64 = 50.0;

/// The beginning of slices, all of a worker together: shows what has to be discarded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transient {
    /// Width of the bins, nanoseconds.
    pub bin_ns: u64,
    /// Slices, of each thread.
    pub slices: u64,
    /// I/Os that completed in each bin of time since the start.
    pub ios: Vec<u64>,
    /// Of the first I/Os since the start, by their number: time since the I/O before completed (of
    /// the first: since the start), where they completed one by one. Sums over slices, nanoseconds,
    /// with how many there are.
    pub cycles: Vec<(u64, u64)>,
    #[serde(skip)]
    number: u64,
    #[serde(skip)]
    last_ns: u64,
}

impl Transient {
    pub(crate) fn new(bin_ns: u64) -> Transient {
        Transient {
            bin_ns,
            ios: vec![0; BINS],
            cycles: vec![(0, 0); FIRST_IOS],
            ..Transient::default()
        }
    }

    /// A slice begins.
    pub(crate) fn begin(&mut self) {
        self.slices += 1;
        (self.number, self.last_ns) = (0, 0);
    }

    /// So many I/Os completed so long after the start.
    #[inline]
    pub(crate) fn add(&mut self, since_start_ns: u64, ios: u64) {
        let bin =
            since_start_ns.checked_div(self.bin_ns).and_then(|bin| self.ios.get_mut(bin as usize));
        bin.into_iter().for_each(|bin| *bin += ios);
        if let Some((sum_ns, number)) = self.cycles.get_mut(self.number as usize) {
            if ios == 1 {
                (*sum_ns, *number) =
                    (*sum_ns + since_start_ns.saturating_sub(self.last_ns), *number + 1);
            }
        }
        (self.number, self.last_ns) = (self.number + ios, since_start_ns);
    }

    /// How much of a slice is lost at its start, nanoseconds: its first `bins` bins, less the time
    /// in which their I/Os are done at the rate of the second half of these bins. `None`: too few
    /// I/Os to tell.
    pub fn lost_ns(&self, bins: usize) -> Option<f64> {
        let sum = |ios: &[u64]| ios.iter().sum::<u64>() as f64;
        let ios = self.ios.get(..bins)?;
        let late = &ios[bins / 2..];
        let rate = sum(late) / late.len() as f64;
        (sum(late) >= LEAST_IOS).then(|| (bins as f64 - sum(ios) / rate) * self.bin_ns as f64)
    }

    /// With those of another thread, or of another series with the same bins.
    pub fn merge(&mut self, other: &Transient) {
        if self.ios.is_empty() {
            *self = other.clone();
            return;
        }
        self.slices += other.slices;
        self.ios.iter_mut().zip(&other.ios).for_each(|(sum, more)| *sum += more);
        for ((sum_ns, number), (more_ns, more)) in self.cycles.iter_mut().zip(&other.cycles) {
            (*sum_ns, *number) = (*sum_ns + more_ns, *number + more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_at_the_start_is_the_time_that_its_ios_would_not_have_needed() {
        let mut shown = Transient::new(1000);
        // 10 slices of 48 bins: nothing for 4 bins, half the rate for 4, then an I/O a bin.
        for _ in 0..10 {
            shown.begin();
            let done = (0..48).filter(|bin| *bin >= 8 || *bin == 5 || *bin == 7);
            done.for_each(|bin| shown.add(bin * 1000, 1));
        }
        assert_eq!(shown.lost_ns(48), Some(6000.0));
        assert_eq!(shown.lost_ns(65), None, "it has no such bin");
        assert_eq!(Transient::new(1000).lost_ns(48), None);
    }
}

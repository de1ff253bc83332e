//! Rate of a worker just after a series has switched to it. It shows how much of a short slice has
//! to be discarded.

use serde::{Deserialize, Serialize};

/// Number of time bins in a [`Transient`].
pub const BINS: usize = 64;
/// Number of I/Os after the switch whose cycle times are recorded.
pub const FIRST_IOS: usize = 32;

/// Minimum number of I/Os, in the bins from which a rate is taken, that show it.
const LEAST_IOS: f64 = 50.0;

/// I/Os at the beginning of a worker's slices, summed over all slices. They show how much of a
/// slice has to be discarded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transient {
    /// Width of the bins in nanoseconds.
    pub bin_ns: u64,
    /// Number of slices, summed over the threads.
    pub slices: u64,
    /// Number of I/Os that completed in each time bin after the start of a slice.
    pub ios: Vec<u64>,
    /// Cycle times of the first I/Os of a slice, by index: the time since the completion before,
    /// for the first since the start. An I/O that completed together with others has none. Each
    /// entry is the sum over all slices in nanoseconds, and the number of times in it.
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

    pub(crate) fn begin(&mut self) {
        self.slices += 1;
        (self.number, self.last_ns) = (0, 0);
    }

    /// Records that `ios` I/Os completed together, this time after the start.
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

    /// Returns the time lost at the start of a slice, in nanoseconds: its first `bins` bins, less
    /// the time that their I/Os take at the rate of the second half of these bins. `None` if there
    /// are too few I/Os or bins.
    pub fn lost_ns(&self, bins: usize) -> Option<f64> {
        let sum = |ios: &[u64]| ios.iter().sum::<u64>() as f64;
        let ios = self.ios.get(..bins)?;
        let late = &ios[bins / 2..];
        let rate = sum(late) / late.len() as f64;
        (sum(late) >= LEAST_IOS).then(|| (bins as f64 - sum(ios) / rate) * self.bin_ns as f64)
    }

    /// Adds the counts of another thread, or of another series with the same bins.
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

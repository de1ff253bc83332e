//! A simulated machine: stacks of known cost under one kind of noise. A slice takes the time that
//! it takes on a real machine: the discarded start, the window and the drain.

use super::signal::Signal;
use crate::noise::Noise;
use crate::rounds::RoundPart;

/// Rate of a stack without cost and noise, in I/Os per second.
const BASE_RATE: f64 = 50_000.0;
/// Discarded start of a slice, in seconds: the shortest that a real worker discards.
const DISCARD_S: f64 = 0.005;
/// Time from a window's end to the next slice, in seconds: the drain, and the way to the worker and
/// back.
const SWITCH_S: f64 = 0.001;
/// Length of the slices for which [`SimulatedMachine::white`] is given, in seconds.
const WHITE_AT_S: f64 = 0.05;

/// A limit that takes effect when a credit is used up, as for the bursts of a cloud disk.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    /// Number of I/Os that may still run above the limit.
    pub credit: f64,
    /// Limit on the rate, as a share of the rate without cost and noise.
    pub limit: f64,
}

/// Simulated machine with its stacks.
pub struct SimulatedMachine {
    /// Seconds since the machine started.
    pub at_s: f64,
    /// Seconds of windows that have run at the limit so far.
    pub limited_s: f64,
    /// Noise that affects all stacks.
    pub shared: Box<dyn Signal>,
    /// Noise that affects only one stack, with the index of that stack.
    pub own: Vec<(usize, Box<dyn Signal>)>,
    /// Relative standard deviation of the white noise in a slice of 50 ms, independent in each
    /// slice.
    pub white: f64,
    /// Cost of each stack, as a fraction.
    pub costs: Vec<f64>,
    /// Limit on all stacks together, if there is one.
    pub bucket: Option<Bucket>,
    /// Source of the white noise.
    pub noise: Noise,
}

impl SimulatedMachine {
    /// Runs a slice with a window of `seconds`, and moves the time on to its end.
    pub fn slice(&mut self, stack: usize, seconds: f64) -> RoundPart {
        let from = self.at_s + DISCARD_S;
        let to = from + seconds;
        let white = 1.0 + self.white * (WHITE_AT_S / seconds).sqrt() * self.noise.normal();
        let own = self.own.iter_mut().filter(|(whose, _)| *whose == stack);
        let own: f64 = own.map(|(_, signal)| signal.mean_between(from, to)).product();
        let share =
            (1.0 - self.costs[stack]) * self.shared.mean_between(from, to) * own * white.max(0.0);
        let share = self.limited(share, seconds);
        self.at_s = to + SWITCH_S;
        // Whole I/Os, as a generator counts them.
        RoundPart { stack, amount: (BASE_RATE * share * seconds).floor(), seconds }
    }

    /// Returns the share of [`BASE_RATE`] that the bucket grants if `share` is wanted. The bucket
    /// gains during the discarded start and the drain, too.
    fn limited(&mut self, share: f64, seconds: f64) -> f64 {
        let Some(bucket) = &mut self.bucket else { return share };
        let gained = bucket.limit * BASE_RATE * (seconds + DISCARD_S + SWITCH_S);
        let wanted = share * BASE_RATE * (seconds + DISCARD_S);
        let granted = wanted.min((bucket.credit + gained).max(0.0));
        bucket.credit = (bucket.credit + gained - granted).min(bucket.credit.max(0.0));
        if granted < wanted {
            self.limited_s += seconds;
        }
        share * granted / wanted.max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::super::signal::Constant;
    use super::*;

    fn quiet(bucket: Option<Bucket>) -> SimulatedMachine {
        SimulatedMachine {
            at_s: 0.0,
            limited_s: 0.0,
            shared: Box::new(Constant),
            own: Vec::new(),
            white: 0.0,
            costs: vec![0.0, 0.1],
            bucket,
            noise: Noise::new(1),
        }
    }

    #[test]
    fn costs_show_and_time_passes() {
        let mut machine = quiet(None);
        assert_eq!(machine.slice(0, 0.1).amount, 5000.0);
        assert_eq!(machine.slice(1, 0.1).amount, 4500.0);
        assert!((machine.at_s - 0.212).abs() < 1e-12);
    }

    #[test]
    fn a_bucket_makes_all_alike_when_it_is_empty() {
        let mut machine = quiet(Some(Bucket { credit: 20_000.0, limit: 0.5 }));
        let first = machine.slice(1, 0.1).amount;
        for i in 0..50 {
            machine.slice(i % 2, 0.1);
        }
        let (a, b) = (machine.slice(0, 0.1).amount, machine.slice(1, 0.1).amount);
        assert_eq!(first, 4500.0);
        assert!((a - b).abs() <= 1.0 && (2_400.0..2_600.0).contains(&a), "{a} {b}");
        assert!(machine.limited_s > 4.0);
    }
}

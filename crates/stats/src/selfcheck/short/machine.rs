//! A simulated machine for short slices. I/Os one at a time are simulated individually: each has a
//! service time, the machine's level sets how fast it passes, and a window begins and ends with a
//! completion, as the generator's windows do. A queue of many is simulated by the expected
//! completions of a drained and refilled queue, with a normal error.

use super::super::signal::Signal;
use crate::noise::Noise;
use crate::rounds::RoundPart;
use statrs::function::erf::erfc;
use std::f64::consts::FRAC_1_SQRT_2;
use std::sync::LazyLock;

/// Service time of a lone I/O without cost and noise, in seconds.
pub const BASE_S: f64 = 100e-6;
/// Time from the end of a window at depth 1 to the next slice, in seconds: all stacks share the
/// threads, so none has to be woken.
const SWITCH_S: f64 = 10e-6;
/// I/Os per second of a queue without cost and noise.
const QUEUE_RATE: f64 = 100_000.0;
/// Coefficient of variation of the latency in a queue; the waves of a refilled queue fade with it.
const QUEUE_SPREAD: f64 = 0.3;
/// Length of the bins over which levels are averaged, in seconds.
const BIN_S: f64 = 0.25e-3;

/// A signal that is averaged over bins, with the mean of the current bin.
pub struct BinnedSignal {
    signal: Box<dyn Signal>,
    mean: f64,
    until_s: f64,
    level: f64,
}

impl BinnedSignal {
    /// Builds the binned signal; levels are divided by `mean`.
    pub fn new(signal: impl Signal + 'static, mean: f64) -> BinnedSignal {
        BinnedSignal { signal: Box::new(signal), mean, until_s: 0.0, level: 1.0 }
    }

    /// Returns the level at a time, and the time until which it holds.
    fn level_at(&mut self, at_s: f64) -> (f64, f64) {
        if at_s >= self.until_s {
            self.until_s = at_s + BIN_S;
            self.level = self.signal.mean_between(at_s, self.until_s) / self.mean;
        }
        (self.level, self.until_s)
    }
}

/// Distribution of the service times of lone I/Os.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Service {
    /// No scatter: a recorded level already contains it.
    Constant,
    /// Seven tenths are fixed, the rest is exponential.
    Even,
    /// Scatter of `Even`, but this many of 1,024 I/Os take longer by six times the mean and more
    /// (Pareto with exponent 2.5).
    Heavy(u64),
}

/// Quantiles of `Service::Even`, whose mean is 1.
static EVEN: LazyLock<[f64; QUANTILES]> = LazyLock::new(|| {
    let of = |i: usize| -(1.0 - (i as f64 + 0.5) / QUANTILES as f64).ln();
    let mean = (0..QUANTILES).map(of).sum::<f64>() / QUANTILES as f64;
    std::array::from_fn(|i| 0.7 + 0.3 * of(i) / mean)
});
const QUANTILES: usize = 1024;
const PARETO: f64 = 2.5;
const PARETO_LEAST: f64 = 6.0;

impl Service {
    /// Returns the mean service time, relative to that of [`Service::Even`].
    pub fn mean(self) -> f64 {
        match self {
            Service::Heavy(of_1024) => {
                1.0 + of_1024 as f64 / 1024.0 * PARETO_LEAST * PARETO / (PARETO - 1.0)
            }
            _ => 1.0,
        }
    }

    fn draw(self, noise: &mut Noise) -> f64 {
        let bits = noise.bits();
        let even = EVEN[bits as usize % QUANTILES];
        match self {
            Service::Constant => 1.0,
            Service::Heavy(of_1024) if (bits >> 32) % 1024 < of_1024 => {
                even + PARETO_LEAST * (1.0 - noise.uniform()).powf(-1.0 / PARETO)
            }
            _ => even,
        }
    }
}

/// Slow start of a stack after a switch to it: its I/Os take longer by `amplitude`, which falls to
/// 1/e in `time_s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowStart {
    /// Added time at the start, as a share of a service time.
    pub amplitude: f64,
    /// Time constant of the decay, in seconds.
    pub time_s: f64,
}

/// Simulated machine with its stacks. Stack 0 is the baseline.
pub struct ShortMachine {
    /// Seconds since the machine started.
    pub at_s: f64,
    /// Noise that affects all stacks.
    pub shared: BinnedSignal,
    /// Noise that affects only stack 1.
    pub own: Option<BinnedSignal>,
    /// Service times of the baseline and of stack 1.
    pub service: [Service; 2],
    /// Slow start of stack 1, if it has one.
    pub start: Option<SlowStart>,
    /// Cost of each stack, as a fraction.
    pub costs: Vec<f64>,
    /// Number of I/Os in flight.
    pub depth: u32,
    /// Noise of service times and counts.
    pub noise: Noise,
}

impl ShortMachine {
    /// Runs a slice: the window begins with a completion after `discard_s` and ends with one
    /// `window_s` later. With more than one I/O in flight both times are exact.
    pub fn slice(&mut self, stack: usize, discard_s: f64, window_s: f64) -> RoundPart {
        match self.depth {
            1 => self.one_by_one(stack, discard_s, window_s),
            _ => self.queued(stack, discard_s, window_s),
        }
    }

    /// Returns the mean time of a lone I/O of the baseline, in seconds.
    pub fn lone_s(&self) -> f64 {
        BASE_S * self.service[0].mean()
    }

    fn one_by_one(&mut self, stack: usize, discard_s: f64, window_s: f64) -> RoundPart {
        let (began_s, mut opened_s, mut ios) = (self.at_s, None, 0u32);
        let service = self.service[stack.min(1)];
        let scale_s = BASE_S / (1.0 - self.costs[stack]);
        let start = self.start.filter(|_| stack == 1);
        let (mut level, mut until_s) = self.level(stack);
        loop {
            let mut left_s = scale_s * service.draw(&mut self.noise);
            if let Some(slow) = start {
                left_s *= 1.0 + slow.amplitude * ((began_s - self.at_s) / slow.time_s).exp();
            }
            // Time advances until the work is done.
            while left_s > level * (until_s - self.at_s) {
                left_s -= level * (until_s - self.at_s);
                self.at_s = until_s;
                (level, until_s) = self.level(stack);
            }
            self.at_s += left_s / level;
            match opened_s {
                None if self.at_s >= began_s + discard_s => opened_s = Some(self.at_s),
                None => {}
                Some(opened_s) => {
                    ios += 1;
                    if self.at_s >= opened_s + window_s {
                        let seconds = self.at_s - opened_s;
                        self.at_s += SWITCH_S;
                        return RoundPart { stack, amount: f64::from(ios), seconds };
                    }
                }
            }
        }
    }

    /// Returns the level that a stack runs at, and the time until which it holds.
    fn level(&mut self, stack: usize) -> (f64, f64) {
        let (shared, until_s) = self.shared.level_at(self.at_s);
        match &mut self.own {
            Some(own) if stack == 1 => {
                let (own, own_until_s) = own.level_at(self.at_s);
                (shared * own, until_s.min(own_until_s))
            }
            _ => (shared, until_s),
        }
    }

    /// Advances the time by `seconds`. Returns the work that is done, in seconds at level 1.
    fn pass(&mut self, stack: usize, seconds: f64) -> f64 {
        let (end_s, mut done_s) = (self.at_s + seconds, 0.0);
        while self.at_s < end_s {
            let (level, until_s) = self.level(stack);
            let to_s = until_s.min(end_s);
            done_s += level * (to_s - self.at_s);
            self.at_s = to_s;
        }
        done_s
    }

    fn queued(&mut self, stack: usize, discard_s: f64, window_s: f64) -> RoundPart {
        let depth = f64::from(self.depth);
        let rate = QUEUE_RATE * (1.0 - self.costs[stack]);
        let turns = |work_s: f64| work_s * rate / depth;
        let discarded_s = self.pass(stack, discard_s);
        let worked_s = self.pass(stack, window_s);
        let expected =
            depth * (renewals(turns(discarded_s + worked_s)) - renewals(turns(discarded_s)));
        let scatter = match self.service[stack.min(1)] {
            Service::Constant => 0.0,
            _ => QUEUE_SPREAD * expected.sqrt() * self.noise.normal(),
        };
        // The I/Os in flight drain.
        self.at_s += depth / QUEUE_RATE / 2.0;
        RoundPart { stack, amount: (expected + scatter).round().max(0.0), seconds: window_s }
    }
}

/// Number of steps per turn in the table of expected completions.
const STEPS: usize = 64;
/// Number of turns after which the waves of a refilled queue have faded.
const SETTLED: usize = 40;

/// Expected completions of one place in a queue that is filled at time zero, by time in turns: the
/// sum of the distribution functions of the first, second, ... completion, each normal.
static RENEWALS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let share_below = |deviations: f64| erfc(-deviations * FRAC_1_SQRT_2) / 2.0;
    let of = |turns: f64| {
        let completion =
            |k: usize| share_below((turns - k as f64) / (QUEUE_SPREAD * (k as f64).sqrt()));
        (1..2 * SETTLED).map(completion).sum::<f64>()
    };
    (0..=SETTLED * STEPS).map(|step| of(step as f64 / STEPS as f64)).collect()
});

fn renewals(turns: f64) -> f64 {
    let table = &*RENEWALS;
    let at = turns * STEPS as f64;
    match table.get(at as usize + 1) {
        Some(next) => table[at as usize] + at.fract() * (next - table[at as usize]),
        None => table[SETTLED * STEPS] + turns - SETTLED as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::signal::{Constant, Stalls};
    use super::*;

    fn machine(depth: u32, costs: [f64; 2]) -> ShortMachine {
        ShortMachine {
            at_s: 0.0,
            shared: BinnedSignal::new(Constant, 1.0),
            own: None,
            service: [Service::Even; 2],
            start: None,
            costs: costs.to_vec(),
            depth,
            noise: Noise::new(1),
        }
    }

    /// Measures the rate over many slices.
    fn rate(machine: &mut ShortMachine, stack: usize, discard_s: f64) -> f64 {
        let parts: Vec<RoundPart> =
            (0..20_000).map(|_| machine.slice(stack, discard_s, 1e-3)).collect();
        parts.iter().map(|part| part.amount).sum::<f64>()
            / parts.iter().map(|part| part.seconds).sum::<f64>()
    }

    #[test]
    fn windows_of_whole_cycles_have_no_bias() {
        let mut machine = machine(1, [0.0, 0.1]);
        let expected = [1.0, 0.9].map(|share| share / BASE_S);
        for stack in [0, 1] {
            let found = rate(&mut machine, stack, 1e-4) / expected[stack];
            assert!((found - 1.0).abs() < 0.002, "stack {stack}: {found}");
        }
        machine.service = [Service::Heavy(2); 2];
        let found = rate(&mut machine, 0, 1e-4) / expected[0] * Service::Heavy(2).mean();
        assert!((found - 1.0).abs() < 0.01, "heavy tails: {found}");
    }

    #[test]
    fn a_stall_of_one_stack_makes_its_window_longer() {
        let mut machine = machine(1, [0.0, 0.0]);
        machine.own = Some(BinnedSignal::new(Stalls::new(Noise::new(2), 0.1, 0.01), 1.0));
        let [a, b] = [0, 1].map(|stack| rate(&mut machine, stack, 1e-4) * BASE_S);
        assert!((a - 1.0).abs() < 0.005 && (b - 10.0 / 11.0).abs() < 0.01, "{a} {b}");
    }

    #[test]
    fn a_refilled_queue_works_in_waves_that_fade() {
        // Hardly any I/O completes early in the first turn; at its end a third more than on
        // average.
        let at = |turns: f64| (renewals(turns + 0.05) - renewals(turns - 0.05)) / 0.1;
        assert!(
            at(0.3) < 0.1 && at(1.0) > 1.2 && at(1.5) < 0.9,
            "{} {} {}",
            at(0.3),
            at(1.0),
            at(1.5)
        );
        assert!(
            (at(8.0) - 1.0).abs() < 0.01 && (renewals(60.0) - renewals(50.0) - 10.0).abs() < 1e-9
        );
    }

    #[test]
    fn a_slow_start_is_over_after_what_is_discarded() {
        let mut machine = machine(1, [0.0, 0.0]);
        machine.start = Some(SlowStart { amplitude: 1.0, time_s: 0.1e-3 });
        let [all, rest] = [0.0, 1e-3].map(|discard_s| rate(&mut machine, 1, discard_s) * BASE_S);
        assert!(all < 0.98 && (rest - 1.0).abs() < 0.003, "{all} {rest}");
    }
}

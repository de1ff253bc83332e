//! Level of a simulated machine over time, with one signal per kind of noise. A signal is asked for
//! its mean over a stretch of time, and stretches only ever go forward.

use crate::noise::Noise;
use std::sync::Arc;

/// A level around 1 that changes over time.
pub trait Signal {
    /// Returns the mean over `from..to` seconds; `from` must not be before an earlier `to`.
    fn mean_between(&mut self, from: f64, to: f64) -> f64;
}

/// Longest step of a [`Walk`], in seconds; it is shorter for a short memory.
const STEP_S: f64 = 0.01;

/// A level that is always 1.
pub struct Constant;

impl Signal for Constant {
    fn mean_between(&mut self, _: f64, _: f64) -> f64 {
        1.0
    }
}

/// A level whose logarithm moves step by step.
pub struct Walk {
    noise: Noise,
    /// Fraction of the state that is left after a step.
    keep: f64,
    /// Standard deviation of the increment of a step.
    add: f64,
    state: f64,
    level: f64,
    step_s: f64,
    /// End of the current step, in seconds.
    until: f64,
}

impl Walk {
    /// Builds noise with memory (AR(1) in steps) from the standard deviation of the logarithm and
    /// the time after which correlation has fallen to 1/e.
    pub fn remembering(mut noise: Noise, deviation: f64, memory_s: f64) -> Walk {
        let step_s = STEP_S.min(memory_s / 4.0);
        let keep = (-step_s / memory_s).exp();
        let state = deviation * noise.normal();
        let add = deviation * (1.0 - keep * keep).sqrt();
        Walk { noise, keep, add, state, level: state.exp(), step_s, until: step_s }
    }

    /// Builds a random walk whose logarithm has the standard deviation `per_root_second` after one
    /// second.
    pub fn random(noise: Noise, per_root_second: f64) -> Walk {
        let add = per_root_second * STEP_S.sqrt();
        Walk { noise, keep: 1.0, add, state: 0.0, level: 1.0, step_s: STEP_S, until: STEP_S }
    }

    fn step(&mut self) {
        self.state = self.keep * self.state + self.add * self.noise.normal();
        self.level = self.state.exp();
        self.until += self.step_s;
    }
}

impl Signal for Walk {
    fn mean_between(&mut self, from: f64, to: f64) -> f64 {
        while self.until <= from {
            self.step();
        }
        let (mut at, mut sum) = (from, 0.0);
        loop {
            let end = self.until.min(to);
            sum += self.level * (end - at);
            at = end;
            if self.until >= to {
                return sum / (to - from);
            }
            self.step();
        }
    }
}

/// A level that alternates between 1 (quiet) and a lower or higher one (disturbed), each for a
/// random time.
pub struct Episodes {
    noise: Noise,
    /// Mean lengths of quiet and of disturbed times, in seconds.
    lengths: [f64; 2],
    level: f64,
    disturbed: bool,
    until: f64,
}

impl Episodes {
    /// Builds episodes. Disturbed times have the level `level` and last `disturbed_s` seconds on
    /// average, quiet ones `quiet_s`.
    pub fn new(mut noise: Noise, quiet_s: f64, disturbed_s: f64, level: f64) -> Episodes {
        let disturbed = noise.uniform() < disturbed_s / (quiet_s + disturbed_s);
        // Lengths have no memory, so the first may begin at time zero.
        let until = noise.exponential(if disturbed { disturbed_s } else { quiet_s });
        Episodes { noise, lengths: [quiet_s, disturbed_s], level, disturbed, until }
    }

    /// Returns the mean level over all time.
    pub fn expected(quiet_s: f64, disturbed_s: f64, level: f64) -> f64 {
        (quiet_s + disturbed_s * level) / (quiet_s + disturbed_s)
    }

    fn turn(&mut self) {
        self.disturbed = !self.disturbed;
        self.until += self.noise.exponential(self.lengths[usize::from(self.disturbed)]);
    }
}

impl Signal for Episodes {
    fn mean_between(&mut self, from: f64, to: f64) -> f64 {
        while self.until <= from {
            self.turn();
        }
        let (mut at, mut sum) = (from, 0.0);
        loop {
            let end = self.until.min(to);
            sum += if self.disturbed { self.level } else { 1.0 } * (end - at);
            at = end;
            if self.until >= to {
                return sum / (to - from);
            }
            self.turn();
        }
    }
}

/// Stalls of one length that come at random.
pub struct Stalls {
    noise: Noise,
    /// Mean time from the end of a stall to the next, in seconds.
    every_s: f64,
    stall_s: f64,
    /// Start of the current or next stall.
    begins: f64,
}

impl Stalls {
    /// Builds stalls in which nothing is done for `stall_s` seconds, each `every_s` seconds after
    /// the last on average.
    pub fn new(mut noise: Noise, every_s: f64, stall_s: f64) -> Stalls {
        let begins = noise.exponential(every_s);
        Stalls { noise, every_s, stall_s, begins }
    }
}

impl Signal for Stalls {
    fn mean_between(&mut self, from: f64, to: f64) -> f64 {
        let mut stalled = 0.0;
        loop {
            let ends = self.begins + self.stall_s;
            stalled += (ends.min(to) - self.begins.max(from)).max(0.0);
            if ends >= to {
                return 1.0 - stalled / (to - from);
            }
            self.begins = ends + self.noise.exponential(self.every_s);
        }
    }
}

/// A stall that recurs with a fixed period.
pub struct Periodic {
    /// Time from stall to stall, in seconds.
    pub period_s: f64,
    /// Length of a stall, in seconds.
    pub stall_s: f64,
    /// Level in a stall.
    pub level: f64,
    /// Position of time zero within the period, in seconds.
    pub phase_s: f64,
}

impl Periodic {
    /// Returns the seconds of stall up to a time, from the start of its first period on.
    fn stalled(&self, at: f64) -> f64 {
        let at = at + self.phase_s;
        let whole = (at / self.period_s).floor();
        whole * self.stall_s + (at - whole * self.period_s).min(self.stall_s)
    }
}

impl Signal for Periodic {
    fn mean_between(&mut self, from: f64, to: f64) -> f64 {
        1.0 - (1.0 - self.level) * (self.stalled(to) - self.stalled(from)) / (to - from)
    }
}

/// A cliff of writes: the level falls from 1 to its floor, fast at first.
pub struct Decay {
    /// Level at which the fall ends.
    pub floor: f64,
    /// Time in which the rest of the fall shrinks to 1/e, in seconds.
    pub time_s: f64,
}

impl Signal for Decay {
    fn mean_between(&mut self, from: f64, to: f64) -> f64 {
        let left = |at: f64| self.time_s * (-at / self.time_s).exp();
        self.floor + (1.0 - self.floor) * (left(from) - left(to)) / (to - from)
    }
}

/// A recorded series that is replayed from a random position and repeats.
pub struct Replay {
    series: Arc<Series>,
    shift_s: f64,
    at: usize,
}

/// Recorded levels, each of which holds until the next begins. Their mean is 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// End of each level, in seconds from the start.
    pub ends: Vec<f64>,
    /// Recorded levels, one per end.
    pub levels: Vec<f64>,
}

impl Replay {
    /// Starts the replay at a random position.
    pub fn new(series: Arc<Series>, noise: &mut Noise) -> Replay {
        let shift_s = noise.uniform() * series.length_s();
        Replay { series, shift_s, at: 0 }
    }
}

impl Series {
    /// Returns the length of the series in seconds.
    pub fn length_s(&self) -> f64 {
        self.ends.last().copied().unwrap_or(0.0)
    }
}

impl Replay {
    /// Moves on to the level that holds at a time within the series.
    fn seek(&mut self, at: f64) {
        let ends = &self.series.ends;
        if self.at > 0 && ends[self.at - 1] > at {
            self.at = 0;
        }
        self.at += ends[self.at..].partition_point(|end| *end <= at);
        // Only rounding can lead past the end.
        self.at = self.at.min(ends.len() - 1);
    }
}

impl Signal for Replay {
    fn mean_between(&mut self, from: f64, to: f64) -> f64 {
        let (mut at, mut left, mut sum) =
            ((from + self.shift_s) % self.series.length_s(), to - from, 0.0);
        loop {
            self.seek(at);
            let end = self.series.ends[self.at];
            let taken = (end - at).clamp(0.0, left);
            sum += self.series.levels[self.at] * taken;
            left -= taken;
            if left <= 0.0 {
                return sum / (to - from);
            }
            at = if self.at + 1 == self.series.ends.len() { 0.0 } else { end };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures the mean over a long time, in short stretches.
    fn long_mean(signal: &mut dyn Signal, seconds: usize) -> f64 {
        let stretches = seconds * 20;
        (0..stretches)
            .map(|i| signal.mean_between(i as f64 * 0.05, (i + 1) as f64 * 0.05))
            .sum::<f64>()
            / stretches as f64
    }

    #[test]
    fn long_means_are_what_is_expected() {
        let mut noise = Noise::new(1);
        let mut episodes = Episodes::new(noise.fork(), 3.0, 1.0, 0.4);
        assert!(
            (long_mean(&mut episodes, 20_000) - Episodes::expected(3.0, 1.0, 0.4)).abs() < 0.01
        );
        let mut periodic = Periodic { period_s: 0.21, stall_s: 0.02, level: 0.1, phase_s: 0.05 };
        assert!((long_mean(&mut periodic, 100) - (1.0 - 0.9 * 0.02 / 0.21)).abs() < 1e-3);
        let mut walk = Walk::remembering(noise.fork(), 0.1, 1.0);
        assert!((long_mean(&mut walk, 20_000) - (0.005f64).exp()).abs() < 0.005);
        assert_eq!(long_mean(&mut Constant, 1), 1.0);
    }

    #[test]
    fn a_cliff_falls_to_its_floor() {
        let mut decay = Decay { floor: 0.6, time_s: 5.0 };
        assert!((decay.mean_between(0.0, 1e-6) - 1.0).abs() < 1e-6);
        assert!(
            (decay.mean_between(5.0, 5.0 + 1e-6) - (0.6 + 0.4 / std::f64::consts::E)).abs() < 1e-5
        );
        assert!((decay.mean_between(100.0, 101.0) - 0.6).abs() < 1e-6);
    }

    #[test]
    fn a_replay_goes_round() {
        let series = Arc::new(Series { ends: vec![1.0, 1.5, 2.0], levels: vec![1.0, 3.0, 5.0] });
        let mut replay = Replay { series, shift_s: 0.0, at: 0 };
        assert!((replay.mean_between(0.0, 1.25) - 1.75 / 1.25).abs() < 1e-12);
        assert!((replay.mean_between(1.25, 2.5) - (0.75 + 2.5 + 0.5) / 1.25).abs() < 1e-12);
        assert!((replay.mean_between(7.9, 8.1) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_walk_does_not_depend_on_how_it_is_asked() {
        let (mut one, mut other) =
            (Walk::random(Noise::new(3), 0.05), Walk::random(Noise::new(3), 0.05));
        let parts: f64 =
            (0..10).map(|i| one.mean_between(f64::from(i) * 0.013, f64::from(i + 1) * 0.013)).sum();
        assert!((parts / 10.0 - other.mean_between(0.0, 0.13)).abs() < 1e-12);
    }
}

//! The family of noises: each entry builds a machine under its noise. A new kind is an entry here.

use super::conduct::{Conducted, conduct};
use super::machine::{Bucket, SimulatedMachine};
use super::series::{self, Recorded};
use super::short::{self, fine, kinds::ShortSource};
use super::signal::{Constant, Decay, Episodes, Periodic, Replay, Signal, Stalls, Walk};
use crate::noise::Noise;
use crate::stop::StopSpec;
use std::sync::Arc;

/// Class of a kind of noise, which decides what the check requires under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The noise affects all stacks.
    Shared,
    /// The noise affects only the stack, not the baseline, and has a memory of a second at most.
    Own,
    /// The noise affects only the stack, rarely or for long: `--min-time 60s` is for such noise.
    Rare,
    /// Rare noise that is known to mislead: its figures are shown, but have no bound.
    Hard,
    /// A limit sets in during the measurement.
    Throttled,
}

/// One kind of noise.
pub struct NoiseKind {
    /// Name shown in the table.
    pub name: &'static str,
    /// Description in one line.
    pub help: &'static str,
    /// Class of noise that it belongs to.
    pub class: Class,
    make: fn(&mut Noise) -> NoiseParts,
    /// Mean level of the noise that affects only the stack; its true ratio is (1 - cost) times
    /// this.
    own_mean: fn() -> f64,
}

/// Signals that a kind gives to a machine.
struct NoiseParts {
    shared: Box<dyn Signal>,
    own: Vec<(usize, Box<dyn Signal>)>,
    white: f64,
    bucket: Option<Bucket>,
}

/// Standard deviation of the white noise under most kinds, in a slice of 50 ms.
const WHITE: f64 = 0.03;

impl NoiseParts {
    fn shared(signal: impl Signal + 'static) -> NoiseParts {
        NoiseParts { shared: Box::new(signal), own: Vec::new(), white: WHITE, bucket: None }
    }

    fn only_b(signal: impl Signal + 'static) -> NoiseParts {
        NoiseParts { own: vec![(1, Box::new(signal))], ..NoiseParts::shared(Constant) }
    }
}

fn none() -> f64 {
    1.0
}

/// Mean quiet time and mean disturbed time, in seconds, and the level while disturbed, of noise
/// that affects only the stack.
type DisturbedTurns = (f64, f64, f64);
const SECOND_EPISODES: DisturbedTurns = (2.0, 1.0, 0.7);
const LONG_EPISODES: DisturbedTurns = (20.0, 10.0, 0.97);
const DIPS: DisturbedTurns = (0.25, 0.02, 0.1);
const SLOW_DEVIATION: f64 = 0.1;
const RARE_STALLS: DisturbedTurns = (10.0, 0.25, 0.0);

fn turns(noise: &mut Noise, (quiet_s, disturbed_s, level): DisturbedTurns) -> NoiseParts {
    NoiseParts::only_b(Episodes::new(noise.fork(), quiet_s, disturbed_s, level))
}

fn expected((quiet_s, disturbed_s, level): DisturbedTurns) -> f64 {
    Episodes::expected(quiet_s, disturbed_s, level)
}

/// All kinds, in the order of the table.
pub const ALL: &[NoiseKind] = &[
    NoiseKind {
        name: "iid",
        help: "white noise, 5 % a slice of 50 ms",
        class: Class::Shared,
        make: |_| NoiseParts { white: 0.05, ..NoiseParts::shared(Constant) },
        own_mean: none,
    },
    NoiseKind {
        name: "AR(1)",
        help: "a level that wanders by 10 % and remembers 2 s",
        class: Class::Shared,
        make: |noise| NoiseParts::shared(Walk::remembering(noise.fork(), 0.1, 2.0)),
        own_mean: none,
    },
    NoiseKind {
        name: "random walk",
        help: "a level that drifts by 1 % in a second, 17 % in five minutes",
        class: Class::Shared,
        make: |noise| NoiseParts::shared(Walk::random(noise.fork(), 0.01)),
        own_mean: none,
    },
    NoiseKind {
        name: "shared bursts",
        help: "a neighbour takes half for 0.3 s, every 3 s",
        class: Class::Shared,
        make: |noise| NoiseParts::shared(Episodes::new(noise.fork(), 2.7, 0.3, 0.5)),
        own_mean: none,
    },
    NoiseKind {
        name: "bimodal",
        help: "two levels 15 % apart, 2 s each on average",
        class: Class::Shared,
        make: |noise| NoiseParts::shared(Episodes::new(noise.fork(), 2.0, 2.0, 0.85)),
        own_mean: none,
    },
    NoiseKind {
        name: "periodic stall",
        help: "a stall of 15 ms every 224 ms, the length of a round",
        class: Class::Shared,
        make: |noise| {
            let phase_s = 0.224 * noise.uniform();
            NoiseParts::shared(Periodic { period_s: 0.224, stall_s: 0.015, level: 0.05, phase_s })
        },
        own_mean: none,
    },
    NoiseKind {
        name: "write cliff",
        help: "the level falls to 65 % within the first minute",
        class: Class::Shared,
        make: |_| NoiseParts::shared(Decay { floor: 0.65, time_s: 20.0 }),
        own_mean: none,
    },
    NoiseKind {
        name: "token bucket",
        help: "a burst credit of 5 to 20 s, then the same limit for all at 60 %",
        class: Class::Throttled,
        make: |noise| {
            // At the full rate the credit falls by 40 % of it.
            let seconds = 5.0 + 15.0 * noise.uniform();
            NoiseParts {
                bucket: Some(Bucket { credit: 20_000.0 * seconds, limit: 0.6 }),
                ..NoiseParts::shared(Constant)
            }
        },
        own_mean: none,
    },
    NoiseKind {
        name: "episodes of B",
        help: "only B: 70 % for 1 s, every 3 s",
        class: Class::Own,
        make: |noise| turns(noise, SECOND_EPISODES),
        own_mean: || expected(SECOND_EPISODES),
    },
    NoiseKind {
        name: "dips of B",
        help: "only B: a tenth for 20 ms, four times a second",
        class: Class::Own,
        make: |noise| turns(noise, DIPS),
        own_mean: || expected(DIPS),
    },
    NoiseKind {
        name: "rare stalls of B",
        help: "only B: nothing for 0.25 s, every 10 s",
        class: Class::Rare,
        make: |noise| NoiseParts::only_b(Stalls::new(noise.fork(), RARE_STALLS.0, RARE_STALLS.1)),
        own_mean: || expected(RARE_STALLS),
    },
    NoiseKind {
        name: "slow noise of B",
        help: "only B: a level that wanders by 10 % and remembers 10 s",
        class: Class::Rare,
        make: |noise| NoiseParts::only_b(Walk::remembering(noise.fork(), SLOW_DEVIATION, 10.0)),
        own_mean: || (SLOW_DEVIATION * SLOW_DEVIATION / 2.0).exp(),
    },
    NoiseKind {
        name: "small long episodes of B",
        help: "only B: 97 % for 10 s, every 30 s; too small to be distinguished from white noise in a minute",
        class: Class::Hard,
        make: |noise| turns(noise, LONG_EPISODES),
        own_mean: || expected(LONG_EPISODES),
    },
];

/// A kind of noise, simulated or recorded.
#[derive(Clone)]
pub enum NoiseSource {
    /// Simulated noise: one of [`ALL`].
    MadeUp(&'static NoiseKind),
    /// A recorded series, replayed.
    Recorded(Arc<Recorded>),
    /// Noise for comparisons in short slices.
    Short(ShortSource),
}

impl NoiseSource {
    /// Reads a recorded series, either of slices or a fine one.
    ///
    /// # Errors
    /// Describes the fault, with its line if it has one, for a message that names the file.
    pub fn parse(name: &str, text: &str) -> Result<NoiseSource, String> {
        Ok(match fine::is_fine(text) {
            true => NoiseSource::Short(ShortSource::Fine(Arc::new(fine::parse(name, text)?))),
            false => NoiseSource::Recorded(Arc::new(series::parse(name, text)?)),
        })
    }

    /// Returns the name of a recorded series; `None` for simulated noise.
    pub fn recorded(&self) -> Option<&str> {
        match self {
            NoiseSource::Recorded(recorded) => Some(&recorded.name),
            NoiseSource::Short(ShortSource::Fine(fine)) => Some(&fine.recorded.name),
            NoiseSource::MadeUp(_) | NoiseSource::Short(ShortSource::MadeUp(_)) => None,
        }
    }

    /// Returns the name shown in the table.
    pub fn name(&self) -> String {
        match self {
            NoiseSource::MadeUp(kind) => kind.name.to_owned(),
            NoiseSource::Recorded(recorded) => format!("replay {}", recorded.name),
            NoiseSource::Short(short) => short.name(),
        }
    }

    /// Returns the description in one line.
    pub fn help(&self) -> String {
        match self {
            NoiseSource::MadeUp(kind) => kind.help.to_owned(),
            NoiseSource::Recorded(recorded) => recorded.what.clone(),
            NoiseSource::Short(short) => short.help(),
        }
    }

    /// Returns the class of noise that it belongs to.
    pub fn class(&self) -> Class {
        match self {
            NoiseSource::MadeUp(kind) => kind.class,
            NoiseSource::Recorded(_) => Class::Shared,
            NoiseSource::Short(short) => short.class(),
        }
    }

    /// Returns the true ratio of a stack with that cost (a fraction), including the mean of its own
    /// noise.
    pub fn truth(&self, cost: f64) -> f64 {
        match self {
            NoiseSource::MadeUp(kind) => (1.0 - cost) * (kind.own_mean)(),
            NoiseSource::Recorded(_) => 1.0 - cost,
            NoiseSource::Short(short) => short.truth(cost),
        }
    }

    /// Carries out a comparison of stacks of these costs, the baseline's first. `noise` drives the
    /// machine, `order` seeds the orders of slices.
    pub(super) fn conduct(
        &self,
        costs: &[f64],
        stop: &StopSpec,
        zone: f64,
        noise: Noise,
        order: u64,
    ) -> Conducted {
        match self {
            NoiseSource::Short(source) => {
                short::conduct(&mut source.machine(costs, noise), stop, zone, order)
            }
            _ => conduct(&mut self.machine(costs, noise), stop, zone, order),
        }
    }

    /// Builds a machine with stacks of these costs, the baseline's first. Noise that affects only
    /// one stack affects stack 1. Comparisons in short slices have a machine of another type; for
    /// them this one has white noise only.
    pub fn machine(&self, costs: &[f64], mut noise: Noise) -> SimulatedMachine {
        let parts = match self {
            NoiseSource::MadeUp(kind) => (kind.make)(&mut noise),
            NoiseSource::Recorded(recorded) => replayed(recorded, &mut noise),
            NoiseSource::Short(_) => NoiseParts::shared(Constant),
        };
        SimulatedMachine {
            at_s: 0.0,
            limited_s: 0.0,
            shared: parts.shared,
            own: parts.own,
            white: parts.white,
            costs: costs.to_vec(),
            bucket: parts.bucket,
            noise,
        }
    }
}

/// Builds the noise of a recorded series. A recorded slice already contains its white noise.
fn replayed(recorded: &Recorded, noise: &mut Noise) -> NoiseParts {
    NoiseParts { white: 0.0, ..NoiseParts::shared(Replay::new(recorded.series.clone(), noise)) }
}

//! The family of noises for short slices. A new kind is an entry here.

use super::super::kinds::Class;
use super::super::signal::{Constant, Episodes, Replay, Signal, Stalls, Walk};
use super::fine::FineSeries;
use super::machine::{BinnedSignal, Service, ShortMachine, SlowStart};
use crate::noise::Noise;
use crate::stop::StopSpec;
use std::sync::Arc;

/// One kind of noise for short slices.
pub struct ShortKind {
    /// Name shown in the table.
    pub name: &'static str,
    /// Description in one line.
    pub help: &'static str,
    /// Class of noise that it belongs to.
    pub class: Class,
    /// Number of I/Os in flight.
    depth: u32,
    /// True costs at which the kind is simulated.
    costs: &'static [f64],
    make: fn(&mut Noise, &mut ShortMachine),
    /// Mean level of the noise that affects only the stack; its true ratio is (1 - cost) times
    /// this.
    own_mean: fn() -> f64,
}

/// Costs for the kinds whose figures the table needs at each cost.
const EVERY: &[f64] = &[0.0, 0.01, 0.02, 0.05, 0.2];
/// Costs for most other kinds.
const TWO: &[f64] = &[0.0, 0.02];
const ONE: &[f64] = &[0.02];

/// Mean quiet time and mean disturbed time, in seconds, and the level while disturbed.
type ShortTurns = (f64, f64, f64);
const HELPER: ShortTurns = (0.095, 0.005, 0.6);
/// Mean time between stalls and the length of a stall, in seconds.
const STALLS: (f64, f64) = (1.0, 0.005);
/// Standard deviation of B's level when its cost drifts, as a fraction.
const DRIFT: f64 = 0.008;
/// Standard deviations of B's level: of one that remembers 20 ms, and of one that remembers a
/// second.
const WANDER: [f64; 2] = [0.05, 0.015];
/// Standard deviation of a level that affects all stacks.
const SHARED: f64 = 0.25;
const NEIGHBOUR: ShortTurns = (2.7, 0.3, 0.5);

fn none() -> f64 {
    1.0
}

/// Gives the machine a level that wanders with this memory, for all stacks.
fn shared_walk(noise: &mut Noise, machine: &mut ShortMachine, deviation: f64, memory_s: f64) {
    let walk = Walk::remembering(noise.fork(), deviation, memory_s);
    machine.shared = BinnedSignal::new(walk, mean_of_walk(deviation));
}

/// Gives the machine the noise of a quiet virtual machine: a level that remembers 20 ms.
fn vm(noise: &mut Noise, machine: &mut ShortMachine) {
    shared_walk(noise, machine, SHARED, 0.02);
}

/// Gives the machine the noise of a quiet virtual machine, and a signal that affects only stack 1.
fn disturb_b(noise: &mut Noise, machine: &mut ShortMachine, signal: impl Signal + 'static) {
    vm(noise, machine);
    machine.own = Some(BinnedSignal::new(signal, 1.0));
}

fn own_walk(noise: &mut Noise, machine: &mut ShortMachine, deviation: f64, memory_s: f64) {
    let walk = Walk::remembering(noise.fork(), deviation, memory_s);
    disturb_b(noise, machine, walk);
}

fn mean_of_walk(deviation: f64) -> f64 {
    (deviation * deviation / 2.0).exp()
}

const KIND: ShortKind = ShortKind {
    name: "",
    help: "",
    class: Class::Shared,
    depth: 1,
    costs: TWO,
    make: |_, _| (),
    own_mean: none,
};

/// All kinds, in the order of the table.
pub const ALL: &[ShortKind] = &[
    ShortKind { name: "service times", help: "each I/O by itself, nothing else", ..KIND },
    ShortKind {
        name: "memory 1 ms",
        help: "a level that wanders by 15 % and remembers 1 ms",
        make: |noise, machine| shared_walk(noise, machine, 0.15, 0.001),
        ..KIND
    },
    ShortKind {
        name: "memory 20 ms",
        help: "a level that wanders by 25 % and remembers 20 ms, as a quiet virtual machine has it",
        costs: EVERY,
        make: vm,
        ..KIND
    },
    ShortKind {
        name: "memory 1 s",
        help: "the same, and it remembers 1 s",
        make: |noise, machine| shared_walk(noise, machine, SHARED, 1.0),
        ..KIND
    },
    ShortKind {
        name: "memory 60 s",
        help: "the same, and it remembers 60 s",
        make: |noise, machine| shared_walk(noise, machine, SHARED, 60.0),
        ..KIND
    },
    ShortKind {
        name: "heavy tails",
        help: "one of 1,000 I/Os takes six times as long and more",
        make: |noise, machine| {
            vm(noise, machine);
            machine.service = [Service::Heavy(1); 2];
        },
        ..KIND
    },
    ShortKind {
        name: "shared stalls",
        help: "nothing completes for 5 ms, every second on average",
        make: |noise, machine| {
            let stalls = Stalls::new(noise.fork(), STALLS.0, STALLS.1);
            machine.shared = BinnedSignal::new(stalls, Episodes::expected(STALLS.0, STALLS.1, 0.0));
        },
        ..KIND
    },
    ShortKind {
        name: "busy neighbour",
        help: "a neighbour takes half for 0.3 s, every 3 s",
        make: |noise, machine| {
            let (quiet_s, busy_s, level) = NEIGHBOUR;
            let episodes = Episodes::new(noise.fork(), quiet_s, busy_s, level);
            machine.shared =
                BinnedSignal::new(episodes, Episodes::expected(quiet_s, busy_s, level));
        },
        ..KIND
    },
    ShortKind {
        name: "depth 32",
        help: "a queue that is drained and refilled, on a machine that remembers 20 ms",
        depth: 32,
        costs: EVERY,
        make: vm,
        ..KIND
    },
    ShortKind {
        name: "memory 20 ms of B",
        help: "only B: a level that wanders by 5 % and remembers 20 ms",
        class: Class::Own,
        costs: ONE,
        make: |noise, machine| own_walk(noise, machine, WANDER[0], 0.02),
        own_mean: || mean_of_walk(WANDER[0]),
        ..KIND
    },
    ShortKind {
        name: "memory 1 s of B",
        help: "only B: a level that wanders by 1.5 % and remembers 1 s",
        class: Class::Own,
        costs: ONE,
        make: |noise, machine| own_walk(noise, machine, WANDER[1], 1.0),
        own_mean: || mean_of_walk(WANDER[1]),
        ..KIND
    },
    ShortKind {
        name: "heavy tails of B",
        help: "only B: one of 1,000 I/Os takes six times as long and more",
        class: Class::Own,
        costs: ONE,
        make: |noise, machine| {
            vm(noise, machine);
            machine.service[1] = Service::Heavy(1);
        },
        own_mean: || 1.0 / Service::Heavy(1).mean(),
        ..KIND
    },
    ShortKind {
        name: "slow helper of B",
        help: "only B: three fifths of the rate for 5 ms, every 0.1 s",
        class: Class::Own,
        costs: ONE,
        make: |noise, machine| {
            let episodes = Episodes::new(noise.fork(), HELPER.0, HELPER.1, HELPER.2);
            disturb_b(noise, machine, episodes);
        },
        own_mean: || Episodes::expected(HELPER.0, HELPER.1, HELPER.2),
        ..KIND
    },
    ShortKind {
        name: "stalls of B",
        help: "only B: nothing for 5 ms, every second on average",
        class: Class::Own,
        costs: ONE,
        make: |noise, machine| {
            let stalls = Stalls::new(noise.fork(), STALLS.0, STALLS.1);
            disturb_b(noise, machine, stalls);
        },
        own_mean: || Episodes::expected(STALLS.0, STALLS.1, 0.0),
        ..KIND
    },
    ShortKind {
        name: "slow start of B",
        help: "only B: the first I/O after a switch takes half as long again",
        class: Class::Own,
        costs: ONE,
        make: |noise, machine| {
            vm(noise, machine);
            machine.start = Some(SlowStart { amplitude: 0.5, time_s: 0.03e-3 });
        },
        ..KIND
    },
    ShortKind {
        name: "slower start of B",
        help: "only B: I/Os take a fifth longer after a switch, for 0.5 ms; more than what is discarded",
        class: Class::Hard,
        costs: ONE,
        make: |noise, machine| {
            vm(noise, machine);
            machine.start = Some(SlowStart { amplitude: 0.2, time_s: 0.5e-3 });
        },
        ..KIND
    },
    ShortKind {
        name: "drift of B, 10 s",
        help: "only B: a cost that wanders by 0.8 points and remembers 10 s",
        class: Class::Hard,
        costs: ONE,
        make: |noise, machine| own_walk(noise, machine, DRIFT, 10.0),
        own_mean: || mean_of_walk(DRIFT),
        ..KIND
    },
    ShortKind {
        name: "drift of B, 60 s",
        help: "only B: the same, and it remembers 60 s",
        class: Class::Hard,
        costs: ONE,
        make: |noise, machine| own_walk(noise, machine, DRIFT, 60.0),
        own_mean: || mean_of_walk(DRIFT),
        ..KIND
    },
];

/// Noise for short slices, simulated or recorded.
#[derive(Clone)]
pub enum ShortSource {
    /// Simulated noise: one of [`ALL`].
    MadeUp(&'static ShortKind),
    /// A recorded series, replayed.
    Fine(Arc<FineSeries>),
}

impl ShortSource {
    /// Returns the name shown in the table.
    pub fn name(&self) -> String {
        match self {
            ShortSource::MadeUp(kind) => format!("short {}", kind.name),
            ShortSource::Fine(fine) => format!("replay {}", fine.recorded.name),
        }
    }

    /// Returns the description in one line.
    pub fn help(&self) -> String {
        match self {
            ShortSource::MadeUp(kind) => kind.help.to_owned(),
            ShortSource::Fine(fine) => fine.recorded.what.clone(),
        }
    }

    /// Returns the class of noise that it belongs to.
    pub fn class(&self) -> Class {
        match self {
            ShortSource::MadeUp(kind) => kind.class,
            ShortSource::Fine(_) => Class::Shared,
        }
    }

    /// Returns the true costs at which it is simulated.
    pub fn costs(&self) -> &'static [f64] {
        match self {
            ShortSource::MadeUp(kind) => kind.costs,
            ShortSource::Fine(_) => TWO,
        }
    }

    /// Returns the rule that ends measuring: after six seconds at the earliest, three for each of
    /// two stacks.
    pub fn stop(&self) -> StopSpec {
        // Recorded noise is of a busy machine; only the verdict after some seconds matters.
        let budget_s = if matches!(self, ShortSource::Fine(_)) { 10.0 } else { 30.0 };
        StopSpec { precision: 0.01, min_time_s: 6.0, budget_s }
    }

    /// Returns the true ratio of a stack with that cost (a fraction), including the mean of its own
    /// noise.
    pub fn truth(&self, cost: f64) -> f64 {
        match self {
            ShortSource::MadeUp(kind) => (1.0 - cost) * (kind.own_mean)(),
            ShortSource::Fine(_) => 1.0 - cost,
        }
    }

    /// Builds a machine with stacks of these costs, the baseline's first.
    pub fn machine(&self, costs: &[f64], mut noise: Noise) -> ShortMachine {
        let mut machine = ShortMachine {
            at_s: 0.0,
            shared: BinnedSignal::new(Constant, 1.0),
            own: None,
            service: [Service::Even; 2],
            start: None,
            costs: costs.to_vec(),
            depth: 1,
            noise: noise.fork(),
        };
        match self {
            ShortSource::MadeUp(kind) => {
                machine.depth = kind.depth;
                (kind.make)(&mut noise, &mut machine);
            }
            ShortSource::Fine(fine) => {
                machine.depth = fine.depth;
                machine.service = [Service::Constant; 2];
                let replay = Replay::new(fine.recorded.series.clone(), &mut noise);
                machine.shared = BinnedSignal::new(replay, 1.0);
            }
        }
        machine
    }
}

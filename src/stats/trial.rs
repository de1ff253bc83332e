//! A comparison while it is measured: which round comes next, and whether it is enough. Whoever measures asks here;
//! the simulations of `selfcheck stats` ask the same.

use super::length::is_long;
use super::pilot::Pattern;
use super::rounds::{Round, RoundKind, Value, pairs};
use super::schedule::Schedule;
use super::stop::{self, Decision, StopSpec};

/// What is measured, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialSpec {
    /// Stacks in a round, by the numbers that rounds use; the order of slices is drawn among them.
    pub stacks: Vec<usize>,
    /// The one that the others are compared with.
    pub baseline: usize,
    /// What a slice is worth.
    pub value: Value,
    /// Order within a round.
    pub pattern: Pattern,
    /// Whether some rounds have longer slices.
    pub long_rounds: bool,
    /// Seed of the orders.
    pub seed: u64,
    /// A stream of its own for each workload and visit.
    pub stream: u64,
}

/// The round to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// What it is for.
    pub kind: RoundKind,
    /// Stacks in the order of their slices.
    pub order: Vec<usize>,
}

/// Rounds so far, and the next.
#[derive(Clone, Debug)]
pub struct Trial {
    spec: TrialSpec,
    schedule: Schedule,
    number: u32,
    comparisons: Vec<(usize, Vec<(f64, f64)>)>,
}

impl Trial {
    /// After the rounds that were measured before (by an earlier visit, or before a resume).
    pub fn new(spec: TrialSpec, earlier: &[Round]) -> Trial {
        let others = spec.stacks.iter().filter(|stack| **stack != spec.baseline);
        let pairs_of =
            |stack: &usize| (*stack, pairs(earlier, RoundKind::Plain, spec.baseline, *stack, spec.value));
        let comparisons = others.map(pairs_of).collect();
        let schedule = Schedule::new(spec.seed, spec.stream);
        Trial { spec, schedule, number: 0, comparisons }
    }

    /// Draws the next round.
    pub fn plan(&mut self) -> Planned {
        let order = self.schedule.patterned(self.spec.stacks.len(), self.spec.pattern);
        let seed = self.spec.seed ^ self.spec.stream;
        let long = self.spec.long_rounds && is_long(seed, self.number);
        self.number += 1;
        Planned {
            kind: if long { RoundKind::Long } else { RoundKind::Plain },
            order: order.into_iter().map(|at| self.spec.stacks[at]).collect(),
        }
    }

    /// Takes a measured round in.
    pub fn push(&mut self, round: &Round) {
        if round.kind != RoundKind::Plain {
            return;
        }
        for (stack, pairs) in &mut self.comparisons {
            let value = |stack| round.value(stack, self.spec.value);
            pairs.extend(value(self.spec.baseline).zip(value(*stack)));
        }
    }

    /// Each stack but the baseline with its pairs so far.
    pub fn comparisons(&self) -> &[(usize, Vec<(f64, f64)>)] {
        &self.comparisons
    }

    /// Whether it is enough after so many seconds.
    pub fn decide(&self, elapsed_s: f64, spec: &StopSpec) -> Decision {
        let pairs: Vec<&[(f64, f64)]> = self.comparisons.iter().map(|(_, pairs)| pairs.as_slice()).collect();
        stop::decide(&pairs, elapsed_s, spec)
    }
}

//! A comparison while it is measured: decides which round comes next, and when to stop. Real
//! measurements and the simulations of `selfcheck stats` both use it.

use super::Refusal;
use super::length::is_long;
use super::pilot::Pattern;
use super::rounds::{Round, RoundKind, SliceValue};
use super::schedule::Schedule;
use super::steady::{self, SteadySpec, WrittenRound};
use super::stop::{self, Decision, StopSpec};

/// Specification of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialSpec {
    /// Indices of the stacks that run in a round.
    pub stacks: Vec<usize>,
    /// Index of the stack that the others are compared with.
    pub baseline: usize,
    /// Kind of value that a slice yields.
    pub value: SliceValue,
    /// Order of slices within a round.
    pub pattern: Pattern,
    /// True if some rounds have longer slices.
    pub long_rounds: bool,
    /// Seed of the orders.
    pub seed: u64,
    /// Random stream, separate for each workload and visit.
    pub stream: u64,
    /// Facts that decide when writes are steady, if only steady rounds count; amounts of rounds are
    /// then bytes. If `None`, every round counts.
    pub steady: Option<SteadySpec>,
    /// Rounds that preconditioned the drives, each counted as the first of its visit. Used only
    /// with `steady`.
    pub preconditioned: Vec<WrittenRound>,
}

/// The next round to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Purpose of the round.
    pub kind: RoundKind,
    /// Stacks in the order of their slices.
    pub order: Vec<usize>,
}

/// Index of a stack, and the values `(baseline, stack)` of its rounds.
pub type Compared = (usize, Vec<(f64, f64)>);

/// A comparison in progress: its rounds so far, and the schedule of the next.
#[derive(Clone, Debug)]
pub struct RoundTrial {
    spec: TrialSpec,
    schedule: Schedule,
    number: u32,
    comparisons: Vec<Compared>,
    /// For each comparison, the index into `writes` of each of its pairs.
    places: Vec<Vec<usize>>,
    /// All rounds, of any kind; empty unless the regime is steady.
    writes: Vec<WrittenRound>,
}

impl RoundTrial {
    /// Starts a comparison that continues `earlier`, the rounds measured before: by an earlier
    /// visit, or before a resume. Its orders are drawn from the beginning of the stream, so each
    /// visit needs one of its own.
    pub fn new(spec: TrialSpec, earlier: &[Round]) -> RoundTrial {
        let others: Vec<usize> =
            spec.stacks.iter().filter(|stack| **stack != spec.baseline).copied().collect();
        let schedule = Schedule::new(spec.seed, spec.stream);
        let mut trial = RoundTrial {
            spec,
            schedule,
            number: 0,
            places: vec![Vec::new(); others.len()],
            comparisons: others.into_iter().map(|stack| (stack, Vec::new())).collect(),
            writes: Vec::new(),
        };
        earlier.iter().for_each(|round| trial.push(round));
        trial
    }

    /// Draws the next round: the order of its slices, and whether they are long.
    pub fn plan_round(&mut self) -> Planned {
        let order = self.schedule.patterned(self.spec.stacks.len(), self.spec.pattern);
        let seed = self.spec.seed ^ self.spec.stream;
        let long = self.spec.long_rounds && is_long(seed, self.number);
        self.number += 1;
        Planned {
            kind: if long { RoundKind::Long } else { RoundKind::Plain },
            order: order.into_iter().map(|at| self.spec.stacks[at]).collect(),
        }
    }

    /// Adds a measured round.
    pub fn push(&mut self, round: &Round) {
        if self.spec.steady.is_some() {
            if self.writes.last().is_none_or(|last| last.visit != round.visit) {
                let before =
                    self.spec.preconditioned.iter().filter(|writes| writes.visit == round.visit);
                self.writes.extend(before.cloned());
            }
            self.writes.push(WrittenRound::from_round(round));
        }
        if round.kind != RoundKind::Plain {
            return;
        }
        let place = self.writes.len().saturating_sub(1);
        for ((stack, pairs), places) in self.comparisons.iter_mut().zip(&mut self.places) {
            let value = |stack| round.stack_value(stack, self.spec.value);
            // Without a completion there is no time per completion. The report sums over rounds and
            // can use such a round. Here it merely does not help the decision to stop.
            let usable = |pair: &(f64, f64)| pair.0.is_finite() && pair.1.is_finite();
            if let Some(pair) = value(self.spec.baseline).zip(value(*stack)).filter(usable) {
                pairs.push(pair);
                places.push(place);
            }
        }
    }

    /// Records how many seconds the flushes of a stack took in the round that was pushed last. They
    /// show a drive's change of pace that caches hide.
    pub fn flushed(&mut self, stack: usize, seconds: f64) {
        let last = self.writes.last_mut().into_iter().flat_map(|writes| &mut writes.stacks);
        for wrote in last.filter(|wrote| wrote.stack == stack) {
            wrote.durable_s = Some(wrote.seconds + seconds);
        }
    }

    /// Returns each stack but the baseline, with the pairs of its rounds that a verdict may rest
    /// on.
    ///
    /// # Errors
    /// [`Refusal::SteadyNotShown`] if only steady writes count and no visit has become steady yet.
    pub fn judge_comparisons(&self) -> Result<Vec<Compared>, Refusal> {
        let Some(spec) = &self.spec.steady else { return Ok(self.comparisons.clone()) };
        let judged = steady::mark_judged(&self.writes, spec)?;
        let kept = |((stack, pairs), places): (&Compared, &Vec<usize>)| {
            let ours =
                pairs.iter().zip(places).filter(|(_, at)| judged[**at]).map(|(pair, _)| *pair);
            (*stack, ours.collect())
        };
        Ok(self.comparisons.iter().zip(&self.places).map(kept).collect())
    }

    /// Decides if measuring stops after `elapsed_s` seconds. If only steady writes count, other
    /// rounds are left out, and until the current visit is steady only the budget ends the
    /// measurement.
    pub fn decide(&self, elapsed_s: f64, spec: &StopSpec) -> Decision {
        let judged = match self.is_steady() {
            true => self.judge_comparisons().unwrap_or_default(),
            // No pairs: only the budget ends it.
            false => Vec::new(),
        };
        let pairs: Vec<&[(f64, f64)]> = judged.iter().map(|(_, pairs)| pairs.as_slice()).collect();
        stop::decide(&pairs, elapsed_s, spec)
    }

    /// Returns true if the current visit has come past the caches, or does not have to.
    fn is_steady(&self) -> bool {
        let Some(spec) = &self.spec.steady else { return true };
        steady::at_the_end(&self.writes, spec).is_some_and(|visit| visit.reached)
    }
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;

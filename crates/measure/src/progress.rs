//! How far a workload is, and when a visit ends.

use iotax_facts::place::Place;
use iotax_model::record::{Matched, SeriesDesign};
use iotax_stats::pilot::Design;
use iotax_stats::rounds::Round;
use iotax_stats::steady::WrittenRound;
use iotax_stats::stop::StopSpec;
use std::collections::{BTreeMap, BTreeSet};

/// Measurements of a workload so far; they continue over visits and resumes.
#[derive(Clone, Debug, Default)]
pub struct WorkloadProgress {
    /// Rounds of the workload's own load. Stacks are numbered as in the scenario.
    pub rounds: Vec<Round>,
    /// Rounds at the matched rate: amounts are I/Os, seconds the sum of their latencies.
    pub matched_rounds: Vec<Round>,
    /// Number of the next round in the record. After a resume, the round before it may be
    /// incomplete.
    pub next_round: u32,
    /// Seconds that rounds of the workload's own load took, in all visits together, without set-up
    /// and warm-up.
    pub elapsed_s: f64,
    pub matched_s: f64,
    pub design: Option<Design>,
    pub series: Option<SeriesDesign>,
    /// Bytes of each slice of a load that writes, fixed after the first warm-up.
    pub slice_bytes: Option<u64>,
    pub matched: Option<Matched>,
    pub preconditioned: Vec<WrittenRound>,
    /// Bytes read, bytes written and seconds of all plain rounds, for each stack.
    pub by_direction: BTreeMap<usize, [f64; 3]>,
    /// Places that were lost when all these rounds were measured. Rounds with other lost places are
    /// not part of them.
    pub lost: BTreeSet<Place>,
}

impl WorkloadProgress {
    pub(super) fn add_by_direction(&mut self, slices: Vec<(usize, [f64; 3])>) {
        for (stack, one) in slices {
            let sums = self.by_direction.entry(stack).or_default();
            sums.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
        }
    }

    /// Returns the cost of the second stack for reads and for writes, as fractions of the first
    /// stack's rates. `None` for a load without both.
    pub(super) fn cost_by_direction(&self, pair: [usize; 2]) -> Option<[f64; 2]> {
        let [a, b] = pair.map(|stack| self.by_direction.get(&stack));
        let (a, b) = (a?, b?);
        let costs = [0, 1].map(|way| 1.0 - b[way] / b[2] * a[2] / a[way]);
        costs.iter().all(|cost| cost.is_finite()).then_some(costs)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VisitLimit {
    /// Ends when the comparisons are precise, or at the end of the budget.
    Precise(StopSpec),
    /// Ends after as many rounds as each earlier visit had: of the workload's own load, and at the
    /// matched rate.
    AsBefore { rounds: usize, matched: usize },
    /// Ends after this time, in seconds.
    Time(f64),
}

impl VisitLimit {
    /// Returns the most seconds that are left after `spent_s`. `None`: the visit does not end by
    /// time.
    pub(super) fn most_s(self, spent_s: f64) -> Option<f64> {
        match self {
            VisitLimit::Precise(spec) => Some((spec.budget_s - spent_s).max(0.0)),
            VisitLimit::Time(seconds) => Some(seconds),
            VisitLimit::AsBefore { .. } => None,
        }
    }

    /// Returns the limit with the seconds of the pilot and the baseline alone, `taken_s`, taken off
    /// its budget; at least half of it remains, so that there is something to report. Other limits
    /// do not change.
    pub(super) fn reduced_by(self, taken_s: f64) -> VisitLimit {
        let left = |seconds: f64| (seconds - taken_s).max(seconds / 2.0);
        match self {
            VisitLimit::Precise(spec) => {
                VisitLimit::Precise(StopSpec { budget_s: left(spec.budget_s), ..spec })
            }
            // These limits apply to the rounds alone.
            VisitLimit::Time(_) | VisitLimit::AsBefore { .. } => self,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VisitEnd {
    Precision,
    /// A rate limit set in and hides the cost.
    RateLimited,
    Budget,
    /// The rounds or the time of this visit are used up; the workload goes on in another visit.
    Visit,
    /// Another round would write more than `max_written`.
    MaxWritten,
    Disturbed {
        /// The baseline's rate next to the others divided by its rate alone.
        share: f64,
    },
    Interrupted,
}

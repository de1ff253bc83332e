//! Pairing of two stacks: by rounds where they were up together, by visits where they were not.
//! Rounds and visits of one side alone are left out.

use crate::findings::SampleUnit;
use crate::gather::rounds::{RoundId, StackSide};
use crate::gather::subject::Quantity;
use iotax_stats::visits;

/// Rounds or visits that two stacks have in common.
#[derive(Clone, Debug, PartialEq)]
pub enum PairedUnits {
    /// Rounds in order of time.
    Rounds(Vec<RoundId>),
    /// Numbers of the visits that both have.
    Visits(Vec<u32>, VisitUnit),
}

/// Kind of visit: one of the attaches that the user asked for, each with all stacks, or any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitUnit {
    /// Visits of stacks that cannot be up together, or visits that are enough to be the unit.
    Visit,
    Attach,
}

impl VisitUnit {
    pub fn sample_unit(self) -> SampleUnit {
        match self {
            VisitUnit::Visit => SampleUnit::Visits,
            VisitUnit::Attach => SampleUnit::Attaches,
        }
    }

    /// Returns the number of units that an interval needs.
    pub fn least(self) -> usize {
        match self {
            VisitUnit::Visit => visits::LEAST,
            VisitUnit::Attach => visits::LEAST_ATTACHES,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct RoundBasis {
    pub quantity: Quantity,
    /// True if slices end on equal bytes (writes): the round's quantity is time per byte, inverted
    /// at the end.
    pub by_bytes: bool,
}

/// Pairs two stacks of a run without `attaches`.
pub fn pair(a: &StackSide, b: &StackSide) -> PairedUnits {
    pair_over(a, b, 1)
}

/// Pairs two stacks. Visits are the unit if the stacks were never up together. They are also the
/// unit if both were up together in at least four visits, or in at least three if the user asked
/// for three attaches or more; the interval then includes what a set-up does to the ratio. Fewer
/// visits are strata of one set of rounds.
pub fn pair_over(a: &StackSide, b: &StackSide, attaches: u32) -> PairedUnits {
    let common: Vec<RoundId> =
        a.rounds.keys().filter(|id| b.rounds.contains_key(id)).copied().collect();
    if common.is_empty() && !a.rounds.is_empty() && !b.rounds.is_empty() {
        // Sets number their visits alike. Where one lacks a visit, those after it are still the
        // pairs that they were.
        let of_b = visits_of(b.rounds.keys());
        let both = visits_of(a.rounds.keys()).into_iter().filter(|visit| of_b.contains(visit));
        return PairedUnits::Visits(both.collect(), VisitUnit::Visit);
    }
    let together = visits_of(common.iter());
    let as_visits = |unit| PairedUnits::Visits(together.clone(), unit);
    match together.len() {
        k if attaches as usize >= visits::LEAST_ATTACHES && k >= visits::LEAST_ATTACHES => {
            as_visits(VisitUnit::Attach)
        }
        k if k >= visits::LEAST => as_visits(VisitUnit::Visit),
        _ => PairedUnits::Rounds(common),
    }
}

fn visits_of<'a>(rounds: impl Iterator<Item = &'a RoundId>) -> Vec<u32> {
    let mut visits: Vec<u32> = rounds.map(|id| id.0).collect();
    visits.dedup();
    visits
}

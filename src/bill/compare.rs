//! Pairs of stacks: paired rounds where they were up together, paired visits where they were not.
//! Refuses to pair rounds that only one side has.

use super::findings::{Figure, Interval};
use super::gather::{RoundId, RoundTotal, Side};
use super::subject::Quantity;
use crate::stats::quantile::Estimate;
use crate::stats::ratio::{self, Difference, Total};
use crate::stats::spread::Spread;
use crate::stats::visits::{self, VisitRatio};
use crate::stats::{Ratio, Refusal, Verdict};

/// Rates `(A, B)` of what can be paired.
#[derive(Clone, Debug, PartialEq)]
pub enum Paired {
    /// Rounds in order of time.
    Rounds(Vec<RoundId>),
    /// Visits of A and of B.
    Visits(Vec<(u32, u32)>),
}

/// What one round is worth.
#[derive(Clone, Copy, Debug)]
pub struct Basis {
    /// Acknowledged or durable.
    pub quantity: Quantity,
    /// Slices end on equal bytes (writes): the round's quantity is time per byte, inverted at the end.
    pub by_bytes: bool,
}

/// How the two are paired. Visits are the unit where the stacks were never up together, or where they were in
/// four visits or more (then what a set-up did to the ratio is in the interval).
pub fn pair(a: &Side, b: &Side) -> Paired {
    let common: Vec<RoundId> = a.rounds.keys().filter(|id| b.rounds.contains_key(id)).copied().collect();
    let together = visits_of(common.iter());
    if common.is_empty() && !a.rounds.is_empty() && !b.rounds.is_empty() {
        return Paired::Visits(
            visits_of(a.rounds.keys()).into_iter().zip(visits_of(b.rounds.keys())).collect(),
        );
    }
    if together.len() >= visits::LEAST {
        return Paired::Visits(together.into_iter().map(|visit| (visit, visit)).collect());
    }
    Paired::Rounds(common)
}

fn visits_of<'a>(rounds: impl Iterator<Item = &'a RoundId>) -> Vec<u32> {
    let mut visits: Vec<u32> = rounds.map(|id| id.0).collect();
    visits.dedup();
    visits
}

/// Of a pair: the ratio of rates with what its interval rests on.
#[derive(Clone, Debug)]
pub enum Found {
    /// By rounds.
    Rounds(Result<Ratio, Refusal>),
    /// By visits.
    Visits(Result<VisitRatio, Refusal>),
}

impl Found {
    /// Estimates B over A.
    pub fn of(a: &Side, b: &Side, paired: &Paired, basis: Basis) -> Found {
        match paired {
            Paired::Rounds(ids) => Found::Rounds(by_rounds(a, b, ids, basis)),
            Paired::Visits(ids) => Found::Visits(by_visits(a, b, ids, basis)),
        }
    }

    /// The conclusion.
    pub fn verdict(&self, zone: f64) -> Verdict {
        match self {
            Found::Rounds(found) => Verdict::of_rounds(found, zone),
            Found::Visits(found) => Verdict::of_visits(found, zone),
        }
    }

    /// The ratio as a figure.
    pub fn figure(&self) -> Figure {
        match self {
            Found::Rounds(Ok(found)) => of_ratio(found, "1"),
            Found::Visits(Ok(found)) => Figure::Known {
                value: found.ratio,
                unit: "1",
                n: found.visits as u64,
                of: "visits",
                interval: Interval::Bounds { low: found.low, high: found.high },
                caution: None,
            },
            Found::Rounds(Err(reason)) | Found::Visits(Err(reason)) => Figure::missing(reason),
        }
    }
}

/// Rates `(A, B)` of the rounds, or times per byte.
///
/// # Errors
/// [`Refusal`] when a durable time was not recorded or a byte-bound slice wrote nothing.
pub fn round_values(a: &Side, b: &Side, ids: &[RoundId], basis: Basis) -> Result<Vec<(f64, f64)>, Refusal> {
    let of = |side: &Side, id: &RoundId| side.rounds.get(id).map_or(Err(lost()), |round| value(round, basis));
    ids.iter().map(|id| Ok((of(a, id)?, of(b, id)?))).collect()
}

fn lost() -> Refusal {
    Refusal::NotMeasured { reason: "a round is not there on both sides".into() }
}

fn by_rounds(a: &Side, b: &Side, ids: &[RoundId], basis: Basis) -> Result<Ratio, Refusal> {
    let found = ratio::estimate(&round_values(a, b, ids, basis)?)?;
    Ok(if basis.by_bytes { found.inverted() } else { found })
}

fn value(round: &RoundTotal, basis: Basis) -> Result<f64, Refusal> {
    let time = time(round, basis.quantity)?;
    match basis.by_bytes {
        false => Ok(round.ios / time),
        true if round.bytes > 0.0 => Ok(time / round.bytes),
        true => Err(Refusal::NotMeasured {
            reason: "a slice that should end on equal bytes completed none".into(),
        }),
    }
}

/// Seconds that a round's work took.
pub fn time(round: &RoundTotal, quantity: Quantity) -> Result<f64, Refusal> {
    let no_flush = || Refusal::NotMeasured { reason: "no flush was recorded".into() };
    match quantity {
        Quantity::Acknowledged => Ok(round.window_s),
        Quantity::Durable => Ok(round.window_s + round.flush_s.ok_or_else(no_flush)?),
    }
}

fn by_visits(a: &Side, b: &Side, ids: &[(u32, u32)], basis: Basis) -> Result<VisitRatio, Refusal> {
    visits::paired(&visit_values(a, b, ids, basis)?)
}

/// Rates `(A, B)` of the visits, totals over each visit.
///
/// # Errors
/// [`Refusal`] when a durable time was not recorded.
pub fn visit_values(
    a: &Side,
    b: &Side,
    ids: &[(u32, u32)],
    basis: Basis,
) -> Result<Vec<(f64, f64)>, Refusal> {
    ids.iter().map(|(in_a, in_b)| Ok((visit_rate(a, *in_a, basis)?, visit_rate(b, *in_b, basis)?))).collect()
}

fn visit_rate(side: &Side, visit: u32, basis: Basis) -> Result<f64, Refusal> {
    let (mut amount, mut seconds) = (0.0, 0.0);
    for (_, round) in side.rounds.range((visit, 0)..=(visit, u32::MAX)) {
        amount += if basis.by_bytes { round.bytes } else { round.ios };
        seconds += time(round, basis.quantity)?;
    }
    Ok(if seconds > 0.0 { amount / seconds } else { 0.0 })
}

/// An estimated ratio as a figure of that unit.
pub fn of_ratio(found: &Ratio, unit: &'static str) -> Figure {
    Figure::Known {
        value: found.ratio,
        unit,
        n: found.spread.n as u64,
        of: "rounds",
        interval: Interval::Bounds { low: found.low, high: found.high },
        caution: caution(&found.spread),
    }
}

/// Batches that see-saw make an interval wider than needed; only those that follow each other weaken it.
fn caution(spread: &Spread) -> Option<String> {
    let gate = spread.gate;
    let dependent = Refusal::DependentBatches { correlation: gate.correlation, bound: gate.bound };
    (gate.correlation > gate.bound).then(|| dependent.to_string())
}

/// An absolute figure drifts with the machine, which its batches show; paired ratios do not.
fn drift(found: &Ratio) -> Option<String> {
    let text = "the level drifted during the run: absolute figures vary more than their intervals say, paired ratios do not";
    (found.gate().correlation > found.gate().bound).then(|| text.to_owned())
}

/// An absolute figure with its interval, which a drift weakens.
pub fn of_level(found: &Ratio, unit: &'static str) -> Figure {
    of_ratio(found, unit).cautioned(drift(found))
}

/// Sum over sum of the sides of whole rounds, as a figure: I/Os over seconds, CPU time over I/Os. Below 16
/// rounds the value is there, its interval is not.
pub fn of_totals(rounds: &[(f64, f64)], unit: &'static str) -> Figure {
    match (ratio::estimate(rounds), ratio::ratio_of_totals(rounds)) {
        (Ok(found), _) => of_level(&found, unit),
        (Err(reason), Ok(value)) => Figure::Known {
            value,
            unit,
            n: rounds.len() as u64,
            of: "rounds",
            interval: Interval::Missing { missing: reason.to_string() },
            caution: None,
        },
        (_, Err(reason)) => Figure::missing(reason),
    }
}

/// A percentile as a figure.
pub fn of_estimate(found: Result<Estimate, Refusal>, unit: &'static str) -> Figure {
    match found {
        Ok(found) => Figure::Known {
            value: found.value,
            unit,
            n: found.samples,
            of: "samples",
            interval: Interval::Bounds { low: found.low, high: found.high },
            caution: unsteady(&found),
        },
        Err(reason) => Figure::missing(reason),
    }
}

/// A percentile on the edge between two modes jumps from batch to batch.
fn unsteady(found: &Estimate) -> Option<String> {
    let half_width = (found.high / found.low).ln() / 2.0;
    (half_width > 0.2)
        .then(|| format!("unresolved: it moves by +- {:.0} % from batch to batch", 100.0 * half_width))
}

/// An added amount per I/O as a figure in ns: B minus A of what `of` takes from each round.
pub fn added(a: &Side, b: &Side, paired: &Paired, of: impl Fn(&RoundTotal) -> Option<Total>) -> Figure {
    let Paired::Rounds(ids) = paired else {
        return Figure::missing("the two were not up together");
    };
    let side = |side: &Side, id: &RoundId| side.rounds.get(id).and_then(&of);
    let rounds: Option<Vec<(Total, Total)>> =
        ids.iter().map(|id| Some((side(a, id)?, side(b, id)?))).collect();
    match rounds.map(|rounds| ratio::difference(&[rounds])) {
        Some(Ok(found)) => of_difference(&found),
        Some(Err(reason)) => Figure::missing(reason),
        None => Figure::missing("not recorded"),
    }
}

fn of_difference(found: &Difference) -> Figure {
    Figure::Known {
        value: found.value,
        unit: "ns",
        n: found.rounds as u64,
        of: "rounds",
        interval: Interval::Bounds {
            low: found.value - found.half_width,
            high: found.value + found.half_width,
        },
        caution: None,
    }
}

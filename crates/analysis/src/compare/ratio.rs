//! Comparison of pairs of stacks: by paired rounds where they were up together, by paired visits
//! where they were not. Refuses to pair rounds that only one side has.

use crate::findings::{Interval, MeasuredFigure, RatioChecks, SampleUnit};
use crate::gather::pairing::{PairedUnits, RoundBasis, VisitUnit};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::{RoundId, RoundTotal, StackSide};
use crate::gather::subject::Quantity;
use crate::gather::timeline;
use iotax_stats::family::{self, Family};
use iotax_stats::judge::{Question, judge};
use iotax_stats::quantile::Estimate;
use iotax_stats::ratio::{self, Difference, Total};
use iotax_stats::rounds::SliceValue;
use iotax_stats::visits::{self, VisitRatio};
use iotax_stats::{BatchGate, Concludes, Ratio, RatioChange, Refusal, Uncertain, Verdict};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EstimatedRatio {
    Rounds(Ratio),
    Visits(VisitRatio, VisitUnit),
}

impl EstimatedRatio {
    pub fn estimated_figure(&self) -> MeasuredFigure {
        match self {
            EstimatedRatio::Rounds(found) => of_ratio(found, "1"),
            EstimatedRatio::Visits(found, unit) => {
                let interval = Interval::of_t(found.low, found.high, found.log.freedom);
                MeasuredFigure::known_value(
                    found.ratio,
                    "1",
                    (found.visits as u64, unit.sample_unit()),
                    interval,
                )
            }
        }
    }

    /// Returns the logarithm of the ratio with its standard error and degrees of freedom.
    pub fn log(&self) -> Uncertain {
        match self {
            EstimatedRatio::Rounds(found) => found.log(),
            EstimatedRatio::Visits(found, _) => found.log,
        }
    }

    /// Returns the interval that holds at once with those of the whole family.
    pub fn simultaneous(&self, family: Family) -> Interval {
        let (low, high) = match self {
            EstimatedRatio::Rounds(found) => family::bounds(found, family),
            EstimatedRatio::Visits(found, _) => family::visit_bounds(found, family),
        };
        Interval::from_bounds(low, high)
    }

    pub fn ratio_change(&self) -> RatioChange {
        match self {
            EstimatedRatio::Rounds(found) => {
                RatioChange::of_ratio(found.ratio, found.low, found.high)
            }
            EstimatedRatio::Visits(found, _) => {
                RatioChange::of_ratio(found.ratio, found.low, found.high)
            }
        }
    }

    /// Returns the conclusion from an estimate, or the refusal. Differences up to `zone`, a
    /// fraction, are negligible.
    pub fn conclude_estimate<C: Concludes>(
        found: &Result<EstimatedRatio, Refusal>,
        zone: f64,
    ) -> C {
        match found {
            Ok(EstimatedRatio::Rounds(found)) => C::of_rounds(&Ok(*found), zone),
            Ok(EstimatedRatio::Visits(found, _)) => C::of_visits(&Ok(*found), zone),
            Err(reason) => C::from_refusal(reason.clone()),
        }
    }
}

#[derive(Clone, Debug)]
pub struct RateComparison {
    pub estimated: Result<EstimatedRatio, Refusal>,
    /// Ratio without an interval, where too little was measured for one.
    point: Option<f64>,
    pub verdict: Verdict,
    pub checks: RatioChecks,
}

impl RateComparison {
    /// Estimates and judges the rate of stack `pair[1]` over that of stack `pair[0]`.
    pub fn estimate(
        reading: &WorkloadView,
        pair: [usize; 2],
        paired: &PairedUnits,
        basis: RoundBasis,
    ) -> RateComparison {
        match paired {
            PairedUnits::Rounds(ids) => RateComparison::by_rounds(reading, pair, ids, basis),
            PairedUnits::Visits(ids, unit) => {
                RateComparison::by_visits(reading, pair, ids, *unit, basis)
            }
        }
    }

    pub fn from_refusal(reason: Refusal) -> RateComparison {
        let verdict = Verdict::from_refusal(reason.clone());
        RateComparison {
            estimated: Err(reason),
            point: None,
            verdict,
            checks: RatioChecks::default(),
        }
    }

    fn by_rounds(
        reading: &WorkloadView,
        pair: [usize; 2],
        ids: &[RoundId],
        basis: RoundBasis,
    ) -> RateComparison {
        let rounds = match reading.timeline.rounds(pair, ids, basis) {
            Ok(rounds) => rounds,
            Err(reason) => return RateComparison::from_refusal(reason),
        };
        let judged = judge(&rounds, &question(reading, pair, timeline::slice_value(basis)));
        let checks = RatioChecks {
            level: judged.split,
            carry_over: judged.carry_over,
            length: judged.length,
        };
        let estimated = judged.ratio.map(EstimatedRatio::Rounds);
        RateComparison { estimated, point: judged.point, verdict: judged.verdict, checks }
    }

    /// Estimates the ratio from visits. The verdict is withheld if the rounds show carry-over or an
    /// effect of the slice length.
    fn by_visits(
        reading: &WorkloadView,
        pair: [usize; 2],
        ids: &[u32],
        unit: VisitUnit,
        basis: RoundBasis,
    ) -> RateComparison {
        let [a, b] = pair.map(|at| &reading.sides[at]);
        let values = visit_values(a, b, ids, basis);
        let point = values.as_ref().ok().and_then(|values| visits::point(values).ok());
        let found = values.and_then(|values| visits::of_at_least(unit.least(), &values));
        let verdict = Verdict::of_visits(&found, reading.zone());
        let estimated = found.map(|found| EstimatedRatio::Visits(found, unit));
        let common: Vec<RoundId> =
            a.rounds.keys().filter(|id| b.rounds.contains_key(id)).copied().collect();
        let within = RateComparison::by_rounds(reading, pair, &common, basis);
        let spoilt = match (&within.verdict, &estimated) {
            (Verdict::Unresolved { reason, .. }, Ok(found)) if spoils(reason) => {
                Some(Verdict::unresolved(found.ratio_change(), reason.clone()))
            }
            _ => None,
        };
        RateComparison {
            verdict: spoilt.unwrap_or(verdict),
            estimated,
            point,
            checks: within.checks,
        }
    }

    pub fn rate_ratio_figure(&self) -> MeasuredFigure {
        match &self.estimated {
            Ok(found) => found.estimated_figure(),
            Err(reason) => too_few(reason, self.point, "1"),
        }
    }
}

/// Returns the figure for a missing estimate: `point` without an interval if there were too few
/// rounds or visits for one, otherwise only the reason.
fn too_few(reason: &Refusal, point: Option<f64>, unit: &'static str) -> MeasuredFigure {
    let counted = match reason {
        Refusal::TooFewRounds { have } => Some((*have as u64, SampleUnit::Rounds)),
        Refusal::TooFewVisits { have } => Some((*have as u64, SampleUnit::Visits)),
        _ => None,
    };
    match counted.zip(point) {
        Some((counted, point)) => MeasuredFigure::bare(point, unit, counted, reason),
        None => MeasuredFigure::missing(reason),
    }
}

/// Returns true if the problem is in the slices, so that it concerns verdicts from visits, too.
fn spoils(reason: &Refusal) -> bool {
    matches!(reason, Refusal::CarryOver { .. } | Refusal::LengthMatters { .. })
}

fn question(reading: &WorkloadView, [a, b]: [usize; 2], value: SliceValue) -> Question {
    let measure = &reading.run.start.scenario.measure;
    Question { a, b, value, zone: measure.equivalence, precision: measure.precision }
}

/// Returns `(A, B)` for each round: I/Os per second or, by bytes, seconds per byte.
///
/// # Errors
/// [`Refusal`]: a side lacks a round, a flush was not recorded for the durable quantity, or a round
/// wrote nothing and is judged by bytes.
pub fn round_values(
    a: &StackSide,
    b: &StackSide,
    ids: &[RoundId],
    basis: RoundBasis,
) -> Result<Vec<(f64, f64)>, Refusal> {
    let of = |side: &StackSide, id: &RoundId| {
        side.rounds.get(id).map_or(Err(missing_round()), |round| round_value(round, basis))
    };
    ids.iter().map(|id| Ok((of(a, id)?, of(b, id)?))).collect()
}

/// Returns the rates of three sides in each round, in I/Os or, by bytes, in bytes per second.
///
/// # Errors
/// As [`round_values`].
pub fn rates(
    sides: [&StackSide; 3],
    ids: &[RoundId],
    basis: RoundBasis,
) -> Result<Vec<[f64; 3]>, Refusal> {
    let of = |side: &StackSide, id: &RoundId| {
        let value =
            side.rounds.get(id).map_or(Err(missing_round()), |round| round_value(round, basis))?;
        Ok(if basis.by_bytes { 1.0 / value } else { value })
    };
    ids.iter().map(|id| Ok([of(sides[0], id)?, of(sides[1], id)?, of(sides[2], id)?])).collect()
}

/// Returns the rates of one side in these rounds or visits, in I/Os or, by bytes, in bytes per
/// second.
///
/// # Errors
/// As [`round_values`] and [`visit_values`].
pub fn level_values(
    side: &StackSide,
    units: &PairedUnits,
    basis: RoundBasis,
) -> Result<Vec<f64>, Refusal> {
    match units {
        PairedUnits::Rounds(ids) => {
            Ok(rates([side; 3], ids, basis)?.into_iter().map(|[rate, ..]| rate).collect())
        }
        PairedUnits::Visits(ids, _) => ids.iter().map(|id| visit_rate(side, *id, basis)).collect(),
    }
}

fn missing_round() -> Refusal {
    Refusal::NotMeasured { reason: "a round is not there on both sides".into() }
}

fn round_value(round: &RoundTotal, basis: RoundBasis) -> Result<f64, Refusal> {
    let time = time(round, basis.quantity)?;
    match basis.by_bytes {
        false => Ok(round.ios / time),
        true if round.bytes > 0.0 => Ok(time / round.bytes),
        true => Err(timeline::wrote_nothing()),
    }
}

/// Returns the seconds that the work of a round took, with the flush for the durable quantity.
/// Fails if that was not recorded.
pub fn time(round: &RoundTotal, quantity: Quantity) -> Result<f64, Refusal> {
    match quantity {
        Quantity::Acknowledged => Ok(round.window_s),
        Quantity::Durable => Ok(round.window_s + round.flush_s.ok_or_else(timeline::no_flush)?),
    }
}

/// Returns the rates `(A, B)` of each visit in I/Os or, by bytes, in bytes per second, from totals
/// over the visit.
///
/// # Errors
/// [`Refusal`], if a flush was not recorded for the durable quantity.
pub fn visit_values(
    a: &StackSide,
    b: &StackSide,
    ids: &[u32],
    basis: RoundBasis,
) -> Result<Vec<(f64, f64)>, Refusal> {
    ids.iter().map(|id| Ok((visit_rate(a, *id, basis)?, visit_rate(b, *id, basis)?))).collect()
}

fn visit_rate(side: &StackSide, visit: u32, basis: RoundBasis) -> Result<f64, Refusal> {
    let of = |round: &RoundTotal| {
        let sum = if basis.by_bytes { round.bytes } else { round.ios };
        Ok(Total { sum, items: time(round, basis.quantity)? })
    };
    let all = side.visit_total(visit, of)?;
    Ok(if all.items > 0.0 { all.sum / all.items } else { 0.0 })
}

pub fn of_ratio(found: &Ratio, unit: &'static str) -> MeasuredFigure {
    MeasuredFigure::Known {
        value: found.ratio,
        unit,
        n: found.spread.n as u64,
        of: SampleUnit::Rounds,
        interval: Interval::of_t(found.low, found.high, found.spread.freedom),
        caution: caution(found.spread.gate),
    }
}

/// Returns a caution if batches correlate with those before them, so that the interval may be too
/// narrow. Negative correlation only makes it wider than needed.
fn caution(gate: BatchGate) -> Option<String> {
    let dependent = Refusal::DependentBatches { correlation: gate.correlation, bound: gate.bound };
    (gate.correlation > gate.bound).then(|| dependent.to_string())
}

/// Returns a caution if the level drifted: an absolute figure drifts with the machine, which its
/// batches show; paired ratios do not.
fn drift(gate: BatchGate) -> Option<String> {
    let text = "the level drifted during the run: absolute figures vary more than their intervals say, paired ratios do not";
    (!gate.holds()).then(|| text.to_owned())
}

/// Returns an absolute figure with its interval, with a caution if the level drifted. An interval
/// that reaches too far is left out.
pub fn of_level(found: &Ratio, unit: &'static str) -> MeasuredFigure {
    let figure = of_ratio(found, unit).cautioned(drift(found.gate()));
    if reaches_too_far(found.ratio, found.high) {
        let missing = "single rounds differ from it by more than the figure itself".to_owned();
        return figure.with_interval(Some(&Interval::Missing { missing }));
    }
    figure
}

/// Returns true if the interval reaches above twice the value, so that rounding to it would hide
/// the value.
fn reaches_too_far(value: f64, high: f64) -> bool {
    high > 2.0 * value
}

/// Returns the sum of dividends over the sum of divisors of rounds `(divisor, dividend)`: I/Os over
/// seconds, CPU time over I/Os. Below 16 rounds the figure has no interval.
pub fn of_totals(rounds: &[(f64, f64)], unit: &'static str) -> MeasuredFigure {
    match (ratio::estimate(rounds), ratio::ratio_of_totals(rounds)) {
        (Ok(found), _) => of_level(&found, unit),
        (Err(reason), Ok(value)) => {
            MeasuredFigure::bare(value, unit, (rounds.len() as u64, SampleUnit::Rounds), reason)
        }
        (_, Err(reason)) => MeasuredFigure::missing(reason),
    }
}

pub fn of_estimate(found: Result<Estimate, Refusal>, unit: &'static str) -> MeasuredFigure {
    estimated(found, unit, caution)
}

/// Returns a stack's own percentile or mean latency as a figure in ns, with a caution if the level
/// drifted.
pub fn of_latency(found: Result<Estimate, Refusal>) -> MeasuredFigure {
    estimated(found, "ns", drift)
}

fn estimated(
    found: Result<Estimate, Refusal>,
    unit: &'static str,
    caution: fn(BatchGate) -> Option<String>,
) -> MeasuredFigure {
    match found {
        Ok(found) => MeasuredFigure::Known {
            value: found.value,
            unit,
            n: found.samples,
            of: SampleUnit::Samples,
            interval: Interval::from_bounds(found.low, found.high),
            caution: caution(found.gate),
        },
        Err(reason) => MeasuredFigure::missing(reason),
    }
}

/// Reason why a load with several I/Os in flight has no added latency.
pub const ONLY_AT_ONE: &str = "only at iodepth 1";

/// Ratio and difference of two stacks in a mean per item, such as latency or CPU time per I/O.
#[derive(Clone, Debug)]
pub struct AddedPerIo {
    pub ratio: Result<EstimatedRatio, Refusal>,
    pub difference: Result<Difference, Refusal>,
    /// Ratio and difference without an interval, where too little was measured for one.
    points: [Option<f64>; 2],
    unit: SampleUnit,
}

impl AddedPerIo {
    /// Compares B with A in the paired rounds or visits. `of` returns the sum and the number of
    /// items of a round, and `None` if they were not recorded.
    pub fn between_stacks(
        a: &StackSide,
        b: &StackSide,
        paired: &PairedUnits,
        of: impl Fn(&RoundTotal) -> Option<Total>,
    ) -> AddedPerIo {
        let (ratio, difference, points, unit) = match paired {
            PairedUnits::Rounds(ids) => {
                let strata = strata(a, b, ids, of);
                let ratio = strata.clone().and_then(|strata| ratio::of_means(&strata));
                let points = strata.as_deref().map_or([None; 2], |strata| {
                    [ratio::point_of_means(strata).ok(), ratio::point_of_difference(strata).ok()]
                });
                let difference = strata.and_then(|strata| ratio::difference(&strata));
                (ratio.map(EstimatedRatio::Rounds), difference, points, SampleUnit::Rounds)
            }
            PairedUnits::Visits(ids, unit) => {
                let means = visit_means(a, b, ids, of);
                let ratio =
                    means.clone().and_then(|means| visits::of_at_least(unit.least(), &means));
                let points = means.as_deref().map_or([None; 2], |means| {
                    let differences: f64 = means.iter().map(|(a, b)| b - a).sum();
                    [visits::point(means).ok(), Some(differences / means.len().max(1) as f64)]
                });
                let difference = means.and_then(|means| visits::difference(unit.least(), &means));
                (
                    ratio.map(|ratio| EstimatedRatio::Visits(ratio, *unit)),
                    difference,
                    points,
                    unit.sample_unit(),
                )
            }
        };
        AddedPerIo { ratio, difference, points, unit }
    }

    pub fn from_refusal(reason: &Refusal) -> AddedPerIo {
        let (ratio, difference) = (Err(reason.clone()), Err(reason.clone()));
        AddedPerIo { ratio, difference, points: [None; 2], unit: SampleUnit::Rounds }
    }

    pub fn ratio_figure(&self) -> MeasuredFigure {
        match &self.ratio {
            Ok(found) => found.estimated_figure(),
            Err(reason) => too_few(reason, self.points[0], "1"),
        }
    }

    /// Returns the difference as a figure in ns.
    pub fn added(&self) -> MeasuredFigure {
        match &self.difference {
            Ok(found) => {
                let interval = Interval::from_bounds(
                    found.value - found.half_width,
                    found.value + found.half_width,
                );
                MeasuredFigure::known_value(
                    found.value,
                    "ns",
                    (found.rounds as u64, self.unit),
                    interval,
                )
            }
            Err(reason) => too_few(reason, self.points[1], "ns"),
        }
    }
}

type Strata = Vec<Vec<(Total, Total)>>;

fn not_recorded() -> Refusal {
    Refusal::NotMeasured { reason: "not recorded".into() }
}

fn strata(
    a: &StackSide,
    b: &StackSide,
    ids: &[RoundId],
    of: impl Fn(&RoundTotal) -> Option<Total>,
) -> Result<Strata, Refusal> {
    let side =
        |side: &StackSide, id: &RoundId| side.rounds.get(id).and_then(&of).ok_or_else(not_recorded);
    let stratum =
        |ids: Vec<RoundId>| ids.iter().map(|id| Ok((side(a, id)?, side(b, id)?))).collect();
    a.strata.split(ids).into_iter().map(stratum).collect()
}

fn visit_means(
    a: &StackSide,
    b: &StackSide,
    ids: &[u32],
    of: impl Fn(&RoundTotal) -> Option<Total>,
) -> Result<Vec<(f64, f64)>, Refusal> {
    let mean = |side: &StackSide, visit: u32| {
        let all = side.visit_total(visit, |round| of(round).ok_or_else(not_recorded))?;
        Ok::<f64, Refusal>(if all.items > 0.0 { all.sum / all.items } else { 0.0 })
    };
    ids.iter().map(|id| Ok((mean(a, *id)?, mean(b, *id)?))).collect()
}

/// Returns ` over 3 attaches` if attaches are the unit, else an empty string.
pub fn over_attaches(figure: &MeasuredFigure) -> String {
    match figure {
        MeasuredFigure::Known { n, of: SampleUnit::Attaches, .. } => format!(" over {n} attaches"),
        _ => String::new(),
    }
}

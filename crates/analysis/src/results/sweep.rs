//! The points of a sweep: rate, latency and power of each stack at each point, its cost there, the
//! knee, and whether the cost changes. Points are measured one after the other, so only costs are
//! paired.

use crate::compare::ratio as rate_ratio;
use crate::compare::simultaneous::SimultaneousFigure;
use crate::findings::sweep::{
    Curve, PointCost, PointDirection, StackCurve, SweepFindings, SweepValue, SweptStack,
};
use crate::findings::{
    Comparison, DirectionRow, Interval, MeasuredFigure, SampleUnit, StackRow, WorkloadFindings,
};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::{RoundTotal, StackSide};
use crate::gather::subject::mark_emulated;
use crate::results::course;
use crate::results::knee;
use iotax_model::scenario::Coordinate;
use iotax_stats::ratio::{Ratio, ratio_of_totals, residuals};
use iotax_stats::{MeanSpread, Refusal};

impl SweepValue {
    fn from_at(at: &Coordinate) -> SweepValue {
        SweepValue { value: at.value, shown: at.written_value() }
    }
}

pub fn sweeps(readings: &[WorkloadView], workloads: &[WorkloadFindings]) -> Vec<SweepFindings> {
    let mut sweeps: Vec<(&str, Vec<PlacedPoint>)> = Vec::new();
    for (reading, found) in readings.iter().zip(workloads) {
        let Some(sweep) = &reading.workload.sweep else { continue };
        let member = PlacedPoint { reading, found, at: &sweep.at };
        match sweeps.iter_mut().find(|(name, _)| *name == sweep.sweep) {
            Some((_, members)) => members.push(member),
            None => sweeps.push((&sweep.sweep, vec![member])),
        }
    }
    sweeps.into_iter().filter_map(|(name, members)| of_members(name, members)).collect()
}

#[derive(Clone, Copy)]
struct PlacedPoint<'a> {
    reading: &'a WorkloadView<'a>,
    found: &'a WorkloadFindings,
    at: &'a [Coordinate],
}

const OPEN_LOOP: &str = "A stack that keeps up achieves the offered rate whatever it costs: there the cost shows in latency only";

/// Returns the findings of one sweep. Points without a coordinate, which a hand-written record may
/// hold, are left out; `None` if no others remain.
fn of_members(name: &str, mut members: Vec<PlacedPoint>) -> Option<SweepFindings> {
    members.retain(|member| !member.at.is_empty());
    let first = *members.first()?;
    let axis = &first.at[0];
    let curve_value = |member: &PlacedPoint| member.at.get(1).map(|at| at.value);
    members.sort_by_key(|member| (curve_value(member), member.at[0].value));
    let by_bytes = axis.word == "bs";
    let all = Sweep { by_bytes, points: members.len(), axis: &axis.word };
    let curves = members.chunk_by(|a, b| curve_value(a) == curve_value(b));
    Some(SweepFindings {
        name: name.to_owned(),
        subject: first.reading.workload.sweep_subject(),
        axis: axis.word.clone(),
        unit: axis.unit(),
        curve_word: first.at.get(1).map(|at| at.word.clone()),
        throughput: if by_bytes { "B/s" } else { "1/s" },
        points: members.len(),
        note: members.iter().any(|member| member.reading.offered(0).is_some()).then_some(OPEN_LOOP),
        curves: curves.map(|members| all.curve(members)).collect(),
    })
}

struct Sweep<'a> {
    by_bytes: bool,
    points: usize,
    axis: &'a str,
}

impl Sweep<'_> {
    fn curve(&self, members: &[PlacedPoint]) -> Curve {
        let at = members[0].at.get(1);
        let stacks =
            (0..members[0].found.rows.len()).map(|stack| self.stack_curve(members, stack, at));
        Curve { stacks: stacks.collect(), at: at.map(SweepValue::from_at) }
    }

    fn stack_curve(
        &self,
        members: &[PlacedPoint],
        stack: usize,
        at: Option<&Coordinate>,
    ) -> StackCurve {
        let row = &members[0].found.rows[stack];
        let points: Vec<SweptStack> =
            members.iter().map(|member| self.point(member, stack)).collect();
        let curve =
            at.map(|at| format!(" at {} {}", at.word, at.written_value())).unwrap_or_default();
        let name = format!("{}{curve}", row.stack);
        let powers: Vec<(SweepValue, Option<SimultaneousFigure>)> = points
            .iter()
            .map(|point| {
                (point.at.clone(), SimultaneousFigure::stretch_figure(&point.power, self.points))
            })
            .collect();
        let marked = mark_emulated(&name, row.emulated.is_some());
        StackCurve {
            knee: knee::find_knee(&powers, self.axis).said_of(&marked),
            kept_up: (self.axis == "rate_iops").then(|| format!("{marked}: {}", kept_up(&points))),
            courses: course::cost_curves(&name, &comparisons(members, row), self.points),
            stack: row.stack.clone(),
            baseline: row.baseline,
            emulated: row.emulated.clone(),
            points,
        }
    }

    fn point(&self, member: &PlacedPoint, stack: usize) -> SweptStack {
        let row = &member.found.rows[stack];
        let offered = member.reading.offered(stack);
        let (side, schedules) = (&member.reading.sides[stack], member.reading.schedules(stack));
        let kept_up =
            row.iops.value().zip(offered).and_then(|(_, offered)| side.kept_up(offered, schedules));
        SweptStack {
            at: SweepValue::from_at(&member.at[0]),
            workload: member.found.name.clone(),
            iops: row.iops.clone(),
            bytes_per_s: row.bytes_per_s.clone(),
            latency: latency(member.reading, stack, row),
            power: power(member.reading, stack, self.by_bytes),
            kept_up,
            offered,
            costs: self.costs(member, &row.stack, None),
            directions: row.directions.iter().map(|one| self.direction(member, row, one)).collect(),
        }
    }

    fn direction(
        &self,
        member: &PlacedPoint,
        row: &StackRow,
        one: &DirectionRow,
    ) -> PointDirection {
        let latency = row.latency.iter().find(|latency| latency.direction == one.direction);
        PointDirection {
            direction: one.direction,
            iops: one.iops.clone(),
            bytes_per_s: one.bytes_per_s.clone(),
            latency: latency.map_or_else(
                || MeasuredFigure::missing("not recorded"),
                |latency| latency.mean.clone(),
            ),
            costs: self.costs(member, &row.stack, Some(one.direction)),
        }
    }

    /// Returns the costs of a stack at one point, for all I/Os or for one direction of a mix.
    fn costs(&self, member: &PlacedPoint, stack: &str, direction: Option<&str>) -> Vec<PointCost> {
        let cost = |one: &Comparison| {
            let rate = one.rate_of(direction)?;
            let simultaneous = SimultaneousFigure::stretch_figure(&rate.ratio, self.points);
            let is_it = |way: &str| direction.is_none_or(|direction| direction == way);
            let median = one.latency_ratios.iter().find(|(way, q, _)| is_it(way) && *q == 0.5);
            Some(PointCost {
                quantity: one.write_word(),
                verdict: rate.verdict.clone(),
                masked: one.masked.clone(),
                ratio: rate.at_once(),
                simultaneous: simultaneous.map(|sure| Interval::from_bounds(sure.low, sure.high)),
                median_latency: median.map(|(_, _, ratio)| ratio.clone()),
            })
        };
        of_stack(member, stack).filter_map(cost).collect()
    }
}

fn of_stack<'a>(
    member: &PlacedPoint<'a>,
    stack: &str,
) -> impl Iterator<Item = &'a Comparison> + use<'a> {
    let stack = stack.to_owned();
    member.found.comparisons.iter().filter(move |one| one.stack == stack)
}

/// Returns the comparisons by quantity, and then by point.
fn comparisons<'a>(
    members: &[PlacedPoint<'a>],
    row: &StackRow,
) -> Vec<(&'static str, Vec<(SweepValue, &'a Comparison)>)> {
    let mut all: Vec<(&'static str, Vec<(SweepValue, &Comparison)>)> = Vec::new();
    for member in members {
        for one in of_stack(member, &row.stack) {
            let entry = (SweepValue::from_at(&member.at[0]), one);
            match all.iter_mut().find(|(known, _)| *known == one.write_word()) {
                Some((_, points)) => points.push(entry),
                None => all.push((one.write_word(), vec![entry])),
            }
        }
    }
    all
}

/// Returns the sentence: `kept up to 8000 (16000: 71 % of the offered rate)`. Points are in the
/// order of their rate.
fn kept_up(points: &[SweptStack]) -> String {
    let missed = points.iter().position(|point| point.kept_up != Some(true));
    let Some(missed) = missed else {
        return match points.last() {
            Some(last) => format!("kept up with every rate, to rate_iops {}", last.at.shown),
            None => "no rate was offered".to_owned(),
        };
    };
    let to = match missed {
        0 => "kept up with no rate".to_owned(),
        at => format!("kept up to rate_iops {}", points[at - 1].at.shown),
    };
    let point = &points[missed];
    let share = point.iops.value().zip(point.offered).map(|(iops, offered)| 100.0 * iops / offered);
    match share {
        Some(share) => format!("{to} ({}: {share:.0} % of the offered rate)", point.at.shown),
        None => format!("{to} ({}: no figure)", point.at.shown),
    }
}

/// Returns the mean latency of all I/Os: that of the row if there is one direction.
fn latency(reading: &WorkloadView, stack: usize, row: &StackRow) -> MeasuredFigure {
    let side = &reading.sides[stack];
    match row.latency.as_slice() {
        [one] => one.mean.clone(),
        [] => reading.absence(stack),
        _ => rate_ratio::of_totals(&waits(side), "ns"),
    }
}

/// Returns `(I/Os, sum of their latencies in ns)` of each round.
fn waits(side: &StackSide) -> Vec<(f64, f64)> {
    side.rounds.values().map(|round| (round.latency.items, round.latency.sum)).collect()
}

/// Returns throughput over mean latency (Kleinrock), per millisecond of latency. Both are from the
/// same rounds, so the residuals of one are subtracted from those of the other before the spread is
/// computed. In a closed loop they move together, and the intervals of each alone would not say how
/// sure the quotient is.
fn power(reading: &WorkloadView, stack: usize, by_bytes: bool) -> MeasuredFigure {
    let side = &reading.sides[stack];
    if side.rounds.is_empty() {
        return reading.absence(stack);
    }
    let amount = |round: &RoundTotal| if by_bytes { round.bytes } else { round.ios };
    let rates: Vec<(f64, f64)> =
        side.rounds.values().map(|round| (round.window_s, amount(round))).collect();
    let unit = if by_bytes { "B/s/ms" } else { "1/s/ms" };
    quotient(&rates, &waits(side), unit).unwrap_or_else(MeasuredFigure::missing)
}

fn quotient(
    rates: &[(f64, f64)],
    waits: &[(f64, f64)],
    unit: &'static str,
) -> Result<MeasuredFigure, Refusal> {
    let silent = |_| Refusal::NotMeasured { reason: "no latency was recorded".into() };
    let (rate, wait) = (ratio_of_totals(rates)?, ratio_of_totals(waits).map_err(silent)?);
    let left = residuals(rates, rate)
        .into_iter()
        .zip(residuals(waits, wait))
        .map(|(rate, wait)| rate - wait);
    let spread = MeanSpread::from_residuals(&left.collect::<Vec<_>>());
    let ratio = rate / (wait / 1e6);
    match spread {
        Ok(spread) => {
            let factor = spread.half_width().exp();
            Ok(rate_ratio::of_level(
                &Ratio { ratio, low: ratio / factor, high: ratio * factor, spread },
                unit,
            ))
        }
        Err(few) => {
            let interval = Interval::Missing { missing: few.to_string() };
            let n = rates.len() as u64;
            Ok(MeasuredFigure::known_value(ratio, unit, (n, SampleUnit::Rounds), interval))
        }
    }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;

//! A stack taken apart: each prefix against the one below it, the total, and what the lines leave
//! unexplained. Lines multiply. A prefix that is missing makes its line missing, never one or zero.

use super::compare::{self, Basis, Found, Paired};
use super::findings::{Bill, BillLine, Figure, Interval};
use super::gather::{RoundId, Side};
use super::reading::Reading;
use crate::stats::ratio::{self, Total};
use crate::stats::spread::Spread;
use crate::stats::visits;

/// The bill of one workload.
pub fn bill(reading: &Reading) -> Bill {
    let usable = usable_prefixes(reading);
    let common = common_rounds(reading, &usable);
    let last = reading.sides.len() - 1;
    let measured: Vec<Line> = (1..=last).map(|at| line(reading, &usable, &common, at - 1, at)).collect();
    let total = line(reading, &usable, &common, 0, last);
    let unexplained = unexplained(reading, &total, &measured);
    let lines = measured.into_iter().map(|line| line.shown).collect();
    Bill { lines, total: BillLine { layer: "total".into(), ..total.shown }, unexplained }
}

/// A line with what its interval rests on.
struct Line {
    shown: BillLine,
    residuals: Option<Vec<f64>>,
}

/// A prefix that stopped early would cost all others their rounds; below half it counts as missing.
fn usable_prefixes(reading: &Reading) -> Vec<bool> {
    let most = reading.sides.iter().map(|side| side.rounds.len()).max().unwrap_or(0);
    reading.sides.iter().map(|side| !side.rounds.is_empty() && side.rounds.len() * 2 >= most).collect()
}

/// Rounds in which every usable prefix was measured; none where visits are the unit.
fn common_rounds(reading: &Reading, usable: &[bool]) -> Vec<RoundId> {
    let sides: Vec<&Side> =
        reading.sides.iter().zip(usable).filter(|(_, usable)| **usable).map(|(side, _)| side).collect();
    let Some((first, others)) = sides.split_first() else {
        return Vec::new();
    };
    let shared = |id: &&RoundId| others.iter().all(|side| side.rounds.contains_key(*id));
    let common: Vec<RoundId> = first.rounds.keys().filter(shared).copied().collect();
    let mut visits: Vec<u32> = common.iter().map(|id| id.0).collect();
    visits.dedup();
    if visits.len() >= visits::LEAST { Vec::new() } else { common }
}

fn line(reading: &Reading, usable: &[bool], common: &[RoundId], from: usize, to: usize) -> Line {
    let stacks = &reading.run.start.scenario.stacks;
    let absent = |figure: Figure| Line {
        shown: BillLine {
            layer: stacks[to].name.clone(),
            on: stacks[from].name.clone(),
            ratio: figure.clone(),
            added_latency: figure.clone(),
            added_cpu: figure,
            emulated: None,
        },
        residuals: None,
    };
    match (usable[to], usable[from]) {
        (false, _) => return absent(reading.absence(to)),
        (_, false) => {
            return absent(Figure::missing(format!("{} below it was not measured", stacks[from].name)));
        }
        _ => {}
    }
    let (a, b) = (&reading.sides[from], &reading.sides[to]);
    let paired = if common.is_empty() { compare::pair(a, b) } else { Paired::Rounds(common.to_vec()) };
    let mut line = absent(Found::of(a, b, &paired, reading.basis()).figure());
    line.residuals = residuals(a, b, &paired, reading.basis());
    line.shown.added_latency = added_latency(reading, a, b, &paired);
    line.shown.added_cpu = compare::added(a, b, &paired, |round| {
        round.cpu_place_ns.map(|sum| Total { sum, items: round.all_ios })
    });
    line.shown.emulated = reading.emulated_pair(from, to);
    line
}

fn added_latency(reading: &Reading, a: &Side, b: &Side, paired: &Paired) -> Figure {
    if reading.workload.jobs.iter().any(|job| job.iodepth > 1) {
        return Figure::missing("only at iodepth 1");
    }
    compare::added(a, b, paired, |round| Some(round.latency).filter(|latency| latency.items > 0.0))
}

fn residuals(a: &Side, b: &Side, paired: &Paired, basis: Basis) -> Option<Vec<f64>> {
    let Paired::Rounds(ids) = paired else {
        return None;
    };
    let values = compare::round_values(a, b, ids, basis).ok()?;
    let ratio = ratio::ratio_of_totals(&values).ok()?;
    Some(ratio::residuals(&values, ratio))
}

/// Total over the product of the lines. Paired in the same rounds, the product telescopes and nothing is left
/// but what a missing line took; else the intervals add as if independent.
fn unexplained(reading: &Reading, total: &Line, lines: &[Line]) -> BillLine {
    let missing: Vec<&str> = lines
        .iter()
        .filter(|line| line.shown.ratio.value().is_none())
        .map(|line| line.shown.layer.as_str())
        .collect();
    let layer = match missing.as_slice() {
        [] => "unexplained".to_owned(),
        names => format!("unexplained (with {})", names.join(", ")),
    };
    let known: Vec<&Line> = lines.iter().filter(|line| line.shown.ratio.value().is_some()).collect();
    BillLine {
        layer,
        on: total.shown.on.clone(),
        ratio: left_over(total, &known),
        added_latency: Figure::missing("see the ratio"),
        added_cpu: Figure::missing("see the ratio"),
        emulated: reading.emulated_pair(0, reading.sides.len() - 1),
    }
}

fn left_over(total: &Line, lines: &[&Line]) -> Figure {
    let Figure::Known { value, n, of, .. } = &total.shown.ratio else {
        return total.shown.ratio.clone();
    };
    let product: f64 = lines.iter().filter_map(|line| line.shown.ratio.value()).product();
    let Some(half_width) = joint_half_width(total, lines).or_else(|| independent_half_width(total, lines))
    else {
        return Figure::missing("a line has no interval");
    };
    let ratio = value / product;
    let interval = Interval::Bounds { low: ratio * (-half_width).exp(), high: ratio * half_width.exp() };
    Figure::Known { value: ratio, unit: "1", n: *n, of, interval, caution: None }
}

fn joint_half_width(total: &Line, lines: &[&Line]) -> Option<f64> {
    let mut left = total.residuals.clone()?;
    for line in lines {
        let taken = line.residuals.as_ref().filter(|taken| taken.len() == left.len())?;
        left.iter_mut().zip(taken).for_each(|(left, taken)| *left -= taken);
    }
    Spread::of(&left).ok().map(|spread| spread.half_width())
}

fn independent_half_width(total: &Line, lines: &[&Line]) -> Option<f64> {
    let squares: Option<f64> = std::iter::once(total)
        .chain(lines.iter().copied())
        .map(|line| {
            let (low, high) = line.shown.ratio.bounds()?;
            Some(((high / low).ln() / 2.0).powi(2))
        })
        .sum();
    squares.map(f64::sqrt)
}

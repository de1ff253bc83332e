//! Change of a cost over a sweep, judged by intervals that hold for all its points at once, since
//! the largest of many costs is large by chance alone. Points with an unreliable interval are left
//! out.

use crate::compare::simultaneous::SimultaneousFigure;
use crate::findings::sweep::{CostCurve, CostTrend, CurveEnd, SweepValue};
use crate::findings::{Comparison, Interval};
use crate::gather::subject::comparison_subject;
use iotax_stats::Digits;
use iotax_stats::{Refusal, Verdict};

pub fn cost_curves(
    name: &str,
    points: &[(&'static str, Vec<(SweepValue, &Comparison)>)],
    at_once: usize,
) -> Vec<CostCurve> {
    points.iter().map(|(quantity, points)| cost_curve(name, quantity, points, at_once)).collect()
}

fn cost_curve(
    name: &str,
    quantity: &'static str,
    points: &[(SweepValue, &Comparison)],
    at_once: usize,
) -> CostCurve {
    let usable: Vec<(&SweepValue, SimultaneousFigure)> =
        points.iter().filter_map(|(at, one)| Some((at, usable(one, at_once)?))).collect();
    let change = cost_trend(&usable);
    let against = points.first().map_or("", |(_, one)| one.against.as_str());
    let which = if quantity.is_empty() { String::new() } else { format!(" ({quantity})") };
    let emulated = points.iter().any(|(_, one)| one.emulated.is_some());
    let who = comparison_subject(name, against, emulated);
    let words = trend_words(&change, at_once);
    let left_out = left_out(points, &usable);
    let sentence = format!("{who}{which}: {words}{left_out}");
    CostCurve { quantity, at_once, change, sentence }
}

/// Returns the ratio with an interval that holds for `at_once` points; `None` if it is unreliable.
/// Problems such as batches that depend on each other make it so; a wide interval, or one of many,
/// does not.
fn usable(one: &Comparison, at_once: usize) -> Option<SimultaneousFigure> {
    let sound = match &one.rate.verdict {
        Verdict::Unresolved { reason, .. } => {
            matches!(reason, Refusal::TooWide { .. } | Refusal::AmongMany { .. })
        }
        _ => true,
    };
    if sound { SimultaneousFigure::stretch_figure(&one.rate.ratio, at_once) } else { None }
}

fn cost_trend(points: &[(&SweepValue, SimultaneousFigure)]) -> CostTrend {
    let by = |key: fn(&SimultaneousFigure) -> f64| {
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|a, b| key(&points[*a].1).total_cmp(&key(&points[*b].1)));
        (order[0], order[order.len() - 1])
    };
    if points.len() < 2 {
        return CostTrend::Unknown { reason: "fewer than two points have an interval".into() };
    }
    // The least ratio is the largest cost. If those two overlap, another pair may still exclude
    // each other.
    let extremes = by(|sure| sure.value);
    let pair = (by(|sure| sure.high).0, by(|sure| sure.low).1);
    for (at, is_extreme) in [(extremes, true), (pair, false)] {
        if points[at.0].1.is_apart_from(&points[at.1].1) {
            return CostTrend::Changes {
                more: curve_end(points[at.0]),
                less: curve_end(points[at.1]),
                extremes: is_extreme,
            };
        }
    }
    let (low, high) = (points[pair.1].1.low, points[pair.0].1.high);
    CostTrend::Same { ratio: Interval::from_bounds(low, high) }
}

fn curve_end((at, sure): (&SweepValue, SimultaneousFigure)) -> CurveEnd {
    let interval = Interval::from_bounds(sure.low, sure.high);
    CurveEnd { at: at.clone(), ratio: sure.value, interval }
}

fn trend_words(change: &CostTrend, at_once: usize) -> String {
    match change {
        CostTrend::Changes { more, less, extremes } => {
            let (more, less) = (end_words(more), end_words(less));
            let which = match extremes {
                true => format!("largest at {more}, smallest at {less}"),
                false => format!("more at {more} than at {less}"),
            };
            format!("the cost changes: {which}; intervals hold for all {at_once} points at once")
        }
        CostTrend::Same { ratio: Interval::Bounds { low, high, .. } } => {
            let fits = cost((low + high) / 2.0, *low, *high);
            format!(
                "the cost is the same at all points as far as the intervals show ({fits} fits them all)"
            )
        }
        CostTrend::Same { ratio: Interval::Missing { missing: reason } }
        | CostTrend::Unknown { reason } => {
            format!("whether the cost changes cannot be determined: {reason}")
        }
    }
}

/// Returns the words `64 (12.0 % +- 2.1 %)`; a gain is below zero.
fn end_words(end: &CurveEnd) -> String {
    let cost = match end.interval {
        Interval::Bounds { low, high, .. } => cost(end.ratio, low, high),
        Interval::Missing { .. } => "no interval".to_owned(),
    };
    format!("{} ({cost})", end.at.shown)
}

fn cost(ratio: f64, low: f64, high: f64) -> String {
    Digits::size(1.0 - ratio, (1.0 - high, 1.0 - low), true).to_words()
}

fn left_out(
    points: &[(SweepValue, &Comparison)],
    usable: &[(&SweepValue, SimultaneousFigure)],
) -> String {
    let known = |at: &SweepValue| usable.iter().any(|(known, _)| *known == at);
    let missing: Vec<&str> =
        points.iter().filter(|(at, _)| !known(at)).map(|(at, _)| at.shown.as_str()).collect();
    match missing.as_slice() {
        [] => String::new(),
        names => format!("; not counted, without a sure interval: {}", names.join(", ")),
    }
}

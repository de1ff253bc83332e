//! A sweep in a line for each stack: the course of its rate, its cost at both ends, and its knee.

use crate::look::TerminalLook;
use crate::number::change_in_percent;
use crate::sweep;
use crate::table::TextTable;
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::sweep::{KneePosition, StackCurve, SweepFindings, SweptStack};

pub(super) fn sweep_lines(one: &SweepFindings, look: TerminalLook) -> TextTable {
    let lines: Vec<_> = one
        .curves
        .iter()
        .flat_map(|curve| curve.stacks.iter().map(move |stack| (curve, stack)))
        .collect();
    let mut table = TextTable::named_table("sweep");
    let axis = match one.curves.first().and_then(|curve| curve.stacks.first()) {
        Some(StackCurve { points, .. }) if points.len() > 1 => {
            let ends = [&points[0].at.shown, &points[points.len() - 1].at.shown];
            format!("{} {} to {}", one.axis, ends[0], ends[1])
        }
        _ => one.axis.clone(),
    };
    let names = lines.iter().map(|(curve, stack)| sweep::curve_stack_name(one, curve, stack));
    table.push(&axis, 0, names.collect());
    let course = |stack: &StackCurve| {
        look.sparkline(stack.points.iter().filter_map(|point| rate_of(one, point).value()))
    };
    table.push("rate", 1, lines.iter().map(|(_, stack)| course(stack)).collect());
    let cost = |point: Option<&SweptStack>| {
        let figure = point.and_then(|point| Some(&point.costs.first()?.ratio));
        figure.map_or_else(String::new, |ratio| change_in_percent(ratio).cell())
    };
    let at = |pick: fn(&[SweptStack]) -> Option<&SweptStack>| {
        lines.iter().map(|(_, stack)| cost(pick(&stack.points))).collect::<Vec<_>>()
    };
    table.push_known("at the first", 0, at(|points| points.first()));
    table.push_known("at the last", 0, at(|points| points.last()));
    table.push("knee", 0, lines.iter().map(|(_, stack)| knee_cell(stack)).collect());
    table
}

fn rate_of<'a>(one: &SweepFindings, point: &'a SweptStack) -> &'a MeasuredFigure {
    if one.throughput == "B/s" { &point.bytes_per_s } else { &point.iops }
}

fn knee_cell(stack: &StackCurve) -> String {
    match &stack.knee.place {
        KneePosition::Inside { at, .. } => at.shown.clone(),
        KneePosition::Edge { at, .. } => format!("{} or beyond", at.shown),
        KneePosition::None { .. } => "-".to_owned(),
    }
}

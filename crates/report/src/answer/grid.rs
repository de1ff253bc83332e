//! All stacks under all loads in one table: with intervals where they have room, else the mark of
//! the verdict and the change alone. No cell is left out.

use super::OneTable;
use crate::look::TerminalLook;
use crate::matrix::MatrixLoad;
use crate::number::{Shown, change_in_percent};
use crate::table::TextTable;
use crate::verdicts::class_of;
use crate::{probes, sheet};
use iotax_analysis::findings::{Comparison, MeasuredFigure, StackRow, WorkloadFindings};
use iotax_stats::Verdict;

/// How much a cell says.
#[derive(Clone, Copy, PartialEq)]
enum CellDetail {
    Interval,
    Mark,
    /// As `Mark`, in two digits and without the unit.
    Short,
}

/// Returns the table of all stacks under all loads. The rows are loads or stacks, whichever are
/// more; those with the largest differences have room first. The reads and writes of a mix follow
/// the mix.
pub(super) fn grid(workloads: &[&WorkloadFindings], width: usize, look: TerminalLook) -> OneTable {
    let of_detail = |detail| grid_with(workloads, detail, look);
    let [full, marks] = [CellDetail::Interval, CellDetail::Mark].map(of_detail);
    let first = [full, marks].into_iter().find(|one| look.table(&one.table).fits(width));
    first.unwrap_or_else(|| {
        let short = of_detail(CellDetail::Short);
        let in_parts = !look.table(&short.table).fits(width);
        OneTable { in_parts, title: vec!["changes in %".to_owned()], ..short }
    })
}

fn grid_with(workloads: &[&WorkloadFindings], detail: CellDetail, look: TerminalLook) -> OneTable {
    let rows = workloads.first().map(|one| one.rows.as_slice()).unwrap_or_default();
    let parts: Vec<MatrixLoad> =
        workloads.iter().flat_map(|one| MatrixLoad::all_of_workload(one)).collect();
    let by_load = workloads.len() >= rows.len();
    let cell = |load: &MatrixLoad, stack: usize| {
        let Some(row) = load.workload.rows.get(stack) else { return "-".to_owned() };
        cell_text(load, row, detail, look) + &probes::loss(row)
    };
    let stack_weight =
        |row: &StackRow| workloads.iter().map(|one| weight(one, &row.stack)).fold(0.0, f64::max);
    let load_weight = |load: &MatrixLoad| {
        let size = load.workload.all_comparisons().map(difference_size).fold(0.0, f64::max);
        if load.way.is_some() { after_wholes(size) } else { size }
    };
    let mut table = TextTable::default();
    let stacks: Vec<String> = rows.iter().map(sheet::name_with_marks).collect();
    if by_load {
        table.push("load", 0, parts.iter().map(MatrixLoad::row_name).collect());
        for (at, name) in stacks.iter().enumerate() {
            table.push(name, 0, parts.iter().map(|load| cell(load, at)).collect());
        }
        let weights = parts.iter().map(load_weight).collect();
        let rows = if parts.len() > workloads.len() { ["row", "rows"] } else { ["load", "loads"] };
        OneTable { weights, rows, ..OneTable::of_table(table) }
    } else {
        table.push("stack", 0, stacks);
        for load in &parts {
            let cells = (0..rows.len()).map(|at| cell(load, at)).collect();
            table.push(&load.name_with_unit(), 0, cells);
        }
        let weights = rows.iter().map(stack_weight).collect();
        OneTable { weights, rows: ["stack", "stacks"], ..OneTable::of_table(table) }
    }
}

/// Returns a rate for the baseline, and a change for every other stack. If the baseline has no
/// figure, the figures of the others are shown as they are.
fn cell_text(load: &MatrixLoad, row: &StackRow, detail: CellDetail, look: TerminalLook) -> String {
    let MatrixLoad { workload, way } = *load;
    if row.baseline || !has_baseline(workload) {
        let rate = match way {
            None => Some(sheet::quoted_rate(workload, row)),
            Some(way) => {
                let one = row.directions.iter().find(|one| one.direction == way);
                one.map(|one| sheet::rate_of(workload, one))
            }
        };
        return rate.map_or_else(|| "-".to_owned(), rate_cell);
    }
    let one = workload.comparisons.iter().find(|one| one.stack == row.stack);
    one.map_or_else(String::new, |one| change_cell(one, way, detail, look))
}

/// Returns a rate without its interval, which the changes have.
pub(super) fn rate_cell(figure: &MeasuredFigure) -> String {
    let shown = Shown::from_figure(figure);
    match shown.digits() {
        Some(digits) if digits.unit.is_empty() => digits.value.clone(),
        Some(digits) => format!("{} {}", digits.value, digits.unit),
        None => shown.cell(),
    }
}

fn change_cell(
    one: &Comparison,
    way: Option<&str>,
    detail: CellDetail,
    look: TerminalLook,
) -> String {
    let Some(rate) = one.rate_of(way) else { return String::new() };
    let shown = change_in_percent(&rate.at_once());
    let masked = if one.masked.is_some() && way.is_none() { " (masked)" } else { "" };
    let mark = look.mark(class_of(&rate.verdict));
    let text = match (detail, shown.digits()) {
        (CellDetail::Mark, Some(digits)) => format!("{} %", digits.value),
        (CellDetail::Short, Some(_)) => short_percent(rate.ratio.value().unwrap_or(1.0) - 1.0),
        _ => shown.cell(),
    };
    if shown.digits().is_some() { format!("{mark} {text}{masked}") } else { text }
}

/// Returns a change in percent with two digits: `-3.9`, `-51`, `+120`.
fn short_percent(change: f64) -> String {
    let percent = 100.0 * change;
    if percent.abs() < 9.95 { format!("{percent:+.1}") } else { format!("{percent:+.0}") }
}

pub(super) fn has_baseline(workload: &WorkloadFindings) -> bool {
    workload.rows.iter().any(|row| row.baseline && row.rounds > 0)
}

/// Returns the size of a stack's difference from the baseline. It is infinite for the baseline,
/// which is always shown.
pub(super) fn weight(workload: &WorkloadFindings, stack: &str) -> f64 {
    workload
        .comparisons
        .iter()
        .find(|one| one.stack == stack)
        .map_or(f64::INFINITY, difference_size)
}

/// Returns the size of a resolved difference; 0 if nothing is resolved.
fn difference_size(one: &Comparison) -> f64 {
    let differs = matches!(one.rate.verdict, Verdict::Costs { .. } | Verdict::Gains { .. });
    if differs { one.rate.phrase.size() } else { 0.0 }
}

/// Lowers a weight so that rows of directions have room after all whole rows, the largest
/// difference first.
pub(super) fn after_wholes(weight: f64) -> f64 {
    -1.0 / (1.0 + weight)
}

//! Stacks by workloads, as people publish them: a row with the figures of each stack, and below it a row with their share of
//! the baseline's.

use super::number::{Shown, share};
use super::sheet;
use super::table::Table;
use iotax_analysis::Findings;
use iotax_analysis::findings::{Row, WorkloadFindings};

/// The table; `None` of a single workload or stack, whose own section says it all, and of a bill, which is such a table.
/// Points of sweeps stand in theirs; a table that the scenario asks for takes its place.
pub(super) fn table(findings: &Findings) -> Option<Table> {
    if !findings.tables.is_empty() {
        return None;
    }
    let workloads: Vec<&WorkloadFindings> =
        findings.workloads.iter().filter(|workload| workload.sweep.is_none()).collect();
    let is_apart = |first: &&&WorkloadFindings| first.rows.len() > 1 && first.bill.is_none();
    let first = workloads.first().filter(|_| workloads.len() > 1).filter(is_apart)?;
    let lines: Vec<Line> = first.rows.iter().enumerate().flat_map(|(at, row)| Line::of(at, row)).collect();
    let mut table = Table::default();
    table.push("stack", 0, lines.iter().map(|line| line.name.clone()).collect());
    for workload in workloads {
        let cells = lines.iter().map(|line| line.cell(workload, None)).collect();
        table.push(&workload.name, 0, cells);
        // Reads and writes of a mix apart.
        let ways = workload.rows.iter().find(|row| !row.directions.is_empty());
        for way in ways.iter().flat_map(|row| &row.directions).map(|one| one.direction) {
            let cells = lines.iter().map(|line| line.cell(workload, Some(way))).collect();
            table.push(&format!("{} {way}s", workload.name), 1, cells);
        }
    }
    Some(table)
}

/// A line of the table.
struct Line {
    name: String,
    stack: usize,
    is_share: bool,
}

impl Line {
    fn of(stack: usize, row: &Row) -> Vec<Line> {
        let value = Line { name: sheet::marked(row), stack, is_share: false };
        let share = Line { name: "  of the baseline".to_owned(), stack, is_share: true };
        if row.baseline { vec![value] } else { vec![value, share] }
    }

    fn cell(&self, workload: &WorkloadFindings, way: Option<&str>) -> String {
        let Some(row) = workload.rows.get(self.stack) else { return "-".to_owned() };
        let none = || "-".to_owned();
        if !self.is_share {
            let Some(way) = way else { return Shown::of(sheet::rate(workload, row)).cell() };
            let direction = row.directions.iter().find(|one| one.direction == way);
            return direction.map_or_else(none, |one| Shown::of(sheet::rate_of(workload, one)).cell());
        }
        let Some(one) = workload.comparisons.iter().find(|one| one.stack == row.stack) else { return none() };
        one.rate_of(way).map_or_else(none, |it| share(&it.ratio).judged(it.verdict.is_resolved()))
    }
}

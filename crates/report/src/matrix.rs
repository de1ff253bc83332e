//! Stacks by workloads, as they are usually published: a row with the figures of each stack, and
//! below it a row with their share of the baseline's. For many loads, one row per load.

use super::number::{Shown, share_of_baseline};
use super::probes;
use super::sheet;
use super::table::TextTable;
use iotax_analysis::Findings;
use iotax_analysis::findings::{Place, StackRow, WorkloadFindings};
use iotax_units::distinct;

/// Returns the table of loads by stacks, or of the network between places. Returns `None` for a
/// single workload or stack, whose section has all figures, for a bill, which is such a table, and
/// if the scenario asks for a table of its own. Points of sweeps are in other tables.
pub(super) fn side_by_side_table(findings: &Findings) -> Option<TextTable> {
    if !findings.tables.is_empty() {
        return None;
    }
    if let Some((table, _)) = network(findings) {
        return Some(table);
    }
    let workloads: Vec<&WorkloadFindings> =
        findings.workloads.iter().filter(|workload| workload.sweep.is_none()).collect();
    let is_apart = |first: &&&WorkloadFindings| first.rows.len() > 1 && first.bill.is_none();
    let first = workloads.first().filter(|_| workloads.len() > 1).filter(is_apart)?;
    let lines: Vec<MatrixLine> = first
        .rows
        .iter()
        .enumerate()
        .flat_map(|(at, row)| MatrixLine::all_of_row(at, row))
        .collect();
    let loads: Vec<MatrixLoad> =
        workloads.iter().copied().flat_map(MatrixLoad::all_of_workload).collect();
    let mut table = TextTable::default();
    if loads.len() > MOST_COLUMNS && loads.len() > lines.len() {
        table.push("load", 0, loads.iter().map(MatrixLoad::row_name).collect());
        let baseline =
            first.rows.iter().find(|row| row.baseline).map_or("", |row| row.stack.as_str());
        for line in &lines {
            let head = match line.is_share {
                true => format!("{} / {baseline}", first.rows[line.stack].stack),
                false => line.name.clone(),
            };
            table.push(&head, 0, loads.iter().map(|load| line.cell(load)).collect());
        }
        return Some(table);
    }
    table.push("stack", 0, lines.iter().map(|line| line.name.clone()).collect());
    for load in &loads {
        let rank = u8::from(load.way.is_some());
        table.push(
            &load.name_with_unit(),
            rank,
            lines.iter().map(|line| line.cell(load)).collect(),
        );
    }
    Some(table)
}

/// Largest number of loads that are columns. More are rows instead, if there are more loads than
/// stacks.
const MOST_COLUMNS: usize = 7;

/// A workload, or the reads or writes of a mix.
pub(super) struct MatrixLoad<'a> {
    pub(super) workload: &'a WorkloadFindings,
    pub(super) way: Option<&'static str>,
}

impl<'a> MatrixLoad<'a> {
    /// Returns the whole load, then the reads and the writes of a mix.
    pub(super) fn all_of_workload(workload: &'a WorkloadFindings) -> Vec<MatrixLoad<'a>> {
        let ways = workload.rows.iter().find(|row| !row.directions.is_empty());
        let ways = ways.iter().flat_map(|row| &row.directions).map(|one| Some(one.direction));
        std::iter::once(None).chain(ways).map(|way| MatrixLoad { workload, way }).collect()
    }

    /// Returns the load's name, with what a probe counts if its rate has no other unit than 1/s.
    pub(super) fn name_with_unit(&self) -> String {
        let MatrixLoad { workload, way } = self;
        let counted = workload.probe.as_ref().filter(|_| workload.rate_unit == "1/s");
        match (way, counted) {
            (Some(way), _) => format!("{}, {way}s", workload.name),
            (None, Some(probe)) => format!("{}, {}", workload.name, probe.head),
            (None, None) => workload.name.clone(),
        }
    }

    /// Returns the name of the load's row; that of a direction is indented below the whole load.
    pub(super) fn row_name(&self) -> String {
        self.way.map_or_else(|| self.name_with_unit(), direction_row_name)
    }
}

pub(super) fn direction_row_name(direction: &str) -> String {
    format!("  {direction}s")
}

/// Returns the table of the networks between places: for every probe a row for each place that it
/// runs in, and a column for each place that answers. The second part holds, by column and row,
/// each figure as a share of its probe's best, from 0 to 1. Returns `None` for a single pair of
/// places, or if not all rows are of pairs.
pub(super) fn network(findings: &Findings) -> Option<(TextTable, Vec<Vec<Option<f64>>>)> {
    let first = findings.workloads.first()?;
    let ends: Vec<&[Place; 2]> = first.rows.iter().filter_map(|row| row.ends.as_ref()).collect();
    // A cell holds one stack.
    if ends.len() < 2 || distinct(ends.iter()).len() < first.rows.len() {
        return None;
    }
    let is_received =
        |workload: &WorkloadFindings| workload.probe.as_ref().is_some_and(|probe| probe.receives);
    let of = |end: fn(&[Place; 2]) -> &Place| -> Vec<&Place> {
        match findings.workloads.iter().any(is_received) {
            // Their data go the other way.
            true => distinct(ends.iter().flat_map(|ends| *ends)),
            false => distinct(ends.iter().map(|ends| end(ends))),
        }
    };
    let (from, to) = (of(|[from, _]| from), of(|[_, to]| to));
    let lines = || {
        findings
            .workloads
            .iter()
            .flat_map(|workload| from.iter().map(move |from| (workload, *from)))
    };
    let mut table = TextTable::default();
    table.push(
        "from",
        0,
        lines().map(|(workload, from)| format!("{} from {from}", workload.name)).collect(),
    );
    let mut heat = Vec::new();
    for to in &to {
        let rows: Vec<(&WorkloadFindings, Option<&StackRow>)> = lines()
            .map(|(workload, from)| {
                (
                    workload,
                    row_between(
                        workload,
                        if is_received(workload) { [to, from] } else { [from, to] },
                    ),
                )
            })
            .collect();
        let cell = |(workload, row): &(&WorkloadFindings, Option<&StackRow>)| {
            let mark = |row: &StackRow| if row.emulated.is_some() { " ~" } else { "" };
            row.map_or("-".to_owned(), |row| cell_of(workload, row) + mark(row))
        };
        table.push(&format!("to {to}"), 0, rows.iter().map(cell).collect());
        let share = |(workload, row): &(&WorkloadFindings, Option<&StackRow>)| {
            let values =
                workload.rows.iter().filter_map(|row| sheet::quoted_rate(workload, row).value());
            // The shortest time is the best.
            let good = |value: f64| if workload.rate_unit == "ns" { 1.0 / value } else { value };
            let best = values.map(good).fold(0.0, f64::max);
            sheet::quoted_rate(workload, (*row)?)
                .value()
                .map(|value| good(value) / best.max(f64::MIN_POSITIVE))
        };
        heat.push(rows.iter().map(share).collect());
    }
    Some((table, heat))
}

fn row_between<'a>(workload: &'a WorkloadFindings, ends: [&Place; 2]) -> Option<&'a StackRow> {
    workload.rows.iter().find(|row| row.ends.as_ref().is_some_and(|[from, to]| [from, to] == ends))
}

/// Returns the rate of a row, with the share that was lost on the network if it matters.
fn cell_of(workload: &WorkloadFindings, row: &StackRow) -> String {
    Shown::from_figure(sheet::quoted_rate(workload, row)).cell() + &probes::loss(row)
}

struct MatrixLine {
    name: String,
    stack: usize,
    is_share: bool,
}

impl MatrixLine {
    fn all_of_row(stack: usize, row: &StackRow) -> Vec<MatrixLine> {
        let value = MatrixLine { name: sheet::name_with_marks(row), stack, is_share: false };
        let share = MatrixLine { name: "  of the baseline".to_owned(), stack, is_share: true };
        if row.baseline { vec![value] } else { vec![value, share] }
    }

    fn cell(&self, &MatrixLoad { workload, way }: &MatrixLoad) -> String {
        let Some(row) = workload.rows.get(self.stack) else { return "-".to_owned() };
        let none = || "-".to_owned();
        if !self.is_share {
            let Some(way) = way else { return cell_of(workload, row) };
            let direction = row.directions.iter().find(|one| one.direction == way);
            return direction
                .map_or_else(none, |one| Shown::from_figure(sheet::rate_of(workload, one)).cell());
        }
        let Some(one) = workload.comparisons.iter().find(|one| one.stack == row.stack) else {
            return none();
        };
        one.rate_of(way).map_or_else(none, |it| {
            share_of_baseline(&it.at_once()).judged_cell(it.verdict.is_resolved())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_analysis::{findings, twin};

    #[test]
    fn a_row_is_where_data_come_from_also_if_the_probe_receives() {
        let mut found = findings(&twin::networks());
        found.workloads[1].probe.as_mut().unwrap().receives = true;
        found.workloads[0].rows[0].emulated = Some("made up".to_owned());
        let (table, heat) = network(&found).unwrap();
        let text = table.markdown();
        let line = |start: &str| {
            let cells = text.lines().find(|line| line.starts_with(start)).unwrap().split('|');
            cells.map(str::trim).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(line("| from ")[2..5], ["to host", "to ssh:b", "to ssh:c"]);
        let sent = line("| iperf3(tcp) from host ");
        assert!(sent[2] == "-" && sent[3].ends_with(" ~") && sent[4].ends_with("MiB/s"), "{text}");
        let received = line("| udp(send) from ssh:b ");
        assert!(received[2] != "-" && received[3..5] == ["-", "-"], "{text}");
        assert_eq!(
            (heat.len(), heat[0].iter().flatten().count()),
            (3, 2),
            "two figures go to this host"
        );
    }
}

//! The stacks under one load: their rates, each change with its interval, and what they add to the
//! latency and the CPU time of an I/O.

use super::OneTable;
use super::bill_bars::signed_cell;
use super::grid::{after_wholes, has_baseline, rate_cell, weight};
use crate::headline::class_of_stack;
use crate::look::TerminalLook;
use crate::matrix::direction_row_name;
use crate::number::{Shown, change_in_percent};
use crate::sheet;
use crate::table::{PartRow, TextTable};
use iotax_analysis::findings::{
    ChargeFinding, Charges, DirectionRow, MeasuredFigure, StackRow, WorkloadFindings,
};

/// A row of the table: a stack, or below it its reads or writes.
type LoadRow<'a> = PartRow<'a, StackRow, DirectionRow>;

pub(super) fn load_table(workload: &WorkloadFindings, look: TerminalLook) -> OneTable {
    let rows: Vec<LoadRow> = workload
        .rows
        .iter()
        .flat_map(|row| LoadRow::whole_and_directions(row, &row.directions))
        .collect();
    let mut table = TextTable::named_table("stacks");
    table.push("  stack", 0, rows.iter().map(|row| row_name(workload, row, look)).collect());
    for (rank, (head, pick)) in [0, 3].into_iter().zip(rate_columns(workload)) {
        let cells = rows.iter().map(|row| pick(row).map_or_else(dash, rate_cell_of(workload)));
        table.push_known(&head, rank, cells.collect());
    }
    if let Some(first) = workload.comparisons.first() {
        let cells = rows.iter().map(|row| change_of_row(workload, row)).collect();
        table.push(&format!("against {}", first.against), 0, cells);
    }
    let charged = |pick: fn(&Charges) -> &ChargeFinding| {
        rows.iter().map(|row| added_cell(workload, row, pick)).collect::<Vec<_>>()
    };
    table.push_known("latency", 1, charged(|charges| &charges.latency));
    table.push_known("CPU per I/O", 2, charged(|charges| &charges.cpu));
    add_percentiles(&mut table, workload, &rows);
    let weights = rows.iter().map(|row| row_weight(workload, row)).collect();
    let noun = if sheet::is_mix(workload) { ["row", "rows"] } else { ["stack", "stacks"] };
    OneTable { weights, rows: noun, ..OneTable::of_table(table) }
}

fn dash() -> String {
    "-".to_owned()
}

/// Returns how a rate is shown: without its interval where the change beside it has one.
fn rate_cell_of(workload: &WorkloadFindings) -> impl Fn(&MeasuredFigure) -> String {
    let has_changes = !workload.comparisons.is_empty() && has_baseline(workload);
    move |figure| match has_changes {
        true => rate_cell(figure),
        false => Shown::from_figure(figure).cell(),
    }
}

fn row_name(workload: &WorkloadFindings, row: &LoadRow, look: TerminalLook) -> String {
    match row.direction {
        Some(one) => format!("  {}", direction_row_name(one.direction)),
        None => {
            let masked = workload
                .comparisons
                .iter()
                .any(|one| one.stack == row.whole.stack && one.masked.is_some());
            let masked = if masked { " (masked)" } else { "" };
            let mark = look.mark(class_of_stack(workload, &row.whole.stack));
            format!("{mark} {}{masked}", sheet::name_with_loss(row.whole))
        }
    }
}

type PickRate<'a> = Box<dyn Fn(&LoadRow<'a>) -> Option<&'a MeasuredFigure> + 'a>;

/// Returns the rates with their heads: IOPS, or the throughput of large blocks, and that with the
/// flush for writes.
fn rate_columns<'a>(workload: &'a WorkloadFindings) -> Vec<(String, PickRate<'a>)> {
    let head = match (&workload.probe, workload.rate_unit) {
        (Some(probe), _) => probe.head.clone(),
        (None, "B/s") => "throughput".to_owned(),
        (None, _) => "IOPS".to_owned(),
    };
    let quoted: PickRate = Box::new(|row| match row.direction {
        Some(one) => Some(sheet::rate_of(workload, one)),
        None => Some(sheet::quoted_rate(workload, row.whole)),
    });
    let durable: PickRate = Box::new(|row| match row.direction {
        Some(one) => one.durable_bytes_per_s.as_ref(),
        None => row.whole.durable_bytes_per_s.as_ref(),
    });
    vec![(head, quoted), ("with flush".to_owned(), durable)]
}

fn change_of_row(workload: &WorkloadFindings, row: &LoadRow) -> String {
    let one = workload.comparisons.iter().find(|one| one.stack == row.whole.stack);
    let Some(one) = one else { return String::new() };
    let way = row.direction.map(|one| one.direction);
    one.rate_of(way).map_or_else(String::new, |rate| change_in_percent(&rate.at_once()).cell())
}

/// Returns what the stack adds; one from which nothing follows is marked.
fn added_cell(
    workload: &WorkloadFindings,
    row: &LoadRow,
    pick: fn(&Charges) -> &ChargeFinding,
) -> String {
    if row.whole.baseline {
        return String::new();
    }
    let cell = |charge: &ChargeFinding| {
        let cell = signed_cell(&Shown::from_figure(&charge.difference));
        let is_open = charge.difference.value().is_some() && !charge.verdict.is_resolved();
        if is_open { format!("{cell} !") } else { cell }
    };
    let Some(one) = workload.charges.iter().find(|one| one.stack == row.whole.stack) else {
        return dash();
    };
    match row.direction {
        None => cell(pick(one)),
        // Only latencies are known for reads and writes apart.
        Some(_) if std::ptr::eq(pick(one), &one.cpu) => String::new(),
        Some(way) => {
            let apart = one.directions.iter().find(|known| known.direction == way.direction);
            apart.map_or_else(String::new, |apart| cell(&apart.latency))
        }
    }
}

/// Adds the percentiles: p50 and p99 of a load without charges, else only p99.
fn add_percentiles(table: &mut TextTable, workload: &WorkloadFindings, rows: &[LoadRow]) {
    let latencies = rows.iter().flat_map(|row| &row.whole.latency);
    let heads = sheet::latency_columns(latencies, [u8::MAX, 4, 3, u8::MAX]);
    let probe = workload.probe.as_ref().map(|probe| probe.head.as_str());
    for (head, rank) in heads {
        if rank == u8::MAX || probe == Some(head.as_str()) {
            continue;
        }
        let cell = |row: &LoadRow| {
            let is_mix = !row.whole.directions.is_empty();
            let way = row.direction.map(|one| one.direction);
            let latency = row.whole.latency.iter().find(|one| match way {
                Some(way) => one.direction == way,
                None => !is_mix,
            });
            let figure = latency.and_then(|one| one.figure_named(&head));
            figure.map_or_else(String::new, |one| Shown::from_figure(one).cell())
        };
        table.push_known(&head, rank, rows.iter().map(cell).collect());
    }
}

fn row_weight(workload: &WorkloadFindings, row: &LoadRow) -> f64 {
    let weight = weight(workload, &row.whole.stack);
    if row.direction.is_some() { after_wholes(weight) } else { weight }
}

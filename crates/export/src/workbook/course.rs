//! The sheet `Over time`: the rate of each stack, round by round.

use super::book_sheet::{BookSheet, part_title};
use super::cells::{BookCell, BookTable, CellForm};
use super::charts::{PlottedColumn, line, new_chart};
use super::pen::SheetPen;
use crate::exporter::ExportedRun;
use iotax_analysis::findings::WorkloadFindings;
use iotax_model::record::{Purpose, Slice};
use iotax_units::median;
use rust_xlsxwriter::{ChartType, Worksheet, XlsxError};
use std::collections::BTreeMap;

pub(super) const SHEET: BookSheet =
    BookSheet { about: "the rate of each stack over the run, round by round", draw };

/// Most points of a line. Of more rounds, the medians of neighbours are shown.
const MOST_POINTS: usize = 500;

fn draw(runs: &[ExportedRun]) -> Result<Option<Worksheet>, XlsxError> {
    let mut pen = SheetPen::new("Over time", "Rates over time")?;
    pen.note("Seconds since the first slice of the run; lines that move together share a cause.")?;
    let begin = pen.row;
    for run in runs {
        let is_shown = |load: &&WorkloadFindings| load.probe.is_none() && load.sweep.is_none();
        for load in run.findings.workloads.iter().filter(is_shown) {
            draw_load(&mut pen, run, load, &part_title(runs, run, &load.subject))?;
        }
    }
    if pen.row == begin { Ok(None) } else { pen.finish((1, 1)).map(Some) }
}

/// The slices of one round of a visit: when it began, and the rates of each stack.
#[derive(Default)]
struct RoundRates {
    start_ns: Option<u64>,
    rates: BTreeMap<usize, Vec<f64>>,
}

fn draw_load(
    pen: &mut SheetPen,
    run: &ExportedRun,
    load: &WorkloadFindings,
    title: &str,
) -> Result<(), XlsxError> {
    let (ending, form) = match load.rate_unit {
        "B/s" => (".bytes", CellForm::Bytes),
        _ => (".ios", CellForm::Rate),
    };
    let rounds = rounds(run, load, ending);
    if rounds.len() < 2 {
        return Ok(());
    }
    let many = rounds.len().div_ceil(MOST_POINTS);
    let title = pen.title(title)?;
    if many > 1 {
        pen.note(&format!("each row: medians of {many} rounds in succession"))?;
    }
    let begin = run.data.slices.iter().map(|slice| slice.start_ns).min().unwrap_or_default();
    let mut table = BookTable::default();
    table.column("time", CellForm::Seconds);
    for row in &load.rows {
        table.column(&row.stack, form);
    }
    for several in rounds.chunks(many) {
        let starts = several.iter().filter_map(|round| round.start_ns);
        let start = starts.min().unwrap_or(begin);
        let mut cells = vec![BookCell::Number((start - begin) as f64 / 1e9)];
        for stack in 0..load.rows.len() {
            let rates: Vec<f64> = several
                .iter()
                .filter_map(|round| round.rates.get(&stack))
                .flatten()
                .copied()
                .collect();
            let rate = (!rates.is_empty()).then(|| median(rates));
            cells.push(BookCell::number(rate.map(|rate| rate * form.scale())));
        }
        table.rows.push(cells);
    }
    let room = pen.chart_room();
    let spot = pen.table(&table)?;
    let mut chart = new_chart(ChartType::Scatter, pen, title, "time, s", form.unit());
    for at in 0..load.rows.len() {
        let column = PlottedColumn { spot, along: 0, values: 1 + at as u16, has_interval: false };
        chart.push_series(&line(pen, column, at)?);
    }
    chart.x_axis().set_num_format("#,##0").set_min(0);
    chart.y_axis().set_num_format("#,##0").set_min(0);
    pen.chart_at(room, &mut chart)
}

/// Returns the rounds of a load in the order of time.
fn rounds(run: &ExportedRun, load: &WorkloadFindings, ending: &str) -> Vec<RoundRates> {
    let mut rounds: BTreeMap<(u32, u32, u32), RoundRates> = BTreeMap::new();
    let is_ours = |slice: &&Slice| {
        slice.workload == load.name && slice.purpose == Purpose::Plain && slice.window_ns > 0
    };
    for slice in run.data.slices.iter().filter(is_ours) {
        let Some(stack) = load.rows.iter().position(|row| row.stack == slice.stack) else {
            continue;
        };
        let round = rounds.entry((slice.visit, slice.set, slice.round)).or_default();
        round.start_ns = Some(round.start_ns.unwrap_or(u64::MAX).min(slice.start_ns));
        let rate = slice.total(ending) / (slice.window_ns as f64 / 1e9);
        round.rates.entry(stack).or_default().push(rate);
    }
    let mut rounds: Vec<RoundRates> = rounds.into_values().collect();
    rounds.sort_by_key(|round| round.start_ns);
    rounds
}

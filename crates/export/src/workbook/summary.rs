//! The sheet `Summary`: a row for each stack and load, with all figures that are compared.

use super::book_sheet::{BookSheet, loads};
use super::cells::{BookCell, BookTable, CellForm, REMARKS, RowCells};
use super::pen::{SheetPen, TableSpot};
use crate::exporter::ExportedRun;
use iotax_analysis::findings::{
    Comparison, LatencyFigures, MeasuredFigure, Quantity, StackRow, WorkloadFindings,
};
use iotax_model::scenario::Workload;
use rust_xlsxwriter::{
    Color, ConditionalFormatText, ConditionalFormatTextRule, Format, Worksheet, XlsxError,
};

pub const NAME: &str = "Summary";
/// Heads of columns that other sheets look up.
pub const SHARE: &str = "% of baseline";
pub const KEY: &str = "key";

pub(super) const SHEET: BookSheet =
    BookSheet { about: "a row for each stack and load, with all figures", draw };

const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];
const PERCENTILES: [&str; 5] = ["mean", "p50", "p95", "p99", "p99.9"];
/// Number of columns at the left that are always there.
const NAMES: usize = 4;

/// The table and its place on the sheet, for the formulas of other sheets.
pub struct SummaryTable {
    pub table: BookTable,
    pub spot: TableSpot,
}

/// One row: a stack under a load.
struct SummaryRow<'a> {
    load: &'a WorkloadFindings,
    defined: Option<&'a Workload>,
    row: &'a StackRow,
}

/// Returns the key of a row: the numbers of the run, the stack and the load, from 1. It has no
/// character that a look-up takes for a wildcard, as a name may have.
pub fn row_key(run: usize, stack: usize, load: usize) -> String {
    format!("{}-{}-{}", run + 1, stack + 1, load + 1)
}

fn draw(runs: &[ExportedRun]) -> Result<Option<Worksheet>, XlsxError> {
    let table = summary_table(runs);
    if table.rows.is_empty() {
        return Ok(None);
    }
    let mut pen = new_pen()?;
    let spot = pen.table(&table)?;
    for (col, column) in (0..).zip(&table.columns) {
        if column.head.starts_with("verdict") {
            color_verdicts(&mut pen.sheet, spot, col)?;
        }
        // A percentile's ends can be opened by the button above it.
        let is_end = column.head.contains(" low") || column.head.contains(" high");
        if is_end && column.form == CellForm::Time {
            pen.sheet.group_columns_collapsed(col, col)?;
        }
    }
    // The widest table takes the larger paper, A3.
    pen.sheet.set_column_hidden(last_column(&table))?.set_paper_size(8);
    pen.sheet.autofilter(spot.head, 0, spot.last, last_column(&table) - 1)?;
    pen.sheet.set_repeat_rows(spot.head, spot.head)?;
    pen.sheet.set_repeat_columns(0, names(runs) as u16 - 2)?;
    pen.finish((spot.first, names(runs) as u16)).map(Some)
}

fn new_pen() -> Result<SheetPen, XlsxError> {
    let mut pen = SheetPen::new(NAME, "Summary: a row for each stack and load")?;
    pen.note(
        "low, high: ends of the 95 % interval (of latencies: the + above the columns). \
         % of baseline and its interval are of paired rounds.",
    )?;
    pen.row += 1;
    Ok(pen)
}

fn last_column(table: &BookTable) -> u16 {
    (table.columns.len() - 1) as u16
}

fn names(runs: &[ExportedRun]) -> usize {
    NAMES - usize::from(runs.len() == 1)
}

/// Returns the table of the sheet `Summary` with its place, which only depends on the runs.
pub fn placed_table(runs: &[ExportedRun]) -> Result<SummaryTable, XlsxError> {
    let table = summary_table(runs);
    let spot = TableSpot::below_head(new_pen()?.row, table.rows.len());
    Ok(SummaryTable { table, spot })
}

fn summary_table(runs: &[ExportedRun]) -> BookTable {
    let mut table = BookTable::default();
    table.column("run", CellForm::Text);
    add_columns(&mut table);
    for (run_at, run) in runs.iter().enumerate() {
        for (load_at, (load, defined)) in loads(run).enumerate() {
            for (stack_at, row) in load.rows.iter().enumerate() {
                let mut cells = RowCells::default();
                cells.text(run.findings.run.id.as_str());
                let key = row_key(run_at, stack_at, load_at);
                let mut row = SummaryRow { load, defined, row }.cells(cells);
                row.push(BookCell::Text(key));
                table.rows.push(row);
            }
        }
    }
    if runs.len() == 1 {
        table.columns.remove(0);
        table.rows.iter_mut().for_each(|row| drop(row.remove(0)));
    }
    table.drop_blank_columns(names(runs));
    table
}

fn add_columns(table: &mut BookTable) {
    table.column("stack", CellForm::Text).column("load", CellForm::Text);
    table.column("load in words", CellForm::Text);
    for name in ["block, KiB", "read %", "in flight", "rounds", "failed I/Os"] {
        table.column(name, CellForm::Count);
    }
    let rates = [
        ("IOPS", CellForm::Rate),
        ("MB/s", CellForm::Bytes),
        ("durable MB/s", CellForm::Bytes),
        ("probe, 1/s", CellForm::Counts),
        ("probe, µs", CellForm::Time),
    ];
    for (name, form) in rates {
        table.figure_columns(name, form);
    }
    for direction in DIRECTIONS {
        table.figure_columns(&format!("{direction} IOPS"), CellForm::Rate);
        table.figure_columns(&format!("{direction} MB/s"), CellForm::Bytes);
        for percentile in PERCENTILES {
            table.figure_columns(&format!("{direction} {percentile}"), CellForm::Time);
        }
    }
    table.figure_columns("CPU per I/O", CellForm::Time);
    for suffix in ["", ", durable"] {
        table.figure_columns(&format!("{SHARE}{suffix}"), CellForm::Share);
        table.column(&format!("verdict{suffix}"), CellForm::Text);
    }
    table.column(REMARKS, CellForm::Text).column(KEY, CellForm::Text);
}

impl SummaryRow<'_> {
    fn cells(&self, mut cells: RowCells) -> Vec<BookCell> {
        let row = self.row;
        cells.text(row.stack.as_str());
        cells.text(self.load.name.as_str());
        cells.text(self.load.subject.as_str());
        self.add_load(&mut cells);
        self.add_rates(&mut cells);
        for direction in DIRECTIONS {
            self.add_direction(&mut cells, direction);
        }
        cells.figure("CPU per I/O", Some(&row.cpu), CellForm::Time);
        let of = |quantity: &dyn Fn(&Comparison) -> bool| {
            let ours = self.load.comparisons.iter().filter(|one| one.stack == row.stack);
            ours.into_iter().find(|one| quantity(one))
        };
        add_comparison(&mut cells, row, of(&|one| one.of_write != Some(Quantity::Durable)));
        add_comparison(&mut cells, row, of(&|one| one.of_write == Some(Quantity::Durable)));
        cells.with_remarks()
    }

    fn add_load(&self, cells: &mut RowCells) {
        let jobs = self.defined.map(|defined| defined.jobs.as_slice()).unwrap_or_default();
        let job = jobs.first().filter(|_| jobs.len() == 1);
        let reads = |job: &iotax_load::Job| match (job.rw.reads(), job.rw.writes()) {
            (true, true) => f64::from(job.rwmixread),
            (reads, _) => 100.0 * f64::from(u8::from(reads)),
        };
        cells.number(job.map(|job| job.bs as f64 / 1024.0));
        cells.number(job.map(reads));
        cells.number(self.row.generator.depth);
        cells.number(Some(self.row.rounds as f64));
        cells.number(Some(self.row.errors as f64).filter(|errors| *errors > 0.0));
    }

    fn add_rates(&self, cells: &mut RowCells) {
        let row = self.row;
        let (is_probe, unit) = (self.load.probe.is_some(), self.load.rate_unit);
        cells.figure("IOPS", Some(&row.iops).filter(|_| !is_probe), CellForm::Rate);
        let has_bytes = !is_probe || unit == "B/s";
        cells.figure("MB/s", Some(&row.bytes_per_s).filter(|_| has_bytes), CellForm::Bytes);
        cells.figure("durable MB/s", row.durable_bytes_per_s.as_ref(), CellForm::Bytes);
        for (known, form) in [("1/s", CellForm::Counts), ("ns", CellForm::Time)] {
            cells.figure("probe", Some(&row.iops).filter(|_| is_probe && unit == known), form);
        }
    }

    fn add_direction(&self, cells: &mut RowCells, direction: &str) {
        let rates = self.row.directions.iter().find(|one| one.direction == direction);
        let name = |what: &str| format!("{direction} {what}");
        cells.figure(&name("IOPS"), rates.map(|one| &one.iops), CellForm::Rate);
        cells.figure(&name("MB/s"), rates.map(|one| &one.bytes_per_s), CellForm::Bytes);
        let latency = self.row.latency.iter().find(|one| one.direction == direction);
        let figure =
            |percentile| latency.and_then(|one: &LatencyFigures| one.figure_named(percentile));
        for percentile in PERCENTILES {
            match (figure(percentile), latency.and_then(curve_p95)) {
                (None, Some(ns)) if percentile == "p95" => {
                    cells.number(Some(ns as f64 * CellForm::Time.scale()));
                    cells.cells.extend([BookCell::Empty, BookCell::Empty]);
                }
                (known, _) => cells.figure(&name(percentile), known, CellForm::Time),
            }
        }
    }
}

/// Returns the 95th percentile in ns of all rounds together, which has no interval unless the
/// scenario asks for it.
fn curve_p95(latency: &LatencyFigures) -> Option<u64> {
    latency.curve.iter().find(|(quantile, _)| *quantile == 0.95).map(|(_, ns)| *ns)
}

/// Adds the share of the baseline and the verdict. The baseline itself has neither.
fn add_comparison(cells: &mut RowCells, row: &StackRow, one: Option<&Comparison>) {
    let ratio: Option<MeasuredFigure> = one.map(|one| one.rate.at_once());
    cells.figure(SHARE, ratio.as_ref(), CellForm::Share);
    match one {
        Some(one) => {
            cells.text(one.rate.verdict.phrase());
            let masked = one.masked.iter().map(|masked| masked.words.clone());
            masked.chain(one.rate.remedy.clone()).for_each(|words| cells.remark(words));
            one.emulated.iter().for_each(|words| cells.remark(words.clone()));
        }
        None => cells.cells.push(BookCell::Empty),
    }
    row.emulated.iter().for_each(|words| cells.remark(words.clone()));
}

fn color_verdicts(sheet: &mut Worksheet, spot: TableSpot, col: u16) -> Result<(), XlsxError> {
    let words =
        [("costs", 0xB3261E), ("gains", 0x1B7F3B), ("no diff", 0x1F5FA8), ("unres", 0x8A6D00)];
    for (word, color) in words {
        let format = Format::new().set_font_color(Color::RGB(color));
        let rule = ConditionalFormatText::new()
            .set_rule(ConditionalFormatTextRule::BeginsWith(word.into()))
            .set_format(format);
        sheet.add_conditional_format(spot.first, col, spot.last, col, &rule)?;
    }
    Ok(())
}

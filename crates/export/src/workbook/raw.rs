//! The sheet `Raw`: an Excel table with a row for each slice of the record.

use super::book_sheet::BookSheet;
use super::cells::{BookCell, BookTable, CellForm, REMARKS};
use super::pen::SheetPen;
use crate::exporter::ExportedRun;
use crate::slice_row::purpose_word;
use iotax_model::record::{SampleValue, Slice};
use iotax_units::harmless::escape_line;
use iotax_units::{distinct, grouped};
use rust_xlsxwriter::{Table, TableColumn, TableStyle, Worksheet, XlsxError};

pub(super) const SHEET: BookSheet =
    BookSheet { about: "every slice of the record, as a table to filter", draw };

const MOST_ROWS: usize = 100_000;
/// Longest head of a column in characters. Excel accepts 255.
const LONGEST_HEAD: usize = 200;

fn draw(runs: &[ExportedRun]) -> Result<Option<Worksheet>, XlsxError> {
    draw_rows(runs, MOST_ROWS)
}

/// Draws at most so many slices, and says how many there are.
pub fn draw_rows(runs: &[ExportedRun], most: usize) -> Result<Option<Worksheet>, XlsxError> {
    let all: usize = runs.iter().map(|run| run.data.slices.len()).sum();
    if all == 0 {
        return Ok(None);
    }
    let mut pen = SheetPen::new("Raw", "Slices of the record")?;
    pen.note(&match all > most {
        true => format!(
            "The first {} of {} slices; `iotax report --format slices` writes all.",
            grouped(most as f64),
            grouped(all as f64)
        ),
        false => format!("All {} slices.", grouped(all as f64)),
    })?;
    pen.row += 1;
    let table = slice_table(runs, most);
    let spot = pen.table(&table)?;
    let columns: Vec<TableColumn> =
        table.columns.iter().map(|one| TableColumn::new().set_header(&one.head)).collect();
    let filtered =
        Table::new().set_name("slices").set_style(TableStyle::Light9).set_columns(&columns);
    let last = (table.columns.len() - 1) as u16;
    pen.sheet.add_table(spot.head, 0, spot.last, last, &filtered)?;
    pen.sheet.set_repeat_rows(spot.head, spot.head)?;
    pen.finish((spot.first, 3)).map(Some)
}

/// Returns a row for each slice, with a column for each metric in its unit.
fn slice_table(runs: &[ExportedRun], most: usize) -> BookTable {
    let mut table = BookTable::default();
    for name in ["run", "load", "stack", "purpose"] {
        table.column(name, CellForm::Text);
    }
    for name in ["visit", "set", "round", "slice", "short slices"] {
        table.column(name, CellForm::Count);
    }
    table.column("start", CellForm::Seconds).column("window", CellForm::Seconds);
    let slices = || runs.iter().flat_map(|run| &run.data.slices).take(most);
    let numbers = slices().flat_map(|slice| &slice.samples);
    let numbers = numbers.filter(|sample| !matches!(sample.value, SampleValue::Histogram(_)));
    let metrics = distinct(numbers.map(|one| (one.metric.as_str(), one.unit.as_str())));
    for (metric, unit) in &metrics {
        let unit = if *unit == "1" { String::new() } else { format!(", {unit}") };
        let head = escape_line(&format!("{metric}{unit}"));
        table.column(&unique_head(&table, head), CellForm::Plain);
    }
    table.column(REMARKS, CellForm::Text);
    for run in runs {
        let begin = run.data.slices.iter().map(|slice| slice.start_ns).min().unwrap_or_default();
        let left = most - table.rows.len();
        let rows = run.data.slices.iter().take(left);
        let rows = rows.map(|slice| slice_row(&run.findings.run.id, begin, slice, &metrics));
        table.rows.extend(rows);
    }
    table
}

/// Returns a head that no column has yet, as Excel demands of a table, whatever its letters' case.
fn unique_head(table: &BookTable, head: String) -> String {
    let mut head: String = head.chars().take(LONGEST_HEAD).collect();
    while table.columns.iter().any(|one| one.head.to_lowercase() == head.to_lowercase()) {
        head.push('\'');
    }
    head
}

fn slice_row(run: &str, begin_ns: u64, slice: &Slice, metrics: &[(&str, &str)]) -> Vec<BookCell> {
    let purpose = purpose_word(slice);
    let texts = [run, &slice.workload, &slice.stack, &purpose].map(BookCell::text);
    let counts = [slice.visit, slice.set, slice.round, slice.slice, slice.short_slices];
    let times = [slice.start_ns - begin_ns, slice.window_ns].map(|ns| ns as f64 / 1e9);
    let mut cells: Vec<BookCell> = texts.into();
    cells.extend(counts.map(|count| BookCell::Number(f64::from(count))));
    cells.extend(times.map(BookCell::Number));
    let mut reasons = Vec::new();
    for (metric, unit) in metrics {
        let sample = slice.samples.iter().find(|one| one.metric == *metric && one.unit == *unit);
        cells.push(match sample.map(|sample| &sample.value) {
            Some(SampleValue::Value(value)) => BookCell::number(Some(*value)),
            Some(SampleValue::Failed(reason) | SampleValue::Missing(reason)) => {
                reasons.push(format!("{metric}: {reason}"));
                BookCell::Empty
            }
            Some(SampleValue::Histogram(_)) | None => BookCell::Empty,
        });
    }
    cells.push(if reasons.is_empty() {
        BookCell::Empty
    } else {
        BookCell::text(reasons.join("; "))
    });
    cells
}

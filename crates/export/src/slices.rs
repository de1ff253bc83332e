//! Tidy CSV of the slices: one row for each figure of each slice, for pandas, R or a spreadsheet.

use crate::exporter::{ExportedRun, Exporter};
use crate::slice_row::{SLICE_COLUMNS, SliceRow, slice_rows};
use iotax_report::csv::safe_cell;
use std::io::{Result, Write};

pub const EXPORTER: Exporter = Exporter { name: "slices", endings: &["slices.csv"], write };

fn write(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(SLICE_COLUMNS)?;
    for row in runs.iter().flat_map(slice_rows) {
        table.write_record(fields(&row).iter().map(|field| safe_cell(field)))?;
    }
    table.flush()
}

fn fields(row: &SliceRow) -> [String; SLICE_COLUMNS.len()] {
    let [visit, set, round, slice] = row.numbers.map(|number| number.to_string());
    [
        row.run.to_owned(),
        row.workload.to_owned(),
        row.stack.to_owned(),
        visit,
        set,
        round,
        slice,
        row.purpose.clone(),
        format!("{:.9}", row.start_s),
        format!("{:.9}", row.window_s),
        row.short_slices.to_string(),
        row.metric.to_owned(),
        row.value.map(|value| value.to_string()).unwrap_or_default(),
        row.note.to_owned(),
        row.unit.to_owned(),
    ]
}

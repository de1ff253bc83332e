//! Tidy CSV of the slices: one row for each figure of each slice, for pandas, R or a spreadsheet.

use crate::exporter::{ExportedRun, Exporter};
use iotax_model::record::{SampleValue, Slice};
use std::io::{Result, Write};

pub const EXPORTER: Exporter = Exporter { name: "slices", endings: &["slices.csv"], write };

const COLUMNS: [&str; 14] = [
    "run",
    "workload",
    "stack",
    "visit",
    "set",
    "round",
    "slice",
    "purpose",
    "start_s",
    "window_s",
    "short_slices",
    "metric",
    "value",
    "note",
];

fn write(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(COLUMNS)?;
    for run in runs {
        let id = &run.findings.run.id;
        let begin = run.data.slices.iter().map(|slice| slice.start_ns).min().unwrap_or_default();
        for slice in &run.data.slices {
            for row in rows(id, begin, slice) {
                table.write_record(&row)?;
            }
        }
    }
    table.flush()
}

/// Returns a row for each figure of the slice; `begin_ns` is the start of the run's first slice.
fn rows(run: &str, begin_ns: u64, slice: &Slice) -> Vec<[String; 14]> {
    let seconds = |ns: u64| format!("{:.9}", ns as f64 / 1e9);
    let purpose = serde_json::to_value(slice.purpose).ok();
    let purpose = purpose.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default();
    let row = |metric: &str, value: String, note: String| {
        [
            run.to_owned(),
            slice.workload.clone(),
            slice.stack.clone(),
            slice.visit.to_string(),
            slice.set.to_string(),
            slice.round.to_string(),
            slice.slice.to_string(),
            purpose.clone(),
            seconds(slice.start_ns - begin_ns),
            seconds(slice.window_ns),
            slice.short_slices.to_string(),
            metric.to_owned(),
            value,
            note,
        ]
    };
    let samples = slice.samples.iter().filter_map(|sample| match &sample.value {
        SampleValue::Value(value) => Some(row(&sample.metric, value.to_string(), String::new())),
        SampleValue::Failed(reason) | SampleValue::Missing(reason) => {
            Some(row(&sample.metric, String::new(), reason.clone()))
        }
        SampleValue::Histogram(_) => None,
    });
    samples.collect()
}

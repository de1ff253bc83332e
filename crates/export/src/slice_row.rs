//! One row for each figure of each slice: what the tidy forms have in common.

use crate::exporter::ExportedRun;
use iotax_model::record::{SampleValue, Slice, SliceSample};

pub const SLICE_COLUMNS: [&str; 15] = [
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
    "unit",
];

/// A figure of a slice. Its fields are in the order of [`SLICE_COLUMNS`].
pub struct SliceRow<'a> {
    pub run: &'a str,
    pub workload: &'a str,
    pub stack: &'a str,
    /// Visit, set, round and slice, each from 0.
    pub numbers: [u32; 4],
    /// Purpose of the slice, as in the record: `plain`, `pilot`, ...
    pub purpose: String,
    /// Seconds from the start of the run's first slice.
    pub start_s: f64,
    /// Seconds in which I/Os count.
    pub window_s: f64,
    /// Number of short slices that this one is the sum of; 0: it is a single one.
    pub short_slices: u32,
    pub metric: &'a str,
    /// The value; none if it failed or is missing, which `note` explains.
    pub value: Option<f64>,
    pub note: &'a str,
    pub unit: &'a str,
}

/// Returns the figures of all slices of a run, without their histograms.
pub fn slice_rows(run: &ExportedRun) -> impl Iterator<Item = SliceRow<'_>> {
    let begin_ns = run.data.slices.iter().map(|slice| slice.start_ns).min().unwrap_or_default();
    let id = run.findings.run.id.as_str();
    run.data.slices.iter().flat_map(move |slice| {
        let purpose = purpose_word(slice);
        let samples = slice.samples.iter();
        samples.filter_map(move |sample| slice_row(id, begin_ns, slice, &purpose, sample))
    })
}

/// Returns the purpose of a slice as the record has it.
pub fn purpose_word(slice: &Slice) -> String {
    let purpose = serde_json::to_value(slice.purpose).ok();
    purpose.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

fn slice_row<'a>(
    run: &'a str,
    begin_ns: u64,
    slice: &'a Slice,
    purpose: &str,
    sample: &'a SliceSample,
) -> Option<SliceRow<'a>> {
    let (value, note) = match &sample.value {
        SampleValue::Value(value) => (Some(*value), ""),
        SampleValue::Failed(reason) | SampleValue::Missing(reason) => (None, reason.as_str()),
        SampleValue::Histogram(_) => return None,
    };
    Some(SliceRow {
        run,
        workload: &slice.workload,
        stack: &slice.stack,
        numbers: [slice.visit, slice.set, slice.round, slice.slice],
        purpose: purpose.to_owned(),
        start_s: (slice.start_ns - begin_ns) as f64 / 1e9,
        window_s: slice.window_ns as f64 / 1e9,
        short_slices: slice.short_slices,
        metric: &sample.metric,
        value,
        note,
        unit: &sample.unit,
    })
}

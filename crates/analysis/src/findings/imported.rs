//! Imported results, which others measured and printed.

use super::figure::MeasuredFigure;
pub use iotax_model::record::Better;
pub use iotax_model::record::imported::ImportedFile;
use iotax_stats::Verdict;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedFindings {
    pub files: Vec<ImportedFile>,
    /// One table per load and direction.
    pub workloads: Vec<ImportedWorkload>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherResult>,
}

/// One load in one direction, on all systems.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedWorkload {
    /// `4k randread at iodepth 8 x 2 (libaio)`.
    pub subject: String,
    pub rows: Vec<ImportedRow>,
    /// Sentences with the conclusions; systems with the same conclusion share one.
    pub sentences: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedRow {
    pub system: String,
    pub baseline: bool,
    pub iops: ImportedFigure,
    pub bytes_per_s: ImportedFigure,
    pub mean: ImportedFigure,
    /// Percentiles as printed, or from merged histograms where all runs have one.
    pub percentiles: Vec<ImportedPercentile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ImportedComparison>,
    pub runs: u64,
    pub sources: Vec<ImportedSource>,
}

/// A figure, and the range that its printed digits leave open.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedFigure {
    /// Mean of the runs; the interval shows their spread.
    #[serde(flatten)]
    pub figure: MeasuredFigure,
    /// Least and greatest value that would be printed the same way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounded: Option<[f64; 2]>,
}

/// Percentile of each run: one value, or a range from the least of the runs to the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ImportedPercentile {
    pub percent: f64,
    /// Least percentile of all runs, in nanoseconds.
    pub least_ns: f64,
    pub most_ns: f64,
    /// `printed`, or `histograms` if it is from merged histograms.
    pub from: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedComparison {
    pub against: String,
    /// `4k randread IOPS at iodepth 8`.
    pub quantity: String,
    /// Ratio to the baseline; inverted for times, so that more is better.
    pub ratio: MeasuredFigure,
    /// Least and greatest ratio that the printed digits allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounding: Option<[f64; 2]>,
    pub verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedSource {
    pub file: u32,
    pub line: u32,
    pub tool: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherResult {
    /// `Dhrystone 2 using register variables`.
    pub name: String,
    pub unit: String,
    pub better: Better,
    pub rows: Vec<OtherRow>,
    pub sentences: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherRow {
    pub system: String,
    pub baseline: bool,
    /// Mean of the runs, in the printed unit.
    pub value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounded: Option<[f64; 2]>,
    pub runs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ImportedComparison>,
    pub sources: Vec<ImportedSource>,
}

//! Results that were imported.

use super::figure::MeasuredFigure;
pub use iotax_model::record::Better;
pub use iotax_model::record::imported::ImportedFile;
use iotax_stats::Verdict;
use serde::Serialize;

/// Everything that was imported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedFindings {
    pub files: Vec<ImportedFile>,
    /// A table a load and way.
    pub workloads: Vec<ImportedWorkload>,
    /// Results that are no I/O.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherResult>,
}

/// One load, one way, on all systems.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedWorkload {
    /// `4k randread at iodepth 8 x 2 (libaio)`.
    pub subject: String,
    /// A row a system.
    pub rows: Vec<ImportedRow>,
    /// What is concluded: a sentence for all of which the same is said.
    pub sentences: Vec<String>,
}

/// A system under a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedRow {
    pub system: String,
    /// Whether others are compared with it.
    pub baseline: bool,
    pub iops: ImportedFigure,
    pub bytes_per_s: ImportedFigure,
    pub mean: ImportedFigure,
    /// As printed; of merged histograms where all runs have one.
    pub percentiles: Vec<ImportedPercentile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ImportedComparison>,
    pub runs: u64,
    /// Where their results stand.
    pub sources: Vec<ImportedSource>,
}

/// A figure, and what its printed digits leave open.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedFigure {
    /// The mean of the runs; its interval is of their spread.
    #[serde(flatten)]
    pub figure: MeasuredFigure,
    /// From the least to the most that is printed so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounded: Option<[f64; 2]>,
}

/// A percentile of each run: one value, or from the least of the runs to the most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ImportedPercentile {
    pub percent: f64,
    /// Nanoseconds; the least of all runs.
    pub least_ns: f64,
    pub most_ns: f64,
    /// `printed`, or `histograms`, which were merged.
    pub from: &'static str,
}

/// A system against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedComparison {
    pub against: String,
    /// `4k randread IOPS at iodepth 8`.
    pub quantity: String,
    /// Over the baseline; of times turned over, so that more is better.
    pub ratio: MeasuredFigure,
    /// From the least to the most that the printed digits allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounding: Option<[f64; 2]>,
    pub verdict: Verdict,
}

/// Where a result stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedSource {
    /// Number of the file.
    pub file: u32,
    pub line: u32,
    pub tool: String,
}

/// One result on all systems.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherResult {
    /// `Dhrystone 2 using register variables`.
    pub name: String,
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// A row a system.
    pub rows: Vec<OtherRow>,
    pub sentences: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherRow {
    pub system: String,
    /// Whether others are compared with it.
    pub baseline: bool,
    /// In the unit that is printed; the mean of the runs.
    pub value: f64,
    /// The 95 % interval, where the runs show their spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// From the least to the most that is printed so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounded: Option<[f64; 2]>,
    pub runs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ImportedComparison>,
    pub sources: Vec<ImportedSource>,
}

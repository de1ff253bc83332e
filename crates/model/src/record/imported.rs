//! Results that others measured, each with the file, line, system, load and tool that it comes
//! from. A figure has the interval of values that print as it was printed. A figure that was not
//! printed is missing, with a reason.

use super::Better;
use serde::{Deserialize, Serialize};

/// Summary of an import. An imported run has no stacks, no workloads and no slices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    pub files: u32,
    /// Systems with a result, in the order of their first appearance.
    pub systems: Vec<String>,
    /// System that the others are compared with, if it was named; otherwise it is the first system
    /// with a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFile {
    /// Number of the file, from 0.
    pub file: u32,
    /// Path of the file, or `standard input`.
    pub path: String,
    pub bytes: u64,
    /// SHA-256 of the file's bytes, in hex digits.
    pub sha256: String,
    pub results: u32,
    /// Lines that look like a tool's output but could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadLines>,
    /// Number of outputs that a run printed before its last one (fio's `--status-interval`). Only
    /// the results of the last are used.
    #[serde(default, skip_serializing_if = "is_none")]
    pub snapshots: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadLines {
    /// First line, counted from 1.
    pub from: u32,
    pub to: u32,
    pub why: String,
}

impl UnreadLines {
    pub fn line_range(&self) -> String {
        match self.from == self.to {
            true => self.from.to_string(),
            false => format!("{}-{}", self.from, self.to),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportedDirection {
    Read,
    Write,
    Trim,
    /// Reads and writes together, if nothing separates them.
    Both,
}

impl ImportedDirection {
    pub fn direction_words(self) -> &'static str {
        match self {
            ImportedDirection::Read => "reads",
            ImportedDirection::Write => "writes",
            ImportedDirection::Trim => "trims",
            ImportedDirection::Both => "reads and writes together",
        }
    }
}

/// A load as far as the output reports it, in fio's terms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportedLoad {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rw: Option<String>,
    /// Block size of an I/O in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bs: Option<u64>,
    /// I/Os in flight per job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iodepth: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numjobs: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ioengine: Option<String>,
    /// Share of reads in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rwmixread: Option<f64>,
    /// Name of the job or test in the output. It distinguishes loads only if nothing else is
    /// reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Options that make the load a different one, in a fixed order: `rate_iops=1000`,
    /// `rw=randread:8`, `bsrange=4096-65536`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caps: Vec<String>,
    /// All other options that may change the result, in a fixed order: `direct=1`. They do not make
    /// the load a different one. `None` if the output prints no options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Vec<String>>,
}

/// Number of a job, and the number of jobs that reported separately under one load. Their figures
/// are never added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ImportedPart {
    pub part: u32,
    pub of: u32,
}

/// One result: one direction of one job, group or test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedResult {
    pub system: String,
    pub load: ReportedLoad,
    pub way: ImportedDirection,
    /// Which job the result is of, if several jobs ran the same load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<ImportedPart>,
    pub file: u32,
    pub line: u32,
    /// Tool and format: `fio text`, `fio JSON`.
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// End of the run by the clock of its machine, in an unknown time zone: `2026-11-23T17:02:55`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Samples named `iops`, `bandwidth`, `ios`, `bytes`, `runtime`, `latency.mean`, and `latency`
    /// as a histogram.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<ImportedSample>,
    /// Percentiles of the latency, as printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<PrintedPercentile>,
    /// Results that are not about I/O, with the names and units that are printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<ImportedSample>,
    /// Printed rates that contradict the printed counts and times: `IOPS: 20.0k is printed, but
    /// 20993 follows from ...`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slips: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<Uncounted>,
}

/// Reason why a result does not count as a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Uncounted {
    /// The same run is also printed elsewhere, and that result counts.
    Copy {
        file: u32,
        /// Line on which the result that counts begins, from 1.
        line: u32,
    },
    /// The run failed: `error 5, Input/output error`.
    Failed(String),
}

/// A percentile: percent, nanoseconds, and the lowest and highest value that print as that number.
/// There are many of them, so the record omits the field names.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 4]", into = "[f64; 4]")]
pub struct PrintedPercentile {
    pub percent: f64,
    pub ns: f64,
    pub low: f64,
    pub high: f64,
}

impl From<[f64; 4]> for PrintedPercentile {
    fn from([percent, ns, low, high]: [f64; 4]) -> PrintedPercentile {
        PrintedPercentile { percent, ns, low, high }
    }
}

impl From<PrintedPercentile> for [f64; 4] {
    fn from(one: PrintedPercentile) -> [f64; 4] {
        [one.percent, one.ns, one.low, one.high]
    }
}

/// A figure as it was printed. Exactly one of `value`, `histogram` and `missing` is present.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedSample {
    pub metric: String,
    /// `1/s`, `B/s`, `ns`, `1`, `B`, or as printed.
    pub unit: String,
    pub better: Better,
    /// Value as printed, in the unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Lowest value that prints as this number. Omitted, as `high` is, if the two differ by no more
    /// than a billionth of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Offset of a frame in the histogram segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<u64>,
    /// Reason why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl ReportedLoad {
    /// Returns a text that is equal for equal loads. It consists of all fields but `name` and
    /// `settings`; if the output reports no other field, it is the name.
    pub fn identity(&self) -> String {
        let ReportedLoad { rw, bs, iodepth, numjobs, ioengine, rwmixread, name, caps, settings } =
            self;
        let bare = ReportedLoad {
            name: name.clone(),
            settings: settings.clone(),
            ..ReportedLoad::default()
        };
        let caps = caps.join(" ");
        match *self == bare {
            true => format!("{name:?}"),
            false => {
                format!("{rw:?} {bs:?} {iodepth:?} {numjobs:?} {ioengine:?} {rwmixread:?} {caps}")
            }
        }
    }
}

impl ImportedSample {
    /// Returns the lowest and the highest value that print as this number; `None` if there is no
    /// value.
    pub fn rounded(&self) -> Option<[f64; 2]> {
        let value = self.value?;
        Some([self.low.unwrap_or(value), self.high.unwrap_or(value)])
    }
}

impl ImportedResult {
    pub fn sample(&self, metric: &str) -> Option<&ImportedSample> {
        self.samples.iter().find(|sample| sample.metric == metric)
    }
}

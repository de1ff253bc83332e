//! Every figure of a page and whether it holds.

use crate::number::{Interval, Unit};
use crate::page::Spot;
use serde::{Deserialize, Serialize};

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A tool printed it.
    Raw,
    /// A cell of a table.
    Cell,
    /// Computed from others: a ratio, a loss, a sum.
    Derived,
    /// A sentence has it.
    Prose,
}

/// Whether a figure holds, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is not what its operands give.
    DoesNotHold,
    /// It was recomputed from others and agrees.
    Holds,
    /// Nothing gives it exactly, but it lies within its bounds.
    Plausible,
    /// Nothing on the page to hold it against.
    CannotBeChecked,
}

impl Status {
    /// All.
    pub const ALL: [Status; 4] =
        [Status::Holds, Status::Plausible, Status::DoesNotHold, Status::CannotBeChecked];

    /// Its words: `does not hold`.
    pub fn words(self) -> &'static str {
        match self {
            Status::Holds => "holds",
            Status::Plausible => "plausible",
            Status::DoesNotHold => "does not hold",
            Status::CannotBeChecked => "cannot be checked",
        }
    }
}

/// What a figure measures, in fio's words where it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// I/Os a second.
    Iops,
    /// Bytes a second.
    Bandwidth,
    /// Bytes in all.
    Total,
    /// I/Os in all.
    Issued,
    /// Time of the run.
    Runtime,
    /// Time until submitted.
    SubmissionLatency,
    /// Time from submission to completion.
    CompletionLatency,
    /// Both.
    Latency,
    /// Percentile of a latency.
    Percentile,
    /// Share of I/Os in a bucket.
    Bucket,
    /// What an interval of a run had.
    Interval,
    /// Shares of CPU time, context switches, faults.
    Cpu,
    /// Shares of depths, batches.
    Depth,
    /// What the kernel counted of a disk.
    DiskStatistic,
    /// A score of a benchmark.
    Score,
    /// Retransmitted segments.
    Retransmits,
    /// Ratio of two others, in percent or times.
    Ratio,
    /// Anything else.
    Other,
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Where it stands.
    pub spot: Spot,
    /// What it measures.
    pub metric: Metric,
    /// What it counts.
    pub unit: Unit,
    /// As printed, in the base of its unit.
    pub value: f64,
    /// What its digits stand for.
    pub interval: Interval,
    /// Where it comes from.
    pub kind: Kind,
    /// Whether it holds.
    pub status: Status,
    /// The rule that settled the status, or why none could.
    pub why: &'static str,
}

//! Every figure of a page, and if it holds.

use crate::number::{Interval, NumberUnit};
use crate::page::TextSpan;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    Raw,
    Cell,
    /// A figure computed from others: a ratio, a loss, a sum.
    Derived,
    Prose,
}

/// Result of checking a figure, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The figure differs from the result of its operands.
    DoesNotHold,
    /// The figure was recomputed from others and agrees.
    Holds,
    /// No other figures give it exactly, but it lies within its bounds.
    Plausible,
    /// The page has nothing to compare the figure with.
    CannotBeChecked,
}

impl Status {
    pub const ALL: [Status; 4] =
        [Status::Holds, Status::Plausible, Status::DoesNotHold, Status::CannotBeChecked];

    /// Returns the status in words: `does not hold`.
    pub fn status_words(self) -> &'static str {
        match self {
            Status::Holds => "holds",
            Status::Plausible => "plausible",
            Status::DoesNotHold => "does not hold",
            Status::CannotBeChecked => "cannot be checked",
        }
    }
}

/// Quantity that a figure measures, in fio's words if it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    Iops,
    Bandwidth,
    Total,
    Issued,
    Runtime,
    SubmissionLatency,
    CompletionLatency,
    Latency,
    Percentile,
    /// A figure of one interval of a run.
    Interval,
    /// Shares of CPU time, context switches, faults.
    Cpu,
    Depth,
    Score,
    Retransmits,
    /// Ratio of two others, in percent or times.
    Ratio,
    Other,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub spot: TextSpan,
    pub metric: Metric,
    pub unit: NumberUnit,
    /// Printed value, in the base of its unit.
    pub value: f64,
    pub interval: Interval,
    pub kind: ClaimKind,
    pub status: Status,
    /// The rule that settled the status, or the reason that none could.
    pub why: &'static str,
}

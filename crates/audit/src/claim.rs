//! Claims: the figures of a page that are results, each with a status that shows whether it holds.

use crate::number::{Interval, NumberUnit};
use crate::page::TextSpan;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    Raw,
    Cell,
    /// Cell of a table in percent or times, which is computed from other figures.
    Derived,
    Prose,
}

/// Result of checking a figure. If rules give several, the first in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A rule found the figure wrong or computed another value for it.
    DoesNotHold,
    /// The figure was recomputed from others and agrees.
    Holds,
    /// No other figures give the figure exactly, but it lies within the bounds that they give.
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

/// Quantity that a figure measures, by fio's name if fio has one.
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
    /// Share of CPU time, or number of context switches or faults.
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
    /// Printed value in `unit` without a prefix: bytes, nanoseconds, bytes per second.
    pub value: f64,
    pub interval: Interval,
    pub kind: ClaimKind,
    pub status: Status,
    /// Id of the rule that settled the status, or the reason that none could.
    pub why: &'static str,
}

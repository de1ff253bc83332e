//! The tables that a scenario asks for.

use super::figure::MeasuredFigure;
use iotax_stats::Verdict;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioTable {
    /// What is above it.
    pub name: Option<String>,
    /// The column that the others are shares of.
    pub percent_of: Option<String>,
    pub columns: Vec<RatioColumn>,
    /// Its rows, as the workloads of the scenario.
    pub rows: Vec<RatioRow>,
    /// Why figures in it are not representative.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub emulated: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioColumn {
    pub head: String,
    /// The stack; `None` where the table has none.
    pub stack: Option<String>,
    /// Why its figures are not representative.
    pub emulated: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioRow {
    /// Name of the workload.
    pub workload: String,
    pub metric: String,
    /// `read` or `write`: the line above once more, of that direction of its mix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<&'static str>,
    /// A cell a column.
    pub cells: Vec<RatioCell>,
}

/// One stack under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioCell {
    pub value: MeasuredFigure,
    /// Over that of the column that shares are of; `None` of that column, and where none was asked
    /// for.
    pub share: Option<MeasuredFigure>,
    /// What follows from the share by itself; `None` of latencies.
    pub verdict: Option<Verdict>,
    /// What both ran into, where the share is that of a limit.
    pub masked: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<MeasuredFigure>,
}

impl RatioCell {
    /// Whether something follows from its share: not from that of a limit, nor from one of
    /// latencies without an interval.
    pub fn is_resolved(&self) -> bool {
        let has_interval = || self.share.as_ref().is_some_and(|share| share.bounds().is_some());
        self.masked.is_none()
            && self.verdict.as_ref().map_or_else(has_interval, Verdict::is_resolved)
    }
}

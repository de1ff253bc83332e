//! The tables that a scenario asks for.

use super::figure::MeasuredFigure;
use iotax_stats::Verdict;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioTable {
    pub name: Option<String>,
    /// Column of which the others are shares; `None` if the table has no shares.
    pub percent_of: Option<String>,
    pub columns: Vec<RatioColumn>,
    pub rows: Vec<RatioRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub emulated: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioColumn {
    pub head: String,
    /// Stack of the column; `None` where the table has none.
    pub stack: Option<String>,
    pub emulated: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioRow {
    pub workload: String,
    pub metric: String,
    /// `read` or `write`, if this row is about that direction of the mix in the row above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<&'static str>,
    pub cells: Vec<RatioCell>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioCell {
    pub value: MeasuredFigure,
    /// Figure over that of the column that shares are of; `None` for that column, and where no
    /// shares were asked for.
    pub share: Option<MeasuredFigure>,
    /// Conclusion from the share by itself; `None` for latencies.
    pub verdict: Option<Verdict>,
    /// Limit that both sides reached, if the share is that of the limit.
    pub masked: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<MeasuredFigure>,
}

impl RatioCell {
    /// Returns true if its share allows a conclusion. The share of a limit does not, nor does a
    /// ratio of latencies without an interval.
    pub fn is_resolved(&self) -> bool {
        let has_interval = || self.share.as_ref().is_some_and(|share| share.bounds().is_some());
        self.masked.is_none()
            && self.verdict.as_ref().map_or_else(has_interval, Verdict::is_resolved)
    }
}

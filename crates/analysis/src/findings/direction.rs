//! Reads and writes separately, under a load that has both.

use super::charge::ChargeFinding;
use super::comparison::RateFinding;
use super::figure::MeasuredFigure;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionRow {
    pub direction: &'static str,
    pub iops: MeasuredFigure,
    pub bytes_per_s: MeasuredFigure,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable_bytes_per_s: Option<MeasuredFigure>,
}

/// One direction of a comparison of rates. It cannot be the headline and is not in its family,
/// which cover whole loads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionComparison {
    pub direction: &'static str,
    #[serde(flatten)]
    pub rate: RateFinding,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionCharge {
    pub direction: &'static str,
    pub latency: ChargeFinding,
}

/// One direction of a line of a bill; it has no verdict of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BillDirection {
    pub direction: &'static str,
    pub ratio: MeasuredFigure,
    /// Added mean latency in ns; only at depth 1.
    pub added_latency: MeasuredFigure,
}

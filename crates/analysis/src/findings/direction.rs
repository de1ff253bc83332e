//! Reads and writes apart, under a load that has both.

use super::charge::ChargeFinding;
use super::comparison::RateFinding;
use super::figure::MeasuredFigure;
use serde::Serialize;

/// One direction of a stack under a mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionRow {
    pub direction: &'static str,
    pub iops: MeasuredFigure,
    /// Bytes a second (acknowledged).
    pub bytes_per_s: MeasuredFigure,
    /// Bytes a second with the flush; only of writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable_bytes_per_s: Option<MeasuredFigure>,
}

/// One direction of a comparison of rates. It is no comparison of the run's own: the headline and
/// its family are of the whole mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionComparison {
    pub direction: &'static str,
    /// What is found of it, with all reads and writes apart of the run in mind.
    #[serde(flatten)]
    pub rate: RateFinding,
}

/// One direction of a stack's latency against the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionCharge {
    pub direction: &'static str,
    /// Mean latency at the matched rate.
    pub latency: ChargeFinding,
}

/// One direction of a line of a bill; what follows from the line holds of it too.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BillDirection {
    pub direction: &'static str,
    /// Rate with the layer over rate without.
    pub ratio: MeasuredFigure,
    /// Added mean latency in ns; only at depth 1.
    pub added_latency: MeasuredFigure,
}

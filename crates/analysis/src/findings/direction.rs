//! Reads and writes apart, under a load that has both.

use super::charge::ChargeFinding;
use super::figure::{Figure, Interval};
use iotax_stats::{Phrase, Verdict};
use serde::Serialize;

/// One direction of a stack under a mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionRow {
    /// `read` or `write`.
    pub direction: &'static str,
    /// I/Os a second.
    pub iops: Figure,
    /// Bytes a second (acknowledged).
    pub bytes_per_s: Figure,
    /// Bytes a second with the flush; only of writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable_bytes_per_s: Option<Figure>,
}

/// One direction of a comparison of rates. It is no comparison of the run's own: the headline and its family are of the whole mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionComparison {
    /// `read` or `write`.
    pub direction: &'static str,
    /// `4k random 50/50 mixed read IOPS (burst) at iodepth 1 x 4`.
    pub quantity: String,
    /// The conclusion, with all reads and writes apart of the run in mind.
    pub verdict: Verdict,
    /// What would settle it, where something would.
    pub remedy: Option<String>,
    /// In words, naming stack, baseline and quantity.
    pub sentence: String,
    /// The sentence without its stacks, to be said of several at once.
    #[serde(skip)]
    pub phrase: Phrase,
    /// Rate of the stack over that of the baseline.
    pub ratio: Figure,
    /// The ratio's interval that holds together with those of all reads and writes apart of the run.
    pub simultaneous: Option<Interval>,
}

/// One direction of a stack's latency against the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionCharge {
    /// `read` or `write`.
    pub direction: &'static str,
    /// Mean latency at the matched rate.
    pub latency: ChargeFinding,
}

/// One direction of a line of a bill; what follows from the line holds of it too.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BillDirection {
    /// `read` or `write`.
    pub direction: &'static str,
    /// Rate with the layer over rate without.
    pub ratio: Figure,
    /// Added mean latency in ns; only at depth 1.
    pub added_latency: Figure,
}

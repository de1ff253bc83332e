//! Results of durability trials: which acknowledged writes survived a kill.

use super::figure::MeasuredFigure;
use iotax_model::record::trial::ReadBack;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Durability {
    /// One row per stack and kind of kill that was tried.
    pub rows: Vec<DurabilityRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DurabilityRow {
    pub stack: String,
    /// What was killed: `guest`, `qemu` or `daemon`.
    pub kill: &'static str,
    pub kills: u64,
    /// Number of kills that lost or tore something.
    pub lossy: u64,
    pub share: MeasuredFigure,
    /// Number of acknowledged writes, of 4 KiB each.
    pub acknowledged: u64,
    /// Blocks read back after all kills together, without examples.
    #[serde(flatten)]
    pub found: ReadBack,
    /// Seconds of the shortest and of the longest load before a kill.
    pub load_s: (f64, f64),
    /// Number of kills after the writer had reached its limit, so that nothing was in flight.
    pub idle: u64,
    /// Reason why blocks that were kept may still be lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<&'static str>,
    /// Sentence for the row, including the caution.
    pub sentence: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    pub emulated: Option<String>,
}

impl DurabilityRow {
    /// Returns true if something was lost or torn.
    pub fn is_broken(&self) -> bool {
        self.lossy > 0
    }
}

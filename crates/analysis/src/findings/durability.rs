//! Durability trials.

use super::figure::MeasuredFigure;
use iotax_model::record::trial::ReadBack;
use serde::Serialize;

/// Everything about the trials of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Durability {
    /// A row a stack and kind of kill that was tried.
    pub rows: Vec<DurabilityRow>,
}

/// One stack, killed in one way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DurabilityRow {
    pub stack: String,
    /// What was killed: `guest`, `qemu`, `daemon`.
    pub kill: &'static str,
    pub kills: u64,
    /// Kills that lost or tore something.
    pub lossy: u64,
    /// That over all kills.
    pub share: MeasuredFigure,
    /// Writes of 4 KiB that were acknowledged.
    pub acknowledged: u64,
    /// What was read back after all kills together, without examples.
    #[serde(flatten)]
    pub found: ReadBack,
    /// Shortest and longest load before a kill, seconds.
    pub load_s: (f64, f64),
    /// Kills that struck when the writer had written all that it might: nothing was under way.
    pub idle: u64,
    /// Why what was kept is not to be read as kept for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<&'static str>,
    /// In words, with that.
    pub sentence: String,
    /// Some of the blocks that were not kept, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Why the guest is not representative.
    pub emulated: Option<String>,
}

impl DurabilityRow {
    /// Whether something was lost or torn.
    pub fn is_broken(&self) -> bool {
        self.lossy > 0
    }
}

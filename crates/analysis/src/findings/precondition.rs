//! Preconditioning of each stack's drives before the measurement.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PreconditionReport {
    pub stack: String,
    /// Passes over the stack's drives, one for each batch of drives that were written at the same
    /// time.
    pub passes: Vec<PassesReport>,
    pub loads: Vec<LoadReport>,
    pub sentence: String,
}

/// Passes over drives that were written at the same time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassesReport {
    pub drives: Vec<String>,
    /// Number of times that each drive was to be written.
    pub passes: u32,
    /// Bytes of each drive that were to be written, for all passes.
    pub bytes: u64,
    pub written: u64,
    /// Bytes per second of these drives together, with flushes; `None` if nothing was written.
    pub bytes_per_s: Option<f64>,
    pub seconds: f64,
}

/// Rounds of a load on one stack before it was measured, over all set-ups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadReport {
    pub workload: String,
    /// Number of set-ups of the stack after which the rounds were made.
    pub set_ups: u64,
    /// Number of these set-ups after which the stack was steady at the end of the rounds.
    pub steady: u64,
    /// Fewest rounds of a set-up.
    pub least_rounds: u32,
    pub most_rounds: u32,
    pub round_ns: u64,
    /// True if the load ran without the rate limit that it has.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_rate: bool,
    /// Total bytes written through the stack.
    pub written: u64,
    /// Total seconds, including the other stacks that were up.
    pub seconds: f64,
}

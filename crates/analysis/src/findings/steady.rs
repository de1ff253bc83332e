//! The regime of writes.

use iotax_facts::machine::WriteCache;
use iotax_model::scenario::Regime;
use iotax_stats::steady::Why;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WritesReport {
    /// Regime that the verdicts are about.
    pub regime: Regime,
    /// Known caches on the path, the largest first.
    pub known_caches: Vec<WriteCache>,
    pub visits: Vec<VisitReport>,
    pub sentences: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VisitReport {
    pub visit: u32,
    /// Bytes written to the drive that got the least.
    pub written: f64,
    pub rounds: usize,
    /// Index of the first round past the caches, from 0; `None`: it was not reached.
    pub steady_from: Option<usize>,
    #[serde(flatten)]
    pub why: Why,
    /// Stacks whose pace fell and stayed down.
    pub changes: Vec<ChangeReport>,
}

/// A fall of pace, in bytes a second. It includes the flush where flushes show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeReport {
    pub stack: String,
    /// Bytes that its drive had received in the visit by then.
    pub written: f64,
    pub before: f64,
    /// Mean pace after the fall.
    pub after: f64,
}

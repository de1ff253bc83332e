//! The regime of writes.

use iotax_facts::machine::WriteCache;
use iotax_model::scenario::Regime;
use iotax_stats::steady::Why;
use serde::Serialize;

/// What is said about the writes of a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WritesReport {
    /// What the verdicts are about.
    pub regime: Regime,
    /// Caches that were known on the path, the largest first.
    pub known_caches: Vec<WriteCache>,
    pub visits: Vec<VisitReport>,
    pub sentences: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VisitReport {
    pub visit: u32,
    /// Bytes that the least written drive got.
    pub written: f64,
    pub rounds: usize,
    /// The first of them behind the caches, from 0; `None`: that was not reached.
    pub steady_from: Option<usize>,
    /// By what it was reached.
    #[serde(flatten)]
    pub why: Why,
    /// Stacks whose pace fell and stayed down.
    pub changes: Vec<ChangeReport>,
}

/// A fall of pace, in bytes a second; with the flush, where flushes show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeReport {
    /// Name of the stack.
    pub stack: String,
    /// Bytes that its drive had got in the visit by then.
    pub written: f64,
    pub before: f64,
    /// Mean pace after it.
    pub after: f64,
}

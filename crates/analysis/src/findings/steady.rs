//! Regime of writes: into the caches, or past them.

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
    /// Bytes written in the visit to the drive that got the least.
    pub written: f64,
    pub rounds: usize,
    /// Index of the first round past the caches, from 0; `None` if there was none.
    pub steady_from: Option<usize>,
    #[serde(flatten)]
    pub why: Why,
    /// Falls of the write rate that lasted, with their stacks.
    pub changes: Vec<ChangeReport>,
}

/// Fall of a stack's write rate, in bytes per second; with the time of the flush if flushes show
/// the fall.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeReport {
    pub stack: String,
    /// Bytes that its drive had received in the visit by then.
    pub written: f64,
    pub before: f64,
    /// Mean rate after the fall.
    pub after: f64,
}

//! A stack by itself and against the baseline: rate, latency, CPU time, tails, and the verdicts
//! that hold over all comparisons of a run.

pub(crate) mod baseline;
pub(crate) mod charges;
pub(crate) mod directions;
#[cfg(test)]
mod directions_tests;
pub(crate) mod drives;
pub(crate) mod headline;
pub(crate) mod judged;
pub(crate) mod probes;
pub(crate) mod ratio;
pub(crate) mod remedy;
pub(crate) mod rows;
pub(crate) mod simultaneous;
pub(crate) mod standing;
pub(crate) mod tails;
pub(crate) mod verdicts;

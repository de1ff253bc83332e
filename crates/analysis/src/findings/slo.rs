//! Service levels: the requested ones, and whether each stack keeps them.

use super::figure::MeasuredFigure;
use iotax_stats::exceedance::ServiceVerdict;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceLevelFinding {
    pub stack: String,
    /// Service level in words: `read p99 < 500us`.
    pub level: String,
    /// Share of the I/Os that may take longer, a fraction.
    pub allowed: f64,
    /// Number of I/Os that took longer.
    pub beyond: u64,
    /// Share of the I/Os that take longer; its interval holds together with those of all service
    /// levels of the run.
    pub share: MeasuredFigure,
    pub verdict: ServiceVerdict,
    pub sentence: String,
}

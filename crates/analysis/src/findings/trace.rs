//! Course of the rate of one stack under a load without a pause.

use super::figure::MeasuredFigure;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceFinding {
    pub stack: String,
    /// `1/s`, or `B/s` for loads whose rate is given in bytes.
    pub unit: &'static str,
    /// Stretches of one level each, in order of time; at least one.
    pub levels: Vec<TraceLevel>,
    /// True if the last level holds by SNIA's two bounds on a steady window.
    pub is_steady: bool,
    pub sentence: String,
}

/// A stretch of a trace in which the rate keeps one level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceLevel {
    /// Seconds from the start of the trace.
    pub from_s: f64,
    pub to_s: f64,
    /// Bytes moved from the start of the trace to the start of the stretch.
    pub after_bytes: f64,
    /// Mean rate, in the unit of the trace.
    pub rate: MeasuredFigure,
}

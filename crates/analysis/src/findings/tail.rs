//! The slow I/Os of a stack, counted beyond a percentile of the baseline.

use super::figure::MeasuredFigure;
use serde::Serialize;

/// How many of a stack's I/Os take longer than a percentile of the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TailFinding {
    /// `read`, `write` or `trim`.
    pub direction: &'static str,
    /// Of the percentile, a fraction: 0.99.
    pub quantile: f64,
    /// The baseline's percentile, ns.
    pub threshold: MeasuredFigure,
    /// Share of the stack's I/Os that take longer, a fraction. Its interval is that of the ratio of
    /// both shares, times the share of the baseline, which is known.
    pub share: MeasuredFigure,
    /// The same percentile of the stack less the baseline's, ns.
    pub added: MeasuredFigure,
    /// `1 % of file's reads take longer than 310 us, of loop's 2.4 % +- 0.5 %`; `None` without a
    /// share.
    pub sentence: Option<String>,
}

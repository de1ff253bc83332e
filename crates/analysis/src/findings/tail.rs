//! Slow I/Os of a stack, counted beyond a percentile of the baseline.

use super::figure::MeasuredFigure;
use serde::Serialize;

/// Share of a stack's I/Os that take longer than a percentile of the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TailFinding {
    /// `read`, `write` or `trim`.
    pub direction: &'static str,
    /// Quantile of the percentile, a fraction: 0.99.
    pub quantile: f64,
    /// Percentile of the baseline in ns.
    pub threshold: MeasuredFigure,
    /// Share of the stack's I/Os that take longer, a fraction. Its interval is that of the ratio of
    /// both shares, times the share of the baseline, which is known.
    pub share: MeasuredFigure,
    /// Percentile of the stack minus that of the baseline, in ns.
    pub added: MeasuredFigure,
    /// Sentence such as `1 % of file's reads take longer than 310 us, of loop's 2.4 % +- 0.5 %`;
    /// `None` without a share.
    pub sentence: Option<String>,
}

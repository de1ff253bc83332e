//! Intervals that hold at once.

use super::findings::{Interval, MeasuredFigure};
use iotax_stats::family::{self, Family};

/// A figure with the interval that holds for so many at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimultaneousFigure {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl SimultaneousFigure {
    /// Bonferroni: of `points` intervals each may miss in 5 % / `points`. The interval is stretched
    /// by the ratio of the two t quantiles, as a logarithm. `None`: the figure has no interval.
    pub fn stretch_figure(figure: &MeasuredFigure, points: usize) -> Option<SimultaneousFigure> {
        let MeasuredFigure::Known {
            value, interval: Interval::Bounds { low, high, freedom }, ..
        } = figure
        else {
            return None;
        };
        let (low, high, freedom) = (*low, *high, (*freedom)?);
        if low <= 0.0 {
            return None;
        }
        let stretch = family::stretch(Family::whole(points), freedom);
        let reach = |bound: f64| value * (bound / value).powf(stretch);
        Some(SimultaneousFigure { value: *value, low: reach(low), high: reach(high) })
    }

    /// Whether the two intervals have nothing in common.
    pub fn apart(&self, other: &SimultaneousFigure) -> bool {
        self.low > other.high || other.low > self.high
    }
}

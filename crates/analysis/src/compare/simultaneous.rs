//! Intervals that hold for several figures at once.

use crate::findings::{Interval, MeasuredFigure};
use iotax_stats::family::{self, Family};

/// Figure with an interval that holds for several figures at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimultaneousFigure {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl SimultaneousFigure {
    /// Stretches the interval by Bonferroni: each of `points` intervals may miss in 5 % / `points`
    /// of cases. The logarithm is stretched by the ratio of the two t quantiles. `None` if the
    /// figure has no interval, no degrees of freedom, or a bound that is not positive.
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
        let stretch = family::stretch(Family::single_kind(points), freedom);
        let reach = |bound: f64| value * (bound / value).powf(stretch);
        Some(SimultaneousFigure { value: *value, low: reach(low), high: reach(high) })
    }

    /// Returns true if the two intervals do not overlap.
    pub fn is_apart_from(&self, other: &SimultaneousFigure) -> bool {
        self.low > other.high || other.low > self.high
    }
}

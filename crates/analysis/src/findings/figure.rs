//! A value with its unit, sample size and interval, or the reason why it is missing.

use serde::Serialize;

/// Unit in which the size of a figure's sample is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleUnit {
    Rounds,
    Visits,
    /// Visits that were asked for with `attaches`.
    Attaches,
    /// Runs of a program, such as those of an imported output.
    Runs,
    #[serde(rename = "runs and rounds")]
    RunsAndRounds,
    Samples,
    Kills,
    Points,
    Blocks,
    Reads,
    Readings,
    Links,
    Ratings,
    #[serde(rename = "published figures")]
    PublishedFigures,
    Hosts,
}

impl SampleUnit {
    pub fn word(self) -> &'static str {
        match self {
            SampleUnit::Rounds => "rounds",
            SampleUnit::Visits => "visits",
            SampleUnit::Attaches => "attaches",
            SampleUnit::Runs => "runs",
            SampleUnit::RunsAndRounds => "runs and rounds",
            SampleUnit::Samples => "samples",
            SampleUnit::Kills => "kills",
            SampleUnit::Points => "points",
            SampleUnit::Blocks => "blocks",
            SampleUnit::Reads => "reads",
            SampleUnit::Readings => "readings",
            SampleUnit::Links => "links",
            SampleUnit::Ratings => "ratings",
            SampleUnit::PublishedFigures => "published figures",
            SampleUnit::Hosts => "hosts",
        }
    }
}

/// A figure, or the reason why it has no value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum MeasuredFigure {
    Known {
        value: f64,
        /// `1/s`, `B/s`, `ns` or `1` (a ratio).
        unit: &'static str,
        n: u64,
        of: SampleUnit,
        /// The 95 % interval.
        interval: Interval,
        #[serde(skip_serializing_if = "Option::is_none")]
        caution: Option<String>,
    },
    Failed {
        reason: String,
    },
    Missing {
        reason: String,
    },
}

impl MeasuredFigure {
    pub fn missing(reason: impl ToString) -> MeasuredFigure {
        MeasuredFigure::Missing { reason: reason.to_string() }
    }

    pub fn known_value(
        value: f64,
        unit: &'static str,
        (n, of): (u64, SampleUnit),
        interval: Interval,
    ) -> MeasuredFigure {
        MeasuredFigure::Known { value, unit, n, of, interval, caution: None }
    }

    /// Creates a value without an interval, because too little was measured for one.
    pub fn bare(
        value: f64,
        unit: &'static str,
        counted: (u64, SampleUnit),
        why: impl ToString,
    ) -> MeasuredFigure {
        MeasuredFigure::known_value(
            value,
            unit,
            counted,
            Interval::Missing { missing: why.to_string() },
        )
    }

    pub fn cautioned(mut self, other: Option<String>) -> MeasuredFigure {
        if let MeasuredFigure::Known { caution, .. } = &mut self {
            *caution = other;
        }
        self
    }

    /// Returns the figure with another interval, if `other` has one.
    pub fn with_interval(&self, other: Option<&Interval>) -> MeasuredFigure {
        let mut figure = self.clone();
        if let (MeasuredFigure::Known { interval, .. }, Some(other)) = (&mut figure, other) {
            interval.clone_from(other);
        }
        figure
    }

    /// Returns the figure with bounds that are `times` as far from its value.
    pub fn stretched(&self, times: f64) -> MeasuredFigure {
        let mut figure = self.clone();
        if let MeasuredFigure::Known {
            value, interval: Interval::Bounds { low, high, .. }, ..
        } = &mut figure
        {
            (*low, *high) = (*value + (*low - *value) * times, *value + (*high - *value) * times);
        }
        figure
    }

    pub fn value(&self) -> Option<f64> {
        match self {
            MeasuredFigure::Known { value, .. } => Some(*value),
            _ => None,
        }
    }

    /// Returns the reason why there is no value.
    pub fn reason(&self) -> Option<&str> {
        match self {
            MeasuredFigure::Known { .. } => None,
            MeasuredFigure::Failed { reason } | MeasuredFigure::Missing { reason } => Some(reason),
        }
    }

    pub fn bounds(&self) -> Option<(f64, f64)> {
        match self {
            MeasuredFigure::Known { interval: Interval::Bounds { low, high, .. }, .. } => {
                Some((*low, *high))
            }
            _ => None,
        }
    }

    /// Returns the figure with its value and bounds mapped, inverted or scaled for example; `map`
    /// must be monotone.
    pub fn map(self, unit: &'static str, map: impl Fn(f64) -> f64) -> MeasuredFigure {
        match self {
            MeasuredFigure::Known { value, n, of, interval, caution, .. } => {
                MeasuredFigure::Known {
                    value: map(value),
                    unit,
                    n,
                    of,
                    interval: interval.map(map),
                    caution,
                }
            }
            other => other,
        }
    }
}

/// The 95 % interval, or the reason why it is missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Interval {
    Bounds {
        low: f64,
        high: f64,
        /// Degrees of freedom of Student's t, if the interval is of that kind: an interval of
        /// another confidence needs them.
        #[serde(skip)]
        freedom: Option<f64>,
    },
    Missing {
        missing: String,
    },
}

impl Interval {
    pub fn from_bounds(low: f64, high: f64) -> Interval {
        Interval::Bounds { low, high, freedom: None }
    }

    pub fn of_t(low: f64, high: f64, freedom: f64) -> Interval {
        Interval::Bounds { low, high, freedom: Some(freedom) }
    }

    fn map(self, map: impl Fn(f64) -> f64) -> Interval {
        match self {
            Interval::Bounds { low, high, freedom } => {
                let (low, high) = (map(low), map(high));
                Interval::Bounds { low: low.min(high), high: low.max(high), freedom }
            }
            missing => missing,
        }
    }
}

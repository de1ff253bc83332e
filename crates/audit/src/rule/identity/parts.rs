//! How figures are made of several others of their kind: sums, means, medians, extremes.

use crate::number::{Interval, Quantity, Unit};

/// How a figure is made of its parts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum What {
    Sum,
    Mean,
    Median,
    Most,
    Least,
}

impl What {
    pub const ALL: [What; 5] = [What::Sum, What::Mean, What::Median, What::Most, What::Least];

    /// Its word: `median`.
    pub fn word(self) -> &'static str {
        match self {
            What::Sum => "sum",
            What::Mean => "mean",
            What::Median => "median",
            What::Most => "maximum",
            What::Least => "minimum",
        }
    }

    pub fn given(self, parts: &[Quantity]) -> Interval {
        let middle = |of: fn(&Quantity) -> f64| iotax_units::median(parts.iter().map(of));
        let sum = parts.iter().fold(Interval::exact(0.0), |sum, part| sum.plus(part.interval()));
        match self {
            What::Sum => sum,
            What::Mean => sum.scaled(1.0 / parts.len() as f64),
            What::Median => {
                Interval { low: middle(|one| one.figure.low), high: middle(|one| one.figure.high) }
            }
            What::Most => Interval {
                low: parts.iter().map(|one| one.figure.low).fold(f64::MIN, f64::max),
                high: parts.iter().map(|one| one.figure.high).fold(f64::MIN, f64::max),
            },
            What::Least => Interval {
                low: parts.iter().map(|one| one.figure.low).fold(f64::MAX, f64::min),
                high: parts.iter().map(|one| one.figure.high).fold(f64::MAX, f64::min),
            },
        }
    }
}

/// A figure with the parts that it is said to be made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    pub total: Quantity,
    pub parts: Vec<Quantity>,
}

impl Made {
    /// Whether there are parts, all of its unit, that can be added up.
    pub fn sound(&self) -> bool {
        let unit = self.total.unit;
        // `273 K` and `14 M` may count in 1024.
        let plain = matches!(unit, Unit::Bare | Unit::Bytes);
        let alike = |part: &Quantity| part.unit == unit && (!plain || part.scale == self.total.scale);
        self.parts.len() >= 2 && !matches!(unit, Unit::Percent | Unit::Times) && self.parts.iter().all(alike)
    }

    /// Whether its parts give it, within what printed digits stand for.
    pub fn holds(&self, what: What) -> bool {
        what.given(&self.parts).wider(1e-9).meets(self.total.interval())
    }
}

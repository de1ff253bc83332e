//! How ratios are computed.

use crate::number::{Interval, Unit};
use serde::Serialize;

/// A form of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// a / b.
    Share,
    /// 1 - a / b.
    Loss,
    /// a / b - 1.
    Gain,
}

impl Form {
    /// All, the plainest first.
    pub const ALL: [Form; 3] = [Form::Share, Form::Loss, Form::Gain];

    /// Its word: `loss`.
    pub fn word(self) -> &'static str {
        match self {
            Form::Share => "share",
            Form::Loss => "loss",
            Form::Gain => "gain",
        }
    }

    /// What operands give: percent, or times. `None` where the divisor may be nothing.
    pub fn of(self, numerator: Interval, denominator: Interval, unit: Unit) -> Option<Interval> {
        let share = numerator.over(denominator)?;
        let made = match self {
            Form::Share => share,
            Form::Loss => Interval { low: 1.0 - share.high, high: 1.0 - share.low },
            Form::Gain => Interval { low: share.low - 1.0, high: share.high - 1.0 },
        };
        Some(if unit == Unit::Percent { made.scaled(100.0) } else { made })
    }

    /// The arithmetic in words: `1 - 20.4k / 25.0k`.
    pub fn words(self, numerator: &str, denominator: &str) -> String {
        match self {
            Form::Share => format!("{numerator} / {denominator}"),
            Form::Loss => format!("1 - {numerator} / {denominator}"),
            Form::Gain => format!("{numerator} / {denominator} - 1"),
        }
    }
}

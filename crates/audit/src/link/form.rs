//! How ratios are computed.

use crate::number::{Interval, Unit};
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    Share,
    Loss,
    Gain,
    /// |a / b - 1|, in whichever direction.
    Change,
    /// The larger of a / b and b / a: `2.4x` better, whether more or less is.
    Multiple,
}

impl Form {
    pub const ALL: [Form; 5] = [Form::Share, Form::Loss, Form::Gain, Form::Change, Form::Multiple];

    /// What operands give: percent, or times. `None` where the divisor may be nothing.
    pub fn of(self, numerator: Interval, denominator: Interval, unit: Unit) -> Option<Interval> {
        let share = numerator.over(denominator)?;
        let made = match self {
            Form::Multiple if share.middle() < 1.0 => denominator.over(numerator)?,
            Form::Share | Form::Multiple => share,
            Form::Loss => Interval { low: 1.0 - share.high, high: 1.0 - share.low },
            Form::Gain => Interval { low: share.low - 1.0, high: share.high - 1.0 },
            Form::Change => {
                let [low, high] = [share.low - 1.0, share.high - 1.0].map(f64::abs);
                let across = share.has(1.0);
                Interval { low: if across { 0.0 } else { low.min(high) }, high: low.max(high) }
            }
        };
        Some(if unit == Unit::Percent { made.scaled(100.0) } else { made })
    }

    /// The arithmetic in words: `1 - 20.4k / 25.0k`.
    pub fn words(self, numerator: &str, denominator: &str) -> String {
        match self {
            Form::Share | Form::Multiple => format!("{numerator} / {denominator}"),
            Form::Loss => format!("1 - {numerator} / {denominator}"),
            Form::Gain => format!("{numerator} / {denominator} - 1"),
            Form::Change => format!("|{numerator} / {denominator} - 1|"),
        }
    }
}

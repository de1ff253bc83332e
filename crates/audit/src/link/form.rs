//! Forms in which ratios are computed.

use crate::number::{Interval, NumberUnit};
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkForm {
    Share,
    Loss,
    Gain,
    /// |a / b - 1|, in either direction.
    Change,
    /// The larger of a / b and b / a: `2.4x` better, whether more or less is better.
    Multiple,
}

impl LinkForm {
    pub const ALL: [LinkForm; 5] =
        [LinkForm::Share, LinkForm::Loss, LinkForm::Gain, LinkForm::Change, LinkForm::Multiple];

    /// Returns the ratio that this form computes from the operands, in percent if that is `unit`,
    /// else as a factor. `None` if the divisor may be zero.
    pub fn quotient(
        self,
        numerator: Interval,
        denominator: Interval,
        unit: NumberUnit,
    ) -> Option<Interval> {
        let share = numerator.ratio_to(denominator)?;
        let made = match self {
            LinkForm::Multiple if share.middle() < 1.0 => denominator.ratio_to(numerator)?,
            LinkForm::Share | LinkForm::Multiple => share,
            LinkForm::Loss => Interval { low: 1.0 - share.high, high: 1.0 - share.low },
            LinkForm::Gain => Interval { low: share.low - 1.0, high: share.high - 1.0 },
            LinkForm::Change => {
                let [low, high] = [share.low - 1.0, share.high - 1.0].map(f64::abs);
                let across = share.contains_value(1.0);
                Interval { low: if across { 0.0 } else { low.min(high) }, high: low.max(high) }
            }
        };
        Some(if unit == NumberUnit::Percent { made.scaled(100.0) } else { made })
    }

    /// Returns the arithmetic in words: `1 - 20.4k / 25.0k`.
    pub fn arithmetic_words(self, numerator: &str, denominator: &str) -> String {
        match self {
            LinkForm::Share | LinkForm::Multiple => format!("{numerator} / {denominator}"),
            LinkForm::Loss => format!("1 - {numerator} / {denominator}"),
            LinkForm::Gain => format!("{numerator} / {denominator} - 1"),
            LinkForm::Change => format!("|{numerator} / {denominator} - 1|"),
        }
    }
}

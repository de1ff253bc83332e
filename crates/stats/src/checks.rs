//! Results of the checks that may withhold the verdict on a ratio: for carry-over, for an effect of
//! the slices' length, and for a break of the level. [`super::carry`], [`super::length`] and
//! [`super::level`] do the checks.

use serde::Serialize;

/// Factor by which the slices of a long round are longer than those of other rounds (except in
/// series of short slices).
pub const TIMES: u64 = 4;
/// Significance level at which the ratio in long slices must differ from that in the others. The
/// check withholds verdicts, so chance must hardly ever trigger it.
const ALPHA: f64 = 0.001;

/// Effect of a preceding slice of another stack on a stack's own rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CarryOver {
    /// The stack's rate right after another stack minus its rate right after itself, as a fraction
    /// of its mean rate.
    pub effect: f64,
    /// Half-width of the 99.9 % interval of `effect`.
    pub half_width: f64,
    /// Number of rounds in the estimate: those with slices of both kinds.
    pub rounds: usize,
}

impl CarryOver {
    /// Returns true if the effect is significantly larger than `allowed`.
    pub fn exceeds(&self, allowed: f64) -> bool {
        self.effect.abs() - self.half_width > allowed
    }
}

/// Comparison of the ratio in long slices with that in the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LengthCheck {
    /// Ratio over the long rounds.
    pub ratio: f64,
    /// ln of `ratio` minus ln of the ratio in plain rounds.
    pub difference: f64,
    /// p value: probability of so large a difference by chance.
    pub p: f64,
    /// Number of long rounds.
    pub rounds: usize,
}

impl LengthCheck {
    /// Converts a result about times to one about rates: the ratio is inverted.
    pub fn inverted(self) -> LengthCheck {
        LengthCheck { ratio: 1.0 / self.ratio, difference: -self.difference, ..self }
    }

    /// Returns true if the ratios differ significantly, and by more than `allowed` (of ln R).
    pub fn disagrees(&self, allowed: f64) -> bool {
        self.p < ALPHA && self.difference.abs() > allowed
    }
}

/// Rounds on one side of a break of the level, without the one next to it, whose slices may be on
/// both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Regime {
    /// Number of rounds.
    pub rounds: usize,
    /// Mean of the baseline's values: work per second, or seconds per unit of work.
    pub level: f64,
    /// Ratio of totals, stack over baseline.
    pub ratio: f64,
    /// Half-width of the 95 % interval of the ratio's logarithm.
    pub half_width: f64,
}

/// Effect of a break on the ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// The level changed, the ratio did not.
    LevelOnly,
    /// The ratio changed with the level.
    RatioToo,
    /// Both stacks run alike and steadily after the break: something limits the rate.
    RateLimited,
}

/// Break that divides a series of rounds best in two levels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelSplit {
    /// Index of the first round after the break, among the pairs of rounds.
    pub at: usize,
    /// Effect of the break on the ratio.
    pub meaning: Meaning,
    /// Rounds before the break, without the last.
    pub before: Regime,
    /// Rounds after the break, without the one at `at`.
    pub after: Regime,
}

impl LevelSplit {
    /// Converts a break about times to one about rates: level and ratio of both sides are inverted.
    pub fn inverted(self) -> LevelSplit {
        let turned =
            |side: Regime| Regime { level: 1.0 / side.level, ratio: 1.0 / side.ratio, ..side };
        LevelSplit { before: turned(self.before), after: turned(self.after), ..self }
    }
}

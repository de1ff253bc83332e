//! Results of the checks beside a ratio that may withhold its verdict: a carry-over, an effect of
//! the slices' length, a break of the level. [`super::carry`], [`super::length`] and
//! [`super::level`] do the checks.

use serde::Serialize;

/// Factor by which long slices are longer.
pub const TIMES: u64 = 4;
/// Significance level at which the two ratios must differ. The check withholds verdicts, so chance
/// must hardly ever trigger it.
const ALPHA: f64 = 0.001;

/// Effect of a preceding slice of another stack on a stack's own rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CarryOver {
    /// Rate after another stack minus rate after itself, as a fraction of its mean.
    pub effect: f64,
    /// Half-width of its interval at 99.9 %.
    pub half_width: f64,
    /// Number of rounds in which both were seen.
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
    /// ln of it minus ln of the ordinary ratio.
    pub difference: f64,
    /// Probability of such a difference by chance.
    pub p: f64,
    /// Number of long rounds.
    pub rounds: usize,
}

impl LengthCheck {
    /// Converts a result found in times to rates.
    pub fn inverted(self) -> LengthCheck {
        LengthCheck { ratio: 1.0 / self.ratio, difference: -self.difference, ..self }
    }

    /// Returns true if the ratios differ significantly, and by more than `allowed` (of ln R).
    pub fn disagrees(&self, allowed: f64) -> bool {
        self.p < ALPHA && self.difference.abs() > allowed
    }
}

/// One side of a break.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Regime {
    /// Number of its rounds.
    pub rounds: usize,
    /// Mean level, in the baseline's unit.
    pub level: f64,
    /// Ratio B / A of totals.
    pub ratio: f64,
    /// Half-width of the 95 % interval of its logarithm.
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

/// The best single break of the level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelSplit {
    /// First round after the break.
    pub at: usize,
    /// Effect of the break on the ratio.
    pub meaning: Meaning,
    /// Rounds before the break.
    pub before: Regime,
    /// Rounds from `at` on.
    pub after: Regime,
}

impl LevelSplit {
    /// Converts a break found in times to rates: level and ratio of both sides are inverted.
    pub fn inverted(self) -> LevelSplit {
        let turned =
            |side: Regime| Regime { level: 1.0 / side.level, ratio: 1.0 / side.ratio, ..side };
        LevelSplit { before: turned(self.before), after: turned(self.after), ..self }
    }
}

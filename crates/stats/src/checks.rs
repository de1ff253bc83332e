//! What is looked for beside a ratio, and may withhold its verdict: a carry-over, an effect of the
//! slices' length, a break of the level. [`super::carry`], [`super::length`] and [`super::level`]
//! look.

use serde::Serialize;

/// How many times as long.
pub const TIMES: u64 = 4;
/// The two must differ so surely; it withholds verdicts, so that chance must hardly ever do it.
const ALPHA: f64 = 0.001;

/// What following another stack does to a stack's own rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CarryOver {
    /// Rate after another stack less rate after itself, as a fraction of its mean.
    pub effect: f64,
    /// Half-width of its interval at 99.9 %.
    pub half_width: f64,
    /// Rounds in which both were seen.
    pub rounds: usize,
}

impl CarryOver {
    /// The effect is surely larger than `allowed`.
    pub fn exceeds(&self, allowed: f64) -> bool {
        self.effect.abs() - self.half_width > allowed
    }
}

/// The ratio of long slices against that of the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LengthCheck {
    /// Ratio over long rounds.
    pub ratio: f64,
    /// ln of it less ln of the ordinary one.
    pub difference: f64,
    /// Probability of such a difference by chance.
    pub p: f64,
    /// Long rounds.
    pub rounds: usize,
}

impl LengthCheck {
    /// The same of rates, where it was found in times.
    pub fn inverted(self) -> LengthCheck {
        LengthCheck { ratio: 1.0 / self.ratio, difference: -self.difference, ..self }
    }

    /// They surely differ, and by more than `allowed` (of ln R).
    pub fn disagrees(&self, allowed: f64) -> bool {
        self.p < ALPHA && self.difference.abs() > allowed
    }
}

/// One side of a break.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Regime {
    /// Rounds of it.
    pub rounds: usize,
    /// Mean level, in the baseline's unit.
    pub level: f64,
    /// Ratio B / A of totals.
    pub ratio: f64,
    /// Half-width of the 95 % interval of its logarithm.
    pub half_width: f64,
}

/// What came of a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// The level changed, the ratio did not.
    LevelOnly,
    /// The ratio changed with the level.
    RatioToo,
    /// Behind it both stacks run alike and steadily: something limits the rate.
    RateLimited,
}

/// The best single break of the level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelSplit {
    /// First round after it.
    pub at: usize,
    /// What came of it.
    pub meaning: Meaning,
    /// Rounds before.
    pub before: Regime,
    /// Rounds from `at` on.
    pub after: Regime,
}

impl LevelSplit {
    /// The same of rates, where it was found in times: level and ratio of both sides turned round.
    pub fn inverted(self) -> LevelSplit {
        let turned =
            |side: Regime| Regime { level: 1.0 / side.level, ratio: 1.0 / side.ratio, ..side };
        LevelSplit { before: turned(self.before), after: turned(self.after), ..self }
    }
}

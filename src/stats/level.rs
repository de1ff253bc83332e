//! Whether the level of a run broke in two, and whether the cost did with it. A rate limit that sets in (a cloud
//! disk's burst credit) makes both stacks alike: the run's mean is then the cost of neither regime.
//! A break of the level alone is no reason to withhold anything: ratios of neighbouring slices do not care.

use super::ratio::{ratio_of_totals, residuals};
use super::spread::{Spread, mean};
use super::Uncertain;
use serde::Serialize;

/// Batches in which a break is looked for.
const BATCHES: usize = 48;
/// Batches that each side of a break has at least.
const LEAST_SIDE: usize = 4;
/// The level must change by so much of the higher one ...
const SHIFT: f64 = 0.1;
/// ... and by so many standard deviations of the batches around their side's mean.
const DEVIATIONS: f64 = 3.0;
/// The ratios of the sides differ when chance would make them differ so with less than this probability.
const ALPHA: f64 = 0.01;
/// A limit makes the ratios so much steadier ...
const STEADIER: f64 = 1.0 / 3.0;
/// ... and the stacks so much alike (ln R).
const ALIKE: f64 = 0.005;

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
pub struct Split {
    /// First round behind it.
    pub at: usize,
    /// What came of it.
    pub meaning: Meaning,
    /// Rounds before.
    pub before: Regime,
    /// Rounds from `at` on.
    pub after: Regime,
}

/// Looks for one break in rounds `(A, B)` in order of time; `None` when there is none, or too little to tell.
pub fn split(rounds: &[(f64, f64)]) -> Option<Split> {
    let ratio = ratio_of_totals(rounds).ok()?;
    let levels: Vec<f64> = rounds.iter().map(|(a, b)| (a + b / ratio) / 2.0).collect();
    let at = best_break(&levels)?;
    let (before, after) = rounds.split_at(at);
    let (one, two) = (Side::of(before)?, Side::of(after)?);
    Some(Split { at, meaning: meaning(&one, &two), before: one.regime(before), after: two.regime(after) })
}

/// The first value behind the best break of a series, by least squares of batch means; `None` unless the step is
/// large against the level and against what is left around it. Also finds a drive's change of pace in writes.
pub fn best_break(levels: &[f64]) -> Option<usize> {
    let size = levels.len().div_ceil(BATCHES);
    let means: Vec<f64> = levels.chunks_exact(size.max(1)).map(mean).collect();
    let last = means.len().checked_sub(LEAST_SIDE)?;
    let between = |at: usize| {
        let (one, two) = means.split_at(at);
        let step = mean(one) - mean(two);
        step * step * (one.len() * two.len()) as f64
    };
    let best = (LEAST_SIDE..=last).max_by(|one, two| between(*one).total_cmp(&between(*two)))?;
    is_step(&means, best).then_some(best * size)
}

fn is_step(means: &[f64], at: usize) -> bool {
    let (one, two) = means.split_at(at);
    let (low, high) = (mean(one).min(mean(two)), mean(one).max(mean(two)));
    let around = |side: &[f64]| side.iter().map(|value| (value - mean(side)).powi(2)).sum::<f64>();
    let deviation = ((around(one) + around(two)) / (means.len() - 2) as f64).sqrt();
    high - low >= SHIFT * high && high - low >= DEVIATIONS * deviation
}

/// A side's ratio and how its rounds scatter.
struct Side {
    log: Uncertain,
    deviation: f64,
}

impl Side {
    /// With batch means where there are rounds enough for them; a short side takes its rounds as independent.
    fn of(rounds: &[(f64, f64)]) -> Option<Side> {
        let ratio = ratio_of_totals(rounds).ok()?;
        let residuals = residuals(rounds, ratio);
        let n = residuals.len() as f64;
        let independent = residuals.iter().map(|e| e * e).sum::<f64>() / (n - 1.0).max(1.0);
        let log = match Spread::of(&residuals) {
            Ok(spread) => Uncertain {
                value: ratio.ln(),
                error: spread.standard_error(),
                freedom: (spread.batches - 1) as f64,
            },
            Err(_) => Uncertain { value: ratio.ln(), error: (independent / n).sqrt(), freedom: n - 1.0 },
        };
        Some(Side { log, deviation: independent.sqrt() })
    }

    fn regime(&self, rounds: &[(f64, f64)]) -> Regime {
        let level = mean(&rounds.iter().map(|round| round.0).collect::<Vec<_>>());
        let half_width = self.log.half_width(0.95);
        Regime { rounds: rounds.len(), level, ratio: self.log.value.exp(), half_width }
    }
}

fn meaning(before: &Side, after: &Side) -> Meaning {
    if after.deviation < STEADIER * before.deviation && after.log.value.abs() < ALIKE {
        return Meaning::RateLimited;
    }
    match before.log.minus(after.log).p_zero() < ALPHA {
        true => Meaning::RatioToo,
        false => Meaning::LevelOnly,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::noise::Noise;

    /// Rounds at a level with so much noise of each side.
    fn rounds(noise: &mut Noise, n: usize, level: f64, ratio: f64, sd: f64) -> Vec<(f64, f64)> {
        (0..n).map(|_| (level * (1.0 + sd * noise.normal()), level * ratio * (1.0 + sd * noise.normal()))).collect()
    }

    fn joined(seed: u64, one: (f64, f64, f64), two: (f64, f64, f64)) -> Option<Split> {
        let mut noise = Noise::new(seed);
        let mut all = rounds(&mut noise, 60, one.0, one.1, one.2);
        all.extend(rounds(&mut noise, 40, two.0, two.1, two.2));
        split(&all)
    }

    #[test]
    fn a_limit_that_sets_in_is_recognised() {
        let found = joined(1, (100.0, 0.95, 0.03), (60.0, 1.0, 0.001)).unwrap();
        assert_eq!(found.meaning, Meaning::RateLimited);
        assert!((56..=64).contains(&found.at), "{found:?}");
        assert!((found.before.ratio - 0.95).abs() < 0.02 && (found.after.level - 60.0).abs() < 0.1);
    }

    #[test]
    fn a_ratio_that_changes_with_the_level_is_told_from_one_that_does_not() {
        let both = joined(2, (100.0, 0.95, 0.02), (70.0, 0.85, 0.02)).unwrap();
        let level = joined(3, (100.0, 0.95, 0.02), (70.0, 0.95, 0.02)).unwrap();
        assert_eq!((both.meaning, level.meaning), (Meaning::RatioToo, Meaning::LevelOnly));
    }

    #[test]
    fn noise_and_small_steps_are_no_break() {
        assert_eq!(joined(4, (100.0, 0.95, 0.05), (100.0, 0.95, 0.05)), None);
        assert_eq!(joined(5, (100.0, 0.95, 0.001), (95.0, 0.95, 0.001)), None, "a twentieth is no tenth");
        assert_eq!(split(&[(1.0, 1.0); 7]), None);
        assert_eq!(split(&[]), None);
    }

    #[test]
    fn a_break_is_found_where_it_is() {
        let series: Vec<f64> = (0..1000).map(|i| if i < 700 { 10.0 } else { 6.0 }).collect();
        let at = best_break(&series).unwrap();
        assert!((680..=720).contains(&at), "{at}");
        assert_eq!(best_break(&[5.0; 200]), None);
    }
}

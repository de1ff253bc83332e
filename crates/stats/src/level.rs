//! Checks if the level of a run broke in two, and if the cost broke with it. A rate limit that sets
//! in (a cloud disk's burst credit) makes both stacks alike: the run's mean is then the cost of
//! neither regime. A break of the level alone is no reason to withhold anything: ratios of
//! neighbouring slices are not affected.

use super::checks::{LevelSplit, Meaning, Regime};
use super::ratio::{ratio_of_totals, residuals};
use super::spread::{MeanSpread, mean};
use super::student::Uncertain;
use std::ops::Range;

/// Largest number of batches into which a series is divided to compare a step with the noise.
const BATCHES: usize = 48;
/// Smallest number of rounds on each side of a break; each side also has at least two batches.
const LEAST_SIDE: usize = 8;
/// Smallest change of the level, as a fraction of the higher one.
const SHIFT: f64 = 0.1;
/// Smallest change of the level, in standard deviations of the batches around their side's mean.
const DEVIATIONS: f64 = 3.0;
/// Significance level at which the ratios of the sides differ.
const ALPHA: f64 = 0.01;
/// Largest standard deviation of the rounds' ratios after a break that is taken for a rate limit,
/// as a multiple of that before the break.
const STEADIER: f64 = 1.0 / 3.0;
/// Largest |ln R| after a break that is taken for a rate limit, under which both stacks run alike.
const ALIKE: f64 = 0.005;

/// Looks for one break in rounds `(A, B)` in order of time; `None` if there is no break, or too
/// little data to find one.
pub fn split(rounds: &[(f64, f64)]) -> Option<LevelSplit> {
    let ratio = ratio_of_totals(rounds).ok()?;
    let levels: Vec<f64> = rounds.iter().map(|(a, b)| (a + b / ratio) / 2.0).collect();
    let at = best_break(&levels)?;
    // The rounds on both sides of the break may have some slices before and some after it.
    let (before, after) = (&rounds[..at - 1], &rounds[at + 1..]);
    let (one, two) = (LevelSide::from_rounds(before)?, LevelSide::from_rounds(after)?);
    Some(LevelSplit {
        at,
        meaning: meaning(&one, &two),
        before: one.regime(before),
        after: two.regime(after),
    })
}

/// Returns the index of the first value after the best break of a series, by least squares. Returns
/// `None` unless the step is large against the level and against the scatter of batch means around
/// the mean of their side. [`super::steady`] finds changes of pace with it, too.
pub fn best_break(levels: &[f64]) -> Option<usize> {
    let n = levels.len();
    let batch = n.div_ceil(BATCHES).max(1);
    let least = LEAST_SIDE.max(2 * batch);
    let last = n.checked_sub(least).filter(|last| *last >= least)?;
    let total: f64 = levels.iter().sum();
    let mut below: f64 = levels[..least].iter().sum();
    let mut best = (0.0, least);
    for (at, level) in levels.iter().enumerate().take(last + 1).skip(least) {
        let step = below / at as f64 - (total - below) / (n - at) as f64;
        let explained = step * step * at as f64 * (n - at) as f64;
        if explained > best.0 {
            best = (explained, at);
        }
        below += level;
    }
    let (one, two) = levels.split_at(best.1);
    is_step(one, two, batch).then_some(best.1)
}

/// Divides a series into stretches of one level each, in order.
pub fn stretches(values: &[f64]) -> Vec<Range<usize>> {
    let Some(step) = best_break(values) else { return std::iter::once(0..values.len()).collect() };
    let (one, two) = values.split_at(step);
    let later = stretches(two).into_iter().map(|range| range.start + step..range.end + step);
    stretches(one).into_iter().chain(later).collect()
}

fn is_step(one: &[f64], two: &[f64], batch: usize) -> bool {
    let (low, high) = (mean(one).min(mean(two)), mean(one).max(mean(two)));
    let around = |side: &[f64]| {
        let means = side.chunks_exact(batch).map(mean);
        means.map(|value| (value - mean(side)).powi(2)).sum::<f64>()
    };
    let batches = one.len() / batch + two.len() / batch;
    let deviation = ((around(one) + around(two)) / (batches - 2) as f64).sqrt();
    high - low >= SHIFT * high && high - low >= DEVIATIONS * deviation
}

/// ln R on one side of a break, and the standard deviation of the rounds' residuals.
struct LevelSide {
    log: Uncertain,
    deviation: f64,
}

impl LevelSide {
    /// Estimates one side with [`MeanSpread`]; fewer than 16 rounds are taken as independent.
    /// `None` if a stack completed nothing.
    fn from_rounds(rounds: &[(f64, f64)]) -> Option<LevelSide> {
        let ratio = ratio_of_totals(rounds).ok()?;
        let residuals = residuals(rounds, ratio);
        let n = residuals.len() as f64;
        let independent = residuals.iter().map(|e| e * e).sum::<f64>() / (n - 1.0).max(1.0);
        let log = match MeanSpread::from_residuals(&residuals) {
            Ok(spread) => Uncertain {
                value: ratio.ln(),
                error: spread.standard_error(),
                freedom: spread.freedom,
            },
            Err(_) => {
                Uncertain { value: ratio.ln(), error: (independent / n).sqrt(), freedom: n - 1.0 }
            }
        };
        Some(LevelSide { log, deviation: independent.sqrt() })
    }

    fn regime(&self, rounds: &[(f64, f64)]) -> Regime {
        let level = mean(&rounds.iter().map(|round| round.0).collect::<Vec<_>>());
        let half_width = self.log.half_width(0.95);
        Regime { rounds: rounds.len(), level, ratio: self.log.value.exp(), half_width }
    }
}

fn meaning(before: &LevelSide, after: &LevelSide) -> Meaning {
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
    use crate::noise::Noise;

    /// Rounds at a level with so much noise of each side.
    fn rounds(noise: &mut Noise, n: usize, level: f64, ratio: f64, sd: f64) -> Vec<(f64, f64)> {
        (0..n)
            .map(|_| {
                (level * (1.0 + sd * noise.normal()), level * ratio * (1.0 + sd * noise.normal()))
            })
            .collect()
    }

    fn joined(seed: u64, one: (f64, f64, f64), two: (f64, f64, f64)) -> Option<LevelSplit> {
        let mut noise = Noise::new(seed);
        let mut all = rounds(&mut noise, 60, one.0, one.1, one.2);
        all.extend(rounds(&mut noise, 40, two.0, two.1, two.2));
        split(&all)
    }

    #[test]
    fn a_limit_that_sets_in_is_recognised() {
        let found = joined(1, (100.0, 0.95, 0.03), (60.0, 1.0, 0.001)).unwrap();
        assert_eq!(found.meaning, Meaning::RateLimited);
        assert_eq!(found.at, 60, "{found:?}");
        assert!((found.before.ratio - 0.95).abs() < 0.02 && (found.after.level - 60.0).abs() < 0.1);
    }

    #[test]
    fn a_ratio_that_changes_with_the_level_is_told_from_one_that_does_not() {
        let ratio_too = |after: f64| {
            let meaning = |seed| {
                joined(seed, (100.0, 0.95, 0.02), (70.0, after, 0.02)).map(|split| split.meaning)
            };
            (0..200).filter(|seed| meaning(*seed) == Some(Meaning::RatioToo)).count()
        };
        // Noise of so few rounds sometimes looks as if it had memory, and then leaves hardly a
        // degree of freedom.
        assert!(ratio_too(0.85) >= 180, "{}", ratio_too(0.85));
        assert!(ratio_too(0.95) <= 4, "{}", ratio_too(0.95));
        let level = joined(3, (100.0, 0.95, 0.02), (70.0, 0.95, 0.02)).unwrap();
        assert_eq!(level.meaning, Meaning::LevelOnly);
    }

    #[test]
    fn noise_and_small_steps_are_no_break() {
        assert_eq!(joined(4, (100.0, 0.95, 0.05), (100.0, 0.95, 0.05)), None);
        assert_eq!(
            joined(5, (100.0, 0.95, 0.001), (95.0, 0.95, 0.001)),
            None,
            "a twentieth is no tenth"
        );
        assert_eq!(split(&[(1.0, 1.0); 15]), None);
        assert_eq!(split(&[]), None);
    }

    #[test]
    fn a_break_is_found_where_it_is() {
        let series: Vec<f64> = (0..1000).map(|i| if i < 700 { 10.0 } else { 6.0 }).collect();
        assert_eq!(best_break(&series), Some(700));
        assert_eq!(best_break(&[5.0; 200]), None);
    }
}

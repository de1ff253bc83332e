//! Compares stacks that cannot be up together. The unit is the visit, not the round, since the
//! effect of a set-up on the stack (placement, attach, boot) is the same for all its rounds. Fewer
//! than 4 pairs are refused, or fewer than 3 where attaches were asked for.

use super::ratio::Difference;
use super::refusal::Refusal;
use super::spread::mean;
use super::student::Uncertain;

/// Smallest number of pairs of visits that has an interval.
pub const LEAST: usize = 4;
/// Smallest number of pairs that has an interval if the scenario asks for attaches: each sets up
/// all stacks anew, so the two sides of a pair share a set-up and differ by less.
pub const LEAST_ATTACHES: usize = 3;

/// A ratio from paired visits with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VisitRatio {
    /// Geometric mean of the visits' ratios.
    pub ratio: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
    /// Number of pairs of visits.
    pub visits: usize,
    /// Logarithm of the ratio with its standard error.
    pub log: Uncertain,
}

impl VisitRatio {
    /// Builds the ratio and its 95 % interval by Student's t from a mean of logarithms.
    fn around(log: Uncertain, visits: usize) -> VisitRatio {
        let half_width = log.half_width(0.95);
        VisitRatio {
            ratio: log.value.exp(),
            low: (log.value - half_width).exp(),
            high: (log.value + half_width).exp(),
            visits,
            log,
        }
    }
}

/// Estimates B / A from the rates `(A, B)` of paired visits, by Student's t interval on the
/// logarithms of their ratios. `least` is the smallest number of pairs: [`LEAST`] or
/// [`LEAST_ATTACHES`].
///
/// # Errors
/// [`Refusal`] below `least` pairs (in any case below two), or if a rate is not positive and
/// finite.
pub fn of_at_least(least: usize, visits: &[(f64, f64)]) -> Result<VisitRatio, Refusal> {
    let logs = log_ratios(visits)?;
    let log = mean_of(least, &logs)?;
    Ok(VisitRatio::around(log, logs.len()))
}

/// Returns the estimate of [`of_at_least`] without an interval: one pair is enough.
///
/// # Errors
/// [`Refusal`] if there is no pair, or if a rate is not positive and finite.
pub fn point(visits: &[(f64, f64)]) -> Result<f64, Refusal> {
    match log_ratios(visits)?.as_slice() {
        [] => Err(Refusal::TooFewVisits { have: 0 }),
        logs => Ok(mean(logs).exp()),
    }
}

/// Estimates B - A from the values `(A, B)` of paired visits, by Student's t interval on their
/// differences.
///
/// # Errors
/// [`Refusal`] below `least` pairs (in any case below two), or if a value is not finite.
pub fn difference(least: usize, visits: &[(f64, f64)]) -> Result<Difference, Refusal> {
    let differences: Vec<f64> = visits.iter().map(|(a, b)| b - a).collect();
    if !differences.iter().all(|one| one.is_finite()) {
        return Err(Refusal::NotARate);
    }
    let found = mean_of(least, &differences)?;
    Ok(Difference { value: found.value, half_width: found.half_width(0.95), rounds: visits.len() })
}

/// Returns the mean of independent values with its standard error. Refuses fewer than `least`
/// values, and fewer than two.
fn mean_of(least: usize, values: &[f64]) -> Result<Uncertain, Refusal> {
    let k = values.len();
    if k < least.max(2) {
        return Err(Refusal::TooFewVisits { have: k });
    }
    let centre = mean(values);
    let variance =
        values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (k - 1) as f64;
    Ok(Uncertain { value: centre, error: (variance / k as f64).sqrt(), freedom: (k - 1) as f64 })
}

fn log_ratios(visits: &[(f64, f64)]) -> Result<Vec<f64>, Refusal> {
    visits
        .iter()
        .map(|(a, b)| match (*a > 0.0 && a.is_finite(), *b > 0.0 && b.is_finite()) {
            (false, _) => Err(Refusal::IdleBaseline),
            (_, false) => Err(Refusal::IdleStack),
            _ => Ok((b / a).ln()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        let e = std::f64::consts::E;
        // Log ratios 0, 0, 1, 1: mean 0.5, s^2 = 1/3, half-width 3.182446 * sqrt(1/12).
        let found =
            of_at_least(LEAST, &[(1.0, 1.0), (2.0, 2.0), (1.0, e), (2.0, 2.0 * e)]).unwrap();
        assert!((found.ratio.ln() - 0.5).abs() < 1e-12);
        assert!((found.high.ln() - 0.5 - 3.182_446 / 12f64.sqrt()).abs() < 1e-5);
        assert_eq!(found.visits, 4);
        // t = 0.5 / 0.288675 = 1.732 with 3 degrees of freedom: p = 0.1817 by printed tables.
        assert!((found.log.p_zero() - 0.1817).abs() < 1e-3, "{}", found.log.p_zero());
    }

    #[test]
    fn three_attaches_are_enough_where_they_were_asked_for() {
        let three = [(1.0, 0.90), (2.0, 1.84), (1.0, 0.91)];
        assert_eq!(of_at_least(LEAST, &three), Err(Refusal::TooFewVisits { have: 3 }));
        let found = of_at_least(LEAST_ATTACHES, &three).unwrap();
        assert!(found.low < 0.90 && found.high < 1.0 && found.visits == 3, "{found:?}");
        // Differences 1, 2, 3: mean 2, standard error 1 / sqrt(3), t(0.975, 2) = 4.303.
        let added = difference(3, &[(1.0, 2.0), (1.0, 3.0), (1.0, 4.0)]).unwrap();
        assert!(
            (added.value - 2.0).abs() < 1e-12
                && (added.half_width - 4.302_65 / 3f64.sqrt()).abs() < 1e-4
        );
        assert_eq!(difference(3, &[(1.0, f64::NAN); 3]), Err(Refusal::NotARate));
    }

    #[test]
    fn refuses_too_few_and_empty_visits() {
        assert_eq!(of_at_least(LEAST, &[(1.0, 1.0); 3]), Err(Refusal::TooFewVisits { have: 3 }));
        assert_eq!(of_at_least(LEAST, &[(1.0, 0.0); 6]), Err(Refusal::IdleStack));
        assert_eq!(of_at_least(LEAST, &[(0.0, 1.0); 6]), Err(Refusal::IdleBaseline));
    }
}

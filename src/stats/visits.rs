//! Stacks that cannot be up together: the unit is the visit, not the round, since what a set-up did to
//! the stack (placement, attach, boot) is the same for all its rounds. Refuses fewer than 4 pairs.

use super::spread::mean;
use super::{Refusal, t975};

/// Pairs that an interval needs.
pub const LEAST: usize = 4;

/// A ratio from paired visits with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VisitRatio {
    /// Geometric mean of the visits' ratios.
    pub ratio: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Pairs of visits.
    pub visits: usize,
}

/// Student's t interval on the log ratios of the rates `(A, B)` of paired visits.
///
/// # Errors
/// [`Refusal`] below 4 pairs or when a visit completed nothing (a logarithm of zero).
pub fn paired(visits: &[(f64, f64)]) -> Result<VisitRatio, Refusal> {
    let logs = log_ratios(visits)?;
    let k = logs.len();
    if k < LEAST {
        return Err(Refusal::TooFewVisits { have: k });
    }
    let centre = mean(&logs);
    let variance = logs.iter().map(|log| (log - centre).powi(2)).sum::<f64>() / (k - 1) as f64;
    let half_width = t975(k - 1) * (variance / k as f64).sqrt();
    Ok(VisitRatio {
        ratio: centre.exp(),
        low: (centre - half_width).exp(),
        high: (centre + half_width).exp(),
        visits: k,
    })
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
        let found = paired(&[(1.0, 1.0), (2.0, 2.0), (1.0, e), (2.0, 2.0 * e)]).unwrap();
        assert!((found.ratio.ln() - 0.5).abs() < 1e-12);
        assert!((found.high.ln() - 0.5 - 3.182_446 / 12f64.sqrt()).abs() < 1e-5);
        assert_eq!(found.visits, 4);
    }

    #[test]
    fn refuses_too_few_and_empty_visits() {
        assert_eq!(paired(&[(1.0, 1.0); 3]), Err(Refusal::TooFewVisits { have: 3 }));
        assert_eq!(paired(&[(1.0, 0.0); 6]), Err(Refusal::IdleStack));
        assert_eq!(paired(&[(0.0, 1.0); 6]), Err(Refusal::IdleBaseline));
    }
}

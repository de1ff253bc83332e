//! Student's t, and values with their standard errors.

use statrs::distribution::{ContinuousCDF, StudentsT};
use std::sync::OnceLock;

/// One minus the confidence of every interval; intervals that hold simultaneously share it.
pub const ALPHA: f64 = 0.05;

/// Returns the 97.5 % quantile of Student's t with `freedom` degrees of freedom (at least 1).
pub fn t975(freedom: usize) -> f64 {
    const KEPT: usize = 64;
    static TABLE: OnceLock<Vec<f64>> = OnceLock::new();
    let computed = |freedom: usize| t_quantile(0.975, freedom as f64);
    let table = TABLE.get_or_init(|| (1..=KEPT).map(computed).collect());
    let freedom = freedom.max(1);
    table.get(freedom - 1).copied().unwrap_or_else(|| computed(freedom))
}

/// Returns the `p` quantile (0 < p < 1) of Student's t. `freedom` need not be whole (Welch), and
/// counts as at least 1. For k intervals that hold simultaneously with 95 % (Bonferroni), p is 1 -
/// 0.025 / k.
pub fn t_quantile(p: f64, freedom: f64) -> f64 {
    // The quantile of a probability of 1 would be infinite.
    student(freedom).inverse_cdf(p.clamp(f64::EPSILON, 1.0 - f64::EPSILON))
}

/// Returns the two-sided p value of a statistic that follows Student's t with `freedom` degrees of
/// freedom; 1 if the statistic is not a number.
pub fn t_two_sided(statistic: f64, freedom: f64) -> f64 {
    if statistic.is_nan() {
        return 1.0;
    }
    2.0 * student(freedom).sf(statistic.abs())
}

/// An estimate with its standard error, in one unit or as logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uncertain {
    /// Estimate of the value.
    pub value: f64,
    /// Standard error of the estimate.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub freedom: f64,
}

impl Uncertain {
    /// Subtracts another value that is independent of this one. Degrees of freedom follow Welch
    /// (1947).
    pub fn minus(self, other: Uncertain) -> Uncertain {
        let (one, two) = (self.error.powi(2), other.error.powi(2));
        let whole = (one + two).powi(2);
        let parts = one.powi(2) / self.freedom + two.powi(2) / other.freedom;
        let freedom = if parts > 0.0 { whole / parts } else { self.freedom + other.freedom };
        Uncertain { value: self.value - other.value, error: (one + two).sqrt(), freedom }
    }

    /// Returns the two-sided p value of the hypothesis that the value is zero. An estimate of
    /// exactly zero has a p value of 1.
    pub fn p_zero(self) -> f64 {
        if self.value == 0.0 { 1.0 } else { t_two_sided(self.value / self.error, self.freedom) }
    }

    /// Returns the half-width of the interval that holds with probability `confidence`.
    pub fn half_width(self, confidence: f64) -> f64 {
        t_quantile(0.5 + confidence / 2.0, self.freedom) * self.error
    }
}

fn student(freedom: f64) -> StudentsT {
    // Location 0, scale 1 and a freedom of at least 1 are always accepted.
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).expect("a standard t distribution")
}

#[cfg(test)]
mod tests {
    use super::{t_quantile, t975};

    #[test]
    fn any_t_quantile_agrees_with_printed_tables() {
        for (p, freedom, printed) in
            [(0.95, 10.0, 1.812), (0.99, 15.0, 2.602), (0.995, 20.0, 2.845), (0.9995, 30.0, 3.646)]
        {
            assert!((t_quantile(p, freedom) - printed).abs() < 6e-4, "{p} {freedom}");
        }
        for freedom in [1usize, 15, 63, 200] {
            assert!((t_quantile(0.975, freedom as f64) - t975(freedom)).abs() < 1e-6);
        }
        assert!(t_quantile(0.5, 7.0).abs() < 1e-9 && t_quantile(1.0, 7.0).is_finite());
    }

    #[test]
    fn t_quantiles_agree_with_printed_tables() {
        for (freedom, printed) in [(1, 12.706), (3, 3.182), (15, 2.131), (30, 2.042), (120, 1.980)]
        {
            assert!((t975(freedom) - printed).abs() < 6e-4, "{freedom}: {}", t975(freedom));
        }
        assert_eq!(t975(0), t975(1));
    }
}

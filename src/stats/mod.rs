//! Statistics of a comparison: values in, values out, no clock and no device. METHOD.md gives the
//! formulas with their reasons. Nothing here guesses: too little data is a [`Refusal`], not a number.

pub mod gate;
pub mod quantile;
pub mod ratio;
pub mod round;
pub mod schedule;
pub mod sequence;
pub mod spread;
pub mod stop;
pub mod verdict;
pub mod visits;

mod refusal;
#[cfg(test)]
pub(crate) mod traps;

pub use gate::Gate;
pub use ratio::Ratio;
pub use refusal::Refusal;
pub use spread::Spread;
pub use verdict::Verdict;

use statrs::distribution::{ContinuousCDF, StudentsT};
use std::sync::OnceLock;

/// 97.5 % quantile of Student's t with `freedom` degrees of freedom (at least 1).
pub fn t975(freedom: usize) -> f64 {
    const KEPT: usize = 64;
    static TABLE: OnceLock<Vec<f64>> = OnceLock::new();
    let table = TABLE.get_or_init(|| (1..=KEPT).map(t975_computed).collect());
    let freedom = freedom.max(1);
    table.get(freedom - 1).copied().unwrap_or_else(|| t975_computed(freedom))
}

fn t975_computed(freedom: usize) -> f64 {
    // Location 0, scale 1 and a positive freedom are always accepted; the normal quantile is the limit.
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(1.959_964, |t| t.inverse_cdf(0.975))
}

/// The `p` quantile (0.5 < p < 1) of Student's t with `freedom` degrees of freedom (at least 1). For k intervals that
/// shall hold all at once with 95 % (Bonferroni), p is 1 - 0.025 / k.
pub fn t_quantile(p: f64, freedom: usize) -> f64 {
    // As above; the quantile of a probability of 1 would be endless.
    let p = p.clamp(0.5, 1.0 - f64::EPSILON);
    StudentsT::new(0.0, 1.0, freedom.max(1) as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(p))
}

#[cfg(test)]
mod tests {
    use super::{t_quantile, t975};

    #[test]
    fn any_t_quantile_agrees_with_printed_tables() {
        for (p, freedom, printed) in
            [(0.95, 10, 1.812), (0.99, 15, 2.602), (0.995, 20, 2.845), (0.9995, 30, 3.646)]
        {
            assert!((t_quantile(p, freedom) - printed).abs() < 6e-4, "{p} {freedom}");
        }
        for freedom in [1, 15, 63, 200] {
            assert!((t_quantile(0.975, freedom) - t975(freedom)).abs() < 1e-6);
        }
        assert!(t_quantile(0.5, 7).abs() < 1e-9 && t_quantile(1.0, 7).is_finite());
    }

    #[test]
    fn t_quantiles_agree_with_printed_tables() {
        for (freedom, printed) in [(1, 12.706), (3, 3.182), (15, 2.131), (30, 2.042), (120, 1.980)] {
            assert!((t975(freedom) - printed).abs() < 6e-4, "{freedom}: {}", t975(freedom));
        }
        assert_eq!(t975(0), t975(1));
    }
}

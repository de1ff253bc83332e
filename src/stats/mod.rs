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
pub mod unpaired;
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

#[cfg(test)]
mod tests {
    use super::t975;

    #[test]
    fn t_quantiles_agree_with_printed_tables() {
        for (freedom, printed) in [(1, 12.706), (3, 3.182), (15, 2.131), (30, 2.042), (120, 1.980)] {
            assert!((t975(freedom) - printed).abs() < 6e-4, "{freedom}: {}", t975(freedom));
        }
        assert_eq!(t975(0), t975(1));
    }
}

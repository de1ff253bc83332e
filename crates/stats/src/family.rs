//! Many comparisons at once: of 24 that cost nothing, one shows a cost by chance in two matrices of three. Holm's
//! procedure keeps the chance of any false one at five in a hundred; intervals that hold all together are wider.

use super::visits::VisitRatio;
use super::{ALPHA, Ratio, Uncertain};

/// Holm (1979): which of the p values may be called significant, in their order, so that the chance of any false
/// one among all is at most 5 %.
pub fn holm(p_values: &[f64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, two| p_values[*one].total_cmp(&p_values[*two]));
    let mut significant = vec![false; p_values.len()];
    for (rank, at) in order.into_iter().enumerate() {
        if p_values[at] > ALPHA / (p_values.len() - rank) as f64 {
            break;
        }
        significant[at] = true;
    }
    significant
}

/// Half-width of one of `many` intervals that hold all together with 95 % (Bonferroni).
pub fn simultaneous(one: Uncertain, many: usize) -> f64 {
    one.half_width(1.0 - ALPHA / many.max(1) as f64)
}

/// Bounds of a ratio that hold together with those of all `many` comparisons; skewness as in its own interval, so that
/// they are never narrower.
pub fn bounds(found: &Ratio, many: usize) -> (f64, f64) {
    found.bounds_at(1.0 - ALPHA / many.max(1) as f64)
}

/// The same of visits.
pub fn visit_bounds(found: &VisitRatio, many: usize) -> (f64, f64) {
    let factor = simultaneous(found.log, many).exp();
    (found.ratio / factor, found.ratio * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ratio, visits};

    #[test]
    fn bounds_of_one_are_its_own_and_of_many_wider() {
        let rounds: Vec<_> = (0..40).map(|i| (100.0, if i % 8 == 0 { 60.0 } else { 97.0 })).collect();
        let found = ratio::estimate(&rounds).unwrap();
        assert_eq!(bounds(&found, 1), (found.low, found.high));
        let (low, high) = bounds(&found, 2);
        assert!(low < found.low && high > found.high);
        let four = visits::of_at_least(4, &[(1.0, 0.9), (1.0, 0.92), (1.0, 0.91), (1.0, 0.93)]).unwrap();
        let (low, high) = visit_bounds(&four, 1);
        assert!((low / four.low - 1.0).abs() < 1e-9 && (high / four.high - 1.0).abs() < 1e-9);
        assert!(visit_bounds(&four, 8).0 < four.low);
    }

    #[test]
    fn worked_by_hand() {
        // 0.05/4 = 0.0125, 0.05/3 = 0.0167, 0.05/2 = 0.025: the third stops it, and the last goes with it.
        assert_eq!(holm(&[0.01, 0.03, 0.015, 0.04]), [true, false, true, false]);
        assert_eq!(holm(&[0.05]), [true]);
        assert_eq!(holm(&[]), Vec::<bool>::new());
        assert_eq!(holm(&[0.9, f64::NAN, 1e-9]), [false, false, true]);
    }

    #[test]
    fn together_they_are_wider() {
        let one = Uncertain { value: 0.0, error: 1.0, freedom: 15.0 };
        assert!((simultaneous(one, 1) - 2.131_450).abs() < 1e-4);
        assert!((simultaneous(one, 24) - 3.680_0).abs() < 0.1, "{}", simultaneous(one, 24));
        assert!(simultaneous(one, 0) > 0.0);
    }
}

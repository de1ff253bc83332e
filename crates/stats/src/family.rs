//! Many comparisons at once. If none of 24 comparisons has a difference, chance still shows one in
//! at least one of them in two runs out of three. Simultaneous intervals (Bonferroni) keep the
//! chance of any false difference at 5 %.

use super::visits::VisitRatio;
use super::{ALPHA, Ratio, Uncertain, t_quantile};

/// Comparisons of one kind of figure, which share a part of the 5 % in which a run may report any
/// false difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Family {
    /// Number of comparisons of this kind.
    pub many: usize,
    /// Part of the 5 % that falls to this kind, from 0 to 1.
    pub share: f64,
}

impl Family {
    /// Returns a family that has the whole 5 %.
    pub fn single_kind(many: usize) -> Family {
        Family { many, share: 1.0 }
    }

    /// Returns families that share the 5 % by weight; one without comparisons takes nothing.
    /// `kinds` holds the number of comparisons and the weight of each.
    pub fn weighted<const N: usize>(kinds: [(usize, f64); N]) -> [Family; N] {
        let all: f64 = kinds.iter().filter(|(many, _)| *many > 0).map(|(_, weight)| weight).sum();
        kinds
            .map(|(many, weight)| Family { many, share: if many > 0 { weight / all } else { 1.0 } })
    }

    /// Returns the chance of a false difference that one comparison may take.
    fn level(self) -> f64 {
        ALPHA * self.share / self.many.max(1) as f64
    }
}

/// Returns which p values are significant by Bonferroni, so that the chance of any false one is at
/// most 5 %. This agrees with the simultaneous intervals ([`simultaneous`]). Holm's procedure would
/// reject more hypotheses, but contradict these intervals.
pub fn significant(p_values: &[f64]) -> Vec<bool> {
    p_values.iter().map(|p| *p <= Family::single_kind(p_values.len()).level()).collect()
}

/// Returns the width of a comparison's simultaneous interval relative to its individual interval,
/// by Student's t.
pub fn stretch(family: Family, freedom: f64) -> f64 {
    t_quantile(1.0 - family.level() / 2.0, freedom) / t_quantile(1.0 - ALPHA / 2.0, freedom)
}

/// Returns the half-width of `one`'s interval that holds simultaneously with the others of its
/// family (Bonferroni).
pub fn simultaneous(one: Uncertain, family: Family) -> f64 {
    one.half_width(1.0 - family.level())
}

/// Returns the bounds of a ratio that hold simultaneously with the others of its family. They
/// follow the skewness as the ratio's own interval does, and are never narrower than that.
pub fn bounds(found: &Ratio, family: Family) -> (f64, f64) {
    found.bounds_at(1.0 - family.level())
}

/// Returns the bounds of a ratio from visits that hold simultaneously with the others of its
/// family.
pub fn visit_bounds(found: &VisitRatio, family: Family) -> (f64, f64) {
    let factor = simultaneous(found.log, family).exp();
    (found.ratio / factor, found.ratio * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ratio, visits};

    #[test]
    fn bounds_of_one_are_its_own_and_of_many_wider() {
        let rounds: Vec<_> =
            (0..40).map(|i| (100.0, if i % 8 == 0 { 60.0 } else { 97.0 })).collect();
        let found = ratio::estimate(&rounds).unwrap();
        assert_eq!(bounds(&found, Family::single_kind(1)), (found.low, found.high));
        let (low, high) = bounds(&found, Family::single_kind(2));
        assert!(low < found.low && high > found.high);
        let four =
            visits::of_at_least(4, &[(1.0, 0.9), (1.0, 0.92), (1.0, 0.91), (1.0, 0.93)]).unwrap();
        let (low, high) = visit_bounds(&four, Family::single_kind(1));
        assert!((low / four.low - 1.0).abs() < 1e-9 && (high / four.high - 1.0).abs() < 1e-9);
        assert!(visit_bounds(&four, Family::single_kind(8)).0 < four.low);
    }

    #[test]
    fn worked_by_hand() {
        // 0.05/4 = 0.0125. Holm's procedure would also reject the third, because its limit there is
        // 0.0167.
        assert_eq!(significant(&[0.01, 0.03, 0.015, 0.04]), [true, false, false, false]);
        assert_eq!(significant(&[0.05]), [true]);
        assert_eq!(significant(&[]), Vec::<bool>::new());
        assert_eq!(significant(&[0.9, f64::NAN, 1e-9]), [false, false, true]);
    }

    #[test]
    fn what_is_significant_has_an_interval_without_zero() {
        for (value, many) in
            [(2.2, 1), (2.2, 2), (2.9, 3), (2.9, 8), (3.4, 8), (3.4, 24), (4.0, 24)]
        {
            let one = Uncertain { value, error: 1.0, freedom: 15.0 };
            let mut all = vec![0.9; many];
            all[0] = one.p_zero();
            assert_eq!(
                significant(&all)[0],
                simultaneous(one, Family::single_kind(many)) < value,
                "{value} of {many}"
            );
        }
        assert!((stretch(Family::single_kind(24), 15.0) - 3.680_0 / 2.131_450).abs() < 0.05);
    }

    #[test]
    fn together_they_are_wider() {
        let one = Uncertain { value: 0.0, error: 1.0, freedom: 15.0 };
        assert!((simultaneous(one, Family::single_kind(1)) - 2.131_450).abs() < 1e-4);
        assert!(
            (simultaneous(one, Family::single_kind(24)) - 3.680_0).abs() < 0.1,
            "{}",
            simultaneous(one, Family::single_kind(24))
        );
        assert!(simultaneous(one, Family::single_kind(0)) > 0.0);
    }

    #[test]
    fn kinds_share_by_weight_and_those_without_comparisons_take_nothing() {
        let [rates, latencies, none] = Family::weighted([(2, 3.0), (1, 1.0), (0, 1.0)]);
        assert_eq!((rates.share, latencies.share), (0.75, 0.25));
        let spent: f64 = [rates, latencies].iter().map(|one| one.many as f64 * one.level()).sum();
        assert!((spent - ALPHA).abs() < 1e-12);
        assert!(none.level() <= ALPHA);
        assert_eq!(stretch(Family::single_kind(1), 15.0), 1.0);
    }
}

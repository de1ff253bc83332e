//! Estimates the ratio of two stacks from totals over paired rounds, with an interval
//! ([`super::spread`]). A round without a completion is allowed; a stack that completes nothing in
//! any round is refused.

use super::gate::BatchGate;
use super::refusal::Refusal;
use super::spread::{MeanSpread, mean};
use super::student::Uncertain;

/// An estimated ratio with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Estimate of B over A.
    pub ratio: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
    /// Spread of the mean of the relative residuals: that of ln R.
    pub spread: MeanSpread,
}

impl Ratio {
    fn around(ratio: f64, spread: MeanSpread) -> Ratio {
        let (below, above) = spread.reach(0.95);
        Ratio { ratio, low: ratio * (-below).exp(), high: ratio * above.exp(), spread }
    }

    /// Returns half the length of the 95 % interval of ln R, about the relative half-width of the
    /// interval of R.
    pub fn half_width(&self) -> f64 {
        self.spread.half_width()
    }

    /// Returns ln R with its standard error.
    pub fn log(&self) -> Uncertain {
        Uncertain {
            value: self.ratio.ln(),
            error: self.spread.standard_error(),
            freedom: self.spread.freedom,
        }
    }

    /// Returns the bounds of the interval that holds with probability `confidence`.
    pub fn bounds_at(&self, confidence: f64) -> (f64, f64) {
        let (below, above) = self.spread.reach(confidence);
        (self.ratio * (-below).exp(), self.ratio * above.exp())
    }

    /// Returns the check whether batches of rounds are long enough to be independent.
    pub fn gate(&self) -> BatchGate {
        self.spread.gate
    }

    /// Returns the estimate of 1 / R: a ratio of times becomes one of rates. The longer side of its
    /// interval becomes the shorter one.
    pub fn inverted(self) -> Ratio {
        let spread = MeanSpread { skewness: -self.spread.skewness, ..self.spread };
        Ratio { ratio: 1.0 / self.ratio, low: 1.0 / self.high, high: 1.0 / self.low, spread }
    }
}

/// Estimates sum B / sum A from the rates `(A, B)` of each round in order of time.
///
/// The interval is that of [`MeanSpread`] over the residuals `(B - R A) / (R mean A)`. The estimate
/// uses totals because dips pull down a mean of logarithms.
///
/// # Errors
/// [`Refusal`] below 16 rounds, if a side completed nothing, or for a rate that is negative or not
/// finite.
pub fn estimate(rounds: &[(f64, f64)]) -> Result<Ratio, Refusal> {
    let ratio = ratio_of_totals(rounds)?;
    let spread = MeanSpread::from_residuals(&residuals(rounds, ratio))?;
    Ok(Ratio::around(ratio, spread))
}

/// Estimates the common ratio of several strata: groups of rounds that each have a ratio of their
/// own, such as those before and after files were swapped between the stacks. It is the geometric
/// mean of the strata's ratios with equal weights, so an advantage that changes sides between
/// strata cancels. Residuals are taken within each stratum.
///
/// # Errors
/// As [`estimate`], for each stratum, but the 16 rounds are counted over all of them; each stratum
/// needs one.
pub fn stratified(strata: &[Vec<(f64, f64)>]) -> Result<Ratio, Refusal> {
    let each = strata.iter().map(|rounds| {
        let ratio = ratio_of_totals(rounds)?;
        Ok(Stratum { value: ratio.ln(), residuals: residuals(rounds, ratio) })
    });
    let (log, spread) = pool_strata(&each.collect::<Result<Vec<_>, Refusal>>()?)?;
    Ok(Ratio::around(log.exp(), spread))
}

/// Returns the estimate of [`stratified`] without an interval: one round of each stratum is enough.
///
/// # Errors
/// As [`ratio_of_totals`], for any stratum, or if there is no stratum.
pub fn point(strata: &[Vec<(f64, f64)>]) -> Result<f64, Refusal> {
    centre(strata, |rounds| Ok(ratio_of_totals(rounds)?.ln())).map(f64::exp)
}

/// Returns the estimate of [`of_means`] without an interval.
///
/// # Errors
/// As [`difference`], but one round of each stratum is enough.
pub fn point_of_means(strata: &[Vec<(Total, Total)>]) -> Result<f64, Refusal> {
    let of = |rounds: &Vec<(Total, Total)>| means(rounds).map(|[a, b]| (b.mean / a.mean).ln());
    centre(strata, of).map(f64::exp)
}

/// Returns the estimate of [`difference`] without an interval.
///
/// # Errors
/// As [`difference`], but one round of each stratum is enough.
pub fn point_of_difference(strata: &[Vec<(Total, Total)>]) -> Result<f64, Refusal> {
    centre(strata, |rounds| means(rounds).map(|[a, b]| b.mean - a.mean))
}

fn centre<T>(strata: &[T], of: impl Fn(&T) -> Result<f64, Refusal>) -> Result<f64, Refusal> {
    match strata {
        [] => Err(Refusal::TooFewRounds { have: 0 }),
        _ => Ok(mean(&strata.iter().map(of).collect::<Result<Vec<_>, Refusal>>()?)),
    }
}

/// Estimate of one stratum (a logarithm or a difference), and the residuals of its rounds.
struct Stratum {
    value: f64,
    residuals: Vec<f64>,
}

/// Returns the mean of the strata's values, and its spread by the residuals of all rounds.
fn pool_strata(strata: &[Stratum]) -> Result<(f64, MeanSpread), Refusal> {
    if strata.is_empty() {
        return Err(Refusal::TooFewRounds { have: 0 });
    }
    let within: Vec<f64> =
        strata.iter().flat_map(|visit| visit.residuals.iter().copied()).collect();
    let mut spread = MeanSpread::from_residuals(&within)?;
    // Strata have equal weight, however many rounds they have. The variance of their mean
    // determines how many rounds it is worth.
    let shares: f64 = strata.iter().map(|visit| 1.0 / visit.residuals.len() as f64).sum();
    spread.variance *= spread.n as f64 * shares / (strata.len() as f64).powi(2);
    Ok((mean(&strata.iter().map(|visit| visit.value).collect::<Vec<_>>()), spread))
}

/// Returns sum B / sum A over rounds `(A, B)`, without an interval.
///
/// # Errors
/// As [`estimate`], but one round is enough.
pub fn ratio_of_totals(rounds: &[(f64, f64)]) -> Result<f64, Refusal> {
    if rounds.is_empty() {
        return Err(Refusal::TooFewRounds { have: 0 });
    }
    let usable = |rate: f64| rate.is_finite() && rate >= 0.0;
    if !rounds.iter().all(|(a, b)| usable(*a) && usable(*b)) {
        return Err(Refusal::NotARate);
    }
    let (sum_a, sum_b) = rounds.iter().fold((0.0, 0.0), |(a, b), round| (a + round.0, b + round.1));
    match (sum_a > 0.0, sum_b > 0.0) {
        (false, _) => Err(Refusal::IdleBaseline),
        (_, false) => Err(Refusal::IdleStack),
        _ => Ok(sum_b / sum_a),
    }
}

/// Returns the residual `(B - R A) / (R mean A)` of each round `(A, B)`, with R the `ratio`. If
/// that is sum B / sum A, their mean is zero.
pub fn residuals(rounds: &[(f64, f64)], ratio: f64) -> Vec<f64> {
    let mean_a = mean(&rounds.iter().map(|round| round.0).collect::<Vec<_>>());
    rounds.iter().map(|(a, b)| (b - ratio * a) / (ratio * mean_a)).collect()
}

/// A difference, B minus A, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Estimate of the difference, in the unit of the values or as a share of a base.
    pub value: f64,
    /// Half-width of the interval.
    pub half_width: f64,
    /// Number of rounds, or of pairs of visits, in the estimate.
    pub rounds: usize,
}

/// Sum over one stack's items in a round or a visit, and their number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Sum, for instance of latencies.
    pub sum: f64,
    /// Number of items, for instance I/Os.
    pub items: f64,
}

impl Total {
    /// Returns both totals added: their sums and their items.
    #[must_use]
    pub fn plus(self, other: Total) -> Total {
        Total { sum: self.sum + other.sum, items: self.items + other.items }
    }
}

/// Estimates the mean per item of B minus that of A (for added microseconds per I/O) over rounds
/// `(A, B)` of one or more strata. Both means are ratios of totals; their residuals are subtracted
/// round by round, so that noise common to both cancels. For several strata it is the mean of their
/// differences.
///
/// # Errors
/// [`Refusal`] below 16 rounds in all, or if in a stratum a side has no items, a sum of zero, or a
/// value that is negative or not finite.
pub fn difference(visits: &[Vec<(Total, Total)>]) -> Result<Difference, Refusal> {
    let strata = visits.iter().map(|rounds| {
        let [a, b] = means(rounds)?;
        let off = b
            .residuals
            .iter()
            .zip(&a.residuals)
            .map(|(off_b, off_a)| off_b * b.mean - off_a * a.mean);
        Ok(Stratum { value: b.mean - a.mean, residuals: off.collect() })
    });
    let (value, spread) = pool_strata(&strata.collect::<Result<Vec<_>, Refusal>>()?)?;
    Ok(Difference { value, half_width: spread.half_width(), rounds: spread.n })
}

/// Estimates the difference of B and A as a share of a base, over rounds `(base, A, B)`: (sum B -
/// sum A) / sum base. For several strata it is the mean of their shares. Such shares add up: that
/// of A to B and that of B to C make that of A to C.
///
/// # Errors
/// As [`stratified`], for the ratios of A and of B to the base.
pub fn share_of_base(strata: &[Vec<[f64; 3]>]) -> Result<Difference, Refusal> {
    let each = strata.iter().map(|rounds| {
        let against =
            |at: usize| rounds.iter().map(|round| (round[0], round[at])).collect::<Vec<_>>();
        let value = ratio_of_totals(&against(2))? - ratio_of_totals(&against(1))?;
        let mean_base = mean(&rounds.iter().map(|round| round[0]).collect::<Vec<_>>());
        let off = |[base, a, b]: &[f64; 3]| (b - a - value * base) / mean_base;
        Ok(Stratum { value, residuals: rounds.iter().map(off).collect() })
    });
    let (value, spread) = pool_strata(&each.collect::<Result<Vec<_>, Refusal>>()?)?;
    Ok(Difference { value, half_width: spread.half_width(), rounds: spread.n })
}

/// Estimates the mean per item of B over that of A, paired as in [`difference`]: the factor by
/// which an I/O takes longer. For several strata it is the geometric mean of their ratios.
///
/// # Errors
/// As [`difference`].
pub fn of_means(visits: &[Vec<(Total, Total)>]) -> Result<Ratio, Refusal> {
    let strata = visits.iter().map(|rounds| {
        let [a, b] = means(rounds)?;
        let off = b.residuals.iter().zip(&a.residuals).map(|(off_b, off_a)| off_b - off_a);
        Ok(Stratum { value: (b.mean / a.mean).ln(), residuals: off.collect() })
    });
    let (log, spread) = pool_strata(&strata.collect::<Result<Vec<_>, Refusal>>()?)?;
    Ok(Ratio::around(log.exp(), spread))
}

/// Mean per item of one side over some rounds, and the relative residual of each round.
struct Mean {
    mean: f64,
    residuals: Vec<f64>,
}

fn means(rounds: &[(Total, Total)]) -> Result<[Mean; 2], Refusal> {
    let side = |pick: fn(&(Total, Total)) -> Total, idle: Refusal| {
        let side: Vec<(f64, f64)> =
            rounds.iter().map(pick).map(|total| (total.items, total.sum)).collect();
        let mean = ratio_of_totals(&side).map_err(|reason| match reason {
            few @ Refusal::TooFewRounds { .. } => few,
            _ => idle,
        })?;
        Ok::<Mean, Refusal>(Mean { mean, residuals: residuals(&side, mean) })
    };
    Ok([side(|pair| pair.0, Refusal::IdleBaseline)?, side(|pair| pair.1, Refusal::IdleStack)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn worked_by_hand() {
        // A is always 100; B alternates 80, 100 in pairs of rounds: R = 0.9, residuals -1/9 and
        // +1/9.
        let rounds: Vec<_> =
            (0..16).map(|i| (100.0, if i % 4 < 2 { 80.0 } else { 100.0 })).collect();
        let found = estimate(&rounds).unwrap();
        assert!((found.ratio - 0.9).abs() < 1e-12);
        // Covariances 1, 1/16, then less than nothing: (2 * 17/16 - 1) / (1 - 3/16) = 18/13, a
        // third of the way from 16/15.
        let variance = (2.0 / 3.0 * 16.0 / 15.0 + 18.0 / 13.0 / 3.0) / 81.0;
        let error = (variance / 16.0f64).sqrt();
        assert!((found.half_width() - 2.131_450 * error).abs() < 1e-6, "{found:?}");
        assert!((found.high / found.ratio - found.ratio / found.low).abs() < 1e-12);
    }

    #[test]
    fn empty_rounds_are_legal_empty_sides_are_not() {
        let mut rounds = vec![(10.0, 10.0); 20];
        rounds[3] = (10.0, 0.0);
        rounds[4] = (0.0, 10.0);
        assert!((estimate(&rounds).unwrap().ratio - 1.0).abs() < 1e-12);
        assert_eq!(estimate(&[(0.0, 1.0); 20]), Err(Refusal::IdleBaseline));
        assert_eq!(estimate(&[(1.0, 0.0); 20]), Err(Refusal::IdleStack));
        assert_eq!(estimate(&[(1.0, f64::NAN); 20]), Err(Refusal::NotARate));
        assert_eq!(estimate(&[(1.0, 1.0); 15]), Err(Refusal::TooFewRounds { have: 15 }));
        assert_eq!(estimate(&[]), Err(Refusal::TooFewRounds { have: 0 }));
    }

    #[test]
    fn difference_cancels_what_is_common() {
        let rounds: Vec<_> = (0..32)
            .map(|i| {
                let drift = 100.0 + f64::from(i);
                (
                    Total { sum: 10.0 * drift, items: 10.0 },
                    Total { sum: 10.0 * (drift + 3.0), items: 10.0 },
                )
            })
            .collect();
        let found = difference(std::slice::from_ref(&rounds)).unwrap();
        assert!((found.value - 3.0).abs() < 1e-9 && found.half_width < 1e-9, "{found:?}");
        let times = of_means(&[rounds]).unwrap();
        // Means of 115.5 and 118.5; the residuals are relative, and those of the larger are
        // smaller.
        assert!(
            (times.ratio - 118.5 / 115.5).abs() < 1e-9 && times.half_width() > 1e-4,
            "{times:?}"
        );
        let idle = vec![(Total::default(), Total { sum: 1.0, items: 1.0 }); 16];
        assert_eq!(difference(std::slice::from_ref(&idle)), Err(Refusal::IdleBaseline));
        assert_eq!(of_means(&[idle]), Err(Refusal::IdleBaseline));
        assert_eq!(of_means(&[]), Err(Refusal::TooFewRounds { have: 0 }));
    }

    #[test]
    fn what_a_visit_gives_to_a_side_cancels_in_means_too() {
        // Files swapped between two visits: one I/O takes 10 or 11, the stack on it 2 more.
        let visit = |a: f64, b: f64| -> Vec<(Total, Total)> {
            let noise = |i: usize| [1.0, 0.99, 1.0, 1.01][i % 4];
            (0..20)
                .map(|i| (Total { sum: a * noise(i), items: 1.0 }, Total { sum: b, items: 1.0 }))
                .collect()
        };
        let both = [visit(10.0, 13.0), visit(11.0, 12.0)];
        let found = difference(&both).unwrap();
        assert!((found.value - 2.0).abs() < 1e-9 && found.half_width < 0.1, "{found:?}");
        let times = of_means(&both).unwrap();
        assert!((times.ratio - (1.3f64 * 12.0 / 11.0).sqrt()).abs() < 1e-9, "{times:?}");
    }

    #[test]
    fn shares_of_a_base_add_up_and_noise_that_all_share_is_none() {
        // 100, 90 and 81 of a machine whose speed changes by a tenth; the last has a noise of its
        // own.
        let speed = |i: usize| [1.0, 0.9, 1.1, 1.0, 0.95][i % 5];
        let own = |i: usize| [1.0, 1.02, 0.98][i % 3];
        let round = |i: usize| [100.0, 90.0, 81.0 * own(i)].map(|rate| rate * speed(i));
        let rounds: Vec<[f64; 3]> = (0..60).map(round).collect();
        let share = |from: usize, to: usize| {
            share_of_base(&[rounds
                .iter()
                .map(|round| [round[0], round[from], round[to]])
                .collect()])
            .unwrap()
        };
        let [first, second, total] = [share(0, 1), share(1, 2), share(0, 2)];
        assert!((first.value + 0.1).abs() < 1e-12 && first.half_width < 1e-9, "{first:?}");
        assert!((first.value + second.value - total.value).abs() < 1e-12, "{second:?} {total:?}");
        assert!(
            (total.value + 0.19).abs() < 0.002 && (0.001..0.01).contains(&total.half_width),
            "{total:?}"
        );
        assert_eq!(share_of_base(&[vec![[0.0, 1.0, 1.0]; 20]]), Err(Refusal::IdleBaseline));
    }

    #[test]
    fn a_reciprocal_has_its_longer_side_the_other_way() {
        let rounds: Vec<_> =
            (0..64).map(|i| (100.0, if i % 16 == 3 { 20.0 } else { 100.0 })).collect();
        let found = estimate(&rounds).unwrap();
        let ((low, high), (turned_low, turned_high)) =
            (found.bounds_at(0.99), found.inverted().bounds_at(0.99));
        assert!((low * turned_high - 1.0).abs() < 1e-9 && (high * turned_low - 1.0).abs() < 1e-9);
        assert!((found.ratio / low) > 1.2 * (high / found.ratio), "rare losses reach further down");
        assert_eq!(found.bounds_at(0.95), (found.low, found.high));
    }

    #[test]
    fn what_a_visit_gives_to_a_side_cancels() {
        // The second file is a tenth faster; the sides swap files between the visits. True ratio
        // 0.9.
        let noise = |i: usize| [1.0, 0.98, 1.0, 1.02][i % 4];
        let first: Vec<_> = (0..20).map(|i| (100.0, 99.0 * noise(i))).collect();
        let second: Vec<_> = (0..40).map(|i| (110.0, 90.0 * noise(i))).collect();
        let found = stratified(&[first.clone(), second]).unwrap();
        assert!((found.ratio - 0.9).abs() < 1e-9, "{found:?}");
        assert!(found.half_width() < 0.01, "the visits' own ratios are no spread: {found:?}");
        let alone = estimate(&first).unwrap();
        assert_eq!(stratified(&[first]).unwrap(), alone);
        assert_eq!(stratified(&[]), Err(Refusal::TooFewRounds { have: 0 }));
    }

    fn rounds() -> impl Strategy<Value = Vec<(f64, f64)>> {
        prop::collection::vec((0.0..1e6f64, 0.0..1e6f64), 16..200)
            .prop_filter("both sides complete something", |rounds| ratio_of_totals(rounds).is_ok())
    }

    proptest! {
        #[test]
        fn the_interval_contains_the_estimate(rounds in rounds()) {
            let found = estimate(&rounds).unwrap();
            prop_assert!(found.low <= found.ratio && found.ratio <= found.high && found.low >= 0.0);
        }

        #[test]
        fn units_do_not_matter(rounds in rounds(), scale in 1e-6..1e6f64) {
            let scaled: Vec<_> = rounds.iter().map(|(a, b)| (a * scale, b * scale)).collect();
            let (one, other) = (estimate(&rounds).unwrap(), estimate(&scaled).unwrap());
            prop_assert!((one.ratio / other.ratio - 1.0).abs() < 1e-9);
            prop_assert!((one.half_width() - other.half_width()).abs() <= 1e-9 * one.half_width().max(1.0));
        }

        #[test]
        fn swapping_sides_inverts_the_ratio(rounds in rounds()) {
            let swapped: Vec<_> = rounds.iter().map(|(a, b)| (*b, *a)).collect();
            let (one, other) = (estimate(&rounds).unwrap(), estimate(&swapped).unwrap());
            prop_assert!((one.inverted().ratio / other.ratio - 1.0).abs() < 1e-9);
        }

        #[test]
        fn two_equal_sides_differ_by_nothing(rates in prop::collection::vec(1.0..1e6f64, 16..100)) {
            let rounds: Vec<_> = rates.iter().map(|rate| (*rate, *rate)).collect();
            let found = estimate(&rounds).unwrap();
            prop_assert!((found.ratio - 1.0).abs() < 1e-12 && found.half_width() < 1e-12);
        }
    }
}

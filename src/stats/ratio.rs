//! The estimator: a ratio of totals over paired rounds with an interval from batch means. Rounds without
//! a completion are legal; a side without any is refused.

use super::spread::{Spread, mean};
use super::{Gate, Refusal, Uncertain};

/// An estimated ratio with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Sum over B divided by sum over A.
    pub ratio: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Spread of the relative residuals behind it.
    pub spread: Spread,
}

impl Ratio {
    fn around(ratio: f64, spread: Spread) -> Ratio {
        let (below, above) = spread.reach(0.95);
        Ratio { ratio, low: ratio * (-below).exp(), high: ratio * above.exp(), spread }
    }

    /// Half-width of the interval of the logarithm, about the relative half-width.
    pub fn half_width(&self) -> f64 {
        self.spread.half_width()
    }

    /// ln R with its standard error.
    pub fn log(&self) -> Uncertain {
        Uncertain {
            value: self.ratio.ln(),
            error: self.spread.standard_error(),
            freedom: self.spread.freedom,
        }
    }

    /// Half-width of the interval of ln R that holds with probability `confidence`.
    pub fn half_width_at(&self, confidence: f64) -> f64 {
        self.log().half_width(confidence)
    }

    /// The batch gate.
    pub fn gate(&self) -> Gate {
        self.spread.gate
    }

    /// The same finding about the reciprocal: a ratio of times becomes one of rates.
    pub fn inverted(self) -> Ratio {
        Ratio { ratio: 1.0 / self.ratio, low: 1.0 / self.high, high: 1.0 / self.low, ..self }
    }
}

/// Estimates sum B / sum A from the rates `(A, B)` of each round in order of time.
///
/// The interval is `exp(ln R +- t(.975, m - 1) SE)`, SE from batch means of the residuals
/// `(B - R A) / (R mean A)`. It uses totals since the mean of logarithms is drawn down by dips.
///
/// # Errors
/// [`Refusal`] below 16 rounds, when a side completed nothing, or for a rate below zero.
pub fn estimate(rounds: &[(f64, f64)]) -> Result<Ratio, Refusal> {
    let ratio = ratio_of_totals(rounds)?;
    let spread = Spread::of(&residuals(rounds, ratio))?;
    Ok(Ratio::around(ratio, spread))
}

/// The same over several visits, of which each has a ratio of its own (siblings swapped between them, say): the mean
/// of their logarithms, so that what one visit gives to a side and the next to the other cancels. Residuals are taken
/// within each visit.
///
/// # Errors
/// As [`estimate`], of any visit; rounds are counted over all of them.
pub fn stratified(visits: &[Vec<(f64, f64)>]) -> Result<Ratio, Refusal> {
    let ratios = visits.iter().map(|rounds| ratio_of_totals(rounds)).collect::<Result<Vec<f64>, _>>()?;
    if ratios.is_empty() {
        return Err(Refusal::TooFewRounds { have: 0 });
    }
    let within = visits.iter().zip(&ratios).flat_map(|(rounds, ratio)| residuals(rounds, *ratio));
    let mut spread = Spread::of(&within.collect::<Vec<_>>())?;
    // Visits weigh alike, however many rounds they have: the variance of their mean says how many rounds it is worth.
    let shares: f64 = visits.iter().map(|rounds| 1.0 / rounds.len() as f64).sum();
    spread.variance *= spread.n as f64 * shares / (visits.len() as f64).powi(2);
    let ratio = mean(&ratios.iter().map(|ratio| ratio.ln()).collect::<Vec<_>>()).exp();
    Ok(Ratio::around(ratio, spread))
}

/// Sum B / sum A, without an interval.
///
/// # Errors
/// As [`estimate`], but for the number of rounds: one is enough.
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

/// Relative residuals of each round; their mean is zero.
pub fn residuals(rounds: &[(f64, f64)], ratio: f64) -> Vec<f64> {
    let mean_a = mean(&rounds.iter().map(|round| round.0).collect::<Vec<_>>());
    rounds.iter().map(|(a, b)| (b - ratio * a) / (ratio * mean_a)).collect()
}

/// A difference of two means per item with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean of B minus mean of A.
    pub value: f64,
    /// Half-width of the interval.
    pub half_width: f64,
    /// Rounds behind it.
    pub rounds: usize,
}

/// What one side of a round adds up to, and over how many items.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Sum, for instance of latencies.
    pub sum: f64,
    /// Items, for instance I/Os.
    pub items: f64,
}

/// Estimates the mean per item of B minus that of A, paired by rounds `(A, B)` (for added
/// microseconds per I/O). Both means are ratios of totals; their residuals are subtracted round by
/// round, so that noise common to both cancels.
///
/// # Errors
/// [`Refusal`] below 16 rounds or when a side has no item.
pub fn difference(rounds: &[(Total, Total)]) -> Result<Difference, Refusal> {
    let side_a: Vec<(f64, f64)> = rounds.iter().map(|(a, _)| (a.items, a.sum)).collect();
    let side_b: Vec<(f64, f64)> = rounds.iter().map(|(_, b)| (b.items, b.sum)).collect();
    let mean_a = ratio_of_totals(&side_a).map_err(|_| Refusal::IdleBaseline)?;
    let mean_b = ratio_of_totals(&side_b).map_err(|_| Refusal::IdleStack)?;
    let off_a = residuals(&side_a, mean_a);
    let off_b = residuals(&side_b, mean_b);
    let paired: Vec<f64> = off_b.iter().zip(&off_a).map(|(b, a)| b * mean_b - a * mean_a).collect();
    let spread = Spread::of(&paired)?;
    Ok(Difference { value: mean_b - mean_a, half_width: spread.half_width(), rounds: rounds.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn worked_by_hand() {
        // A is always 100; B alternates 80, 100 in pairs of rounds: R = 0.9, residuals -1/9 and +1/9.
        let rounds: Vec<_> = (0..16).map(|i| (100.0, if i % 4 < 2 { 80.0 } else { 100.0 })).collect();
        let found = estimate(&rounds).unwrap();
        assert!((found.ratio - 0.9).abs() < 1e-12);
        let error = (1.0f64 / 81.0 * 16.0 / 15.0 / 16.0).sqrt();
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
                (Total { sum: 10.0 * drift, items: 10.0 }, Total { sum: 10.0 * (drift + 3.0), items: 10.0 })
            })
            .collect();
        let found = difference(&rounds).unwrap();
        assert!((found.value - 3.0).abs() < 1e-9 && found.half_width < 1e-9, "{found:?}");
        assert_eq!(
            difference(&[(Total::default(), Total { sum: 1.0, items: 1.0 }); 16]),
            Err(Refusal::IdleBaseline)
        );
    }

    #[test]
    fn what_a_visit_gives_to_a_side_cancels() {
        // The second file is a tenth faster; the sides swap files between the visits. True ratio 0.9.
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

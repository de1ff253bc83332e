//! A share of independent trials, with its exact interval.

use super::ALPHA;
use statrs::distribution::{Beta, ContinuousCDF};

/// Returns the 95 % interval of Clopper and Pearson (1934) for `hits` of `trials`: never too
/// narrow. If all or none hit, all of the error is on the one side that is left, which for none is
/// the exact form of the rule of three. Returns `None` without trials, or for more hits than
/// trials.
pub fn interval(hits: u64, trials: u64) -> Option<(f64, f64)> {
    let n = trials as f64;
    match hits {
        _ if trials == 0 || hits > trials => None,
        0 => Some((0.0, 1.0 - ALPHA.powf(1.0 / n))),
        all if all == trials => Some((ALPHA.powf(1.0 / n), 1.0)),
        some => {
            let (hits, misses) = (some as f64, (trials - some) as f64);
            let low = Beta::new(hits, misses + 1.0).ok()?.inverse_cdf(ALPHA / 2.0);
            let high = Beta::new(hits + 1.0, misses).ok()?.inverse_cdf(1.0 - ALPHA / 2.0);
            Some((low, high))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_printed_tables() {
        // Clopper-Pearson at 95 %, as R's binom.test gives them.
        for (hits, trials, low, high) in
            [(1, 10, 0.00253, 0.44502), (5, 10, 0.18709, 0.81291), (9, 10, 0.55498, 0.99747)]
        {
            let (found_low, found_high) = interval(hits, trials).unwrap();
            assert!(
                (found_low - low).abs() < 1e-4 && (found_high - high).abs() < 1e-4,
                "{hits} of {trials}"
            );
        }
        assert_eq!(interval(0, 0), None);
        assert_eq!(interval(3, 2), None);
    }

    #[test]
    fn none_of_many_is_the_rule_of_three() {
        let (low, high) = interval(0, 20).unwrap();
        assert!(low == 0.0 && (high - 0.1391).abs() < 1e-4, "{high}");
        let (_, high) = interval(0, 10_000).unwrap();
        assert!((high * 10_000.0 - 3.0).abs() < 0.01, "{high}");
        let (low, high) = interval(20, 20).unwrap();
        assert!(high == 1.0 && (low - 0.8609).abs() < 1e-4, "{low}");
    }
}

//! The interval of a watched run. Repeated looks at an ordinary 95 % interval are wrong far more
//! often than one time in twenty. This one holds at all looks simultaneously, and is wider for it.

use super::Ratio;

/// Number of rounds below which nothing is shown.
pub const LEAST: usize = 20;

const ALPHA: f64 = 0.05;
/// Number of rounds around which the interval is tuned to be narrowest.
const TUNED_FOR: f64 = 60.0;

/// Returns the half-width of ln R that may be watched while rounds come in; `None` below 20 rounds.
///
/// It is an asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
/// "Time-uniform central limit theory and asymptotic confidence sequences"), for a normal
/// distribution of known variance. It is widened by the factor by which the farther side of the
/// ordinary interval exceeds that of such a distribution, on account of memory, degrees of freedom
/// and skewness.
pub fn half_width(found: &Ratio) -> Option<f64> {
    let spread = &found.spread;
    if spread.n < LEAST {
        return None;
    }
    let n = spread.n as f64;
    let scaled = n * rho_squared() + 1.0;
    let boundary = (2.0 * scaled / (n * n * rho_squared()) * (scaled.sqrt() / ALPHA).ln()).sqrt();
    let (below, above) = spread.reach(0.95);
    Some(below.max(above) * n.sqrt() / 1.96 * boundary)
}

fn rho_squared() -> f64 {
    let twice = -2.0 * ALPHA.ln();
    (twice + (twice + 1.0).ln()) / TUNED_FOR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::estimate;
    use proptest::prelude::*;

    fn noisy(n: usize) -> Ratio {
        let rounds: Vec<_> =
            (0..n).map(|i| (100.0, [97.0, 103.0, 104.0, 96.0, 100.0][i % 5])).collect();
        estimate(&rounds).unwrap()
    }

    #[test]
    fn wider_than_the_single_look_and_narrowing() {
        assert_eq!(half_width(&noisy(19)), None);
        let widths: Vec<f64> =
            [32, 64, 128, 256, 512].iter().map(|n| half_width(&noisy(*n)).unwrap()).collect();
        assert!(widths.windows(2).all(|pair| pair[1] < pair[0]), "{widths:?}");
        for n in [20, 60, 500] {
            let factor = half_width(&noisy(n)).unwrap() / noisy(n).half_width();
            assert!((1.2..2.2).contains(&factor), "{n}: {factor}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn never_narrower_than_the_single_look(rounds in prop::collection::vec((0.5..1.5f64, 0.1..1.5f64), 20..300)) {
            let found = estimate(&rounds).unwrap();
            let (below, above) = found.spread.reach(0.95);
            let watched = half_width(&found).unwrap();
            prop_assert!(watched >= 1.2 * below.max(above), "{watched} {below} {above}");
        }
    }
}

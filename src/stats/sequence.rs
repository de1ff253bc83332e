//! The interval of a watched run. Looking again and again at an ordinary 95 % interval is wrong far more
//! often than one time in twenty; this one holds at all looks together, and is wider for it.

use super::Ratio;
use super::t975;

/// Rounds below which nothing is shown.
pub const LEAST: usize = 20;

const ALPHA: f64 = 0.05;
/// The width is tuned to be least near this many rounds.
const TUNED_FOR: f64 = 60.0;

/// Half-width of ln R that may be watched while rounds come in; `None` below 20 rounds.
///
/// An asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform
/// central limit theory and asymptotic confidence sequences"), with the batch variance in the place of the
/// independent one and widened by t / 1.96 for the few batches.
pub fn half_width(found: &Ratio) -> Option<f64> {
    let spread = &found.spread;
    if spread.n < LEAST {
        return None;
    }
    let n = spread.n as f64;
    let scaled = n * rho_squared() + 1.0;
    let boundary = (2.0 * scaled / (n * n * rho_squared()) * (scaled.sqrt() / ALPHA).ln()).sqrt();
    Some(t975(spread.batches - 1) / 1.96 * spread.variance.sqrt() * boundary)
}

fn rho_squared() -> f64 {
    let twice = -2.0 * ALPHA.ln();
    (twice + (twice + 1.0).ln()) / TUNED_FOR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::ratio::estimate;

    fn noisy(n: usize) -> Ratio {
        let rounds: Vec<_> = (0..n).map(|i| (100.0, [97.0, 103.0, 104.0, 96.0, 100.0][i % 5])).collect();
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
}

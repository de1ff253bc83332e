//! How far the mean of dependent values may be off: batch means. Refuses fewer than 16 values.

use super::{Gate, Refusal, t975};

/// Batches are made so that there are 16 to 31 of them.
pub const BATCHES: usize = 16;

/// Spread of a mean whose values, in order of time, may depend on their neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Number of values.
    pub n: usize,
    /// Values in a batch: the power of two that leaves 16 to 31 batches.
    pub batch: usize,
    /// Number of batches.
    pub batches: usize,
    /// The larger of the variance as if independent and the batches' (per value).
    pub variance: f64,
    /// Whether batches are long enough.
    pub gate: Gate,
}

impl Spread {
    /// Of residuals: values minus their estimate, so that their mean is zero.
    ///
    /// # Errors
    /// [`Refusal::TooFewRounds`] below 16 values.
    pub fn of(residuals: &[f64]) -> Result<Spread, Refusal> {
        let n = residuals.len();
        if n < BATCHES {
            return Err(Refusal::TooFewRounds { have: n });
        }
        let batch = batch_length(n);
        let means: Vec<f64> = residuals.chunks_exact(batch).map(mean).collect();
        let independent = sum_of_squares(residuals) / (n - 1) as f64;
        let batched = batch as f64 * sum_of_squares(&means) / (means.len() - 1) as f64;
        Ok(Spread {
            n,
            batch,
            batches: means.len(),
            variance: independent.max(batched),
            gate: Gate::of(&means),
        })
    }

    /// Standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        (self.variance / self.n as f64).sqrt()
    }

    /// Half-width of the 95 % interval, Student's t over the batches.
    pub fn half_width(&self) -> f64 {
        t975(self.batches - 1) * self.standard_error()
    }
}

/// 2^floor(log2(n/16)), for n of at least 16.
fn batch_length(n: usize) -> usize {
    1 << (n / BATCHES).max(1).ilog2()
}

/// Degrees of freedom of an interval over so many values, at least 16: its batches less one.
pub fn freedom(n: usize) -> usize {
    (n / batch_length(n)).saturating_sub(1).max(1)
}

/// Mean of a slice that is not empty.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn sum_of_squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_to_thirty_one_batches() {
        for n in 16..2000 {
            let spread = Spread::of(&vec![0.0; n]).unwrap();
            assert!((16..=31).contains(&spread.batches), "{n}: {spread:?}");
            assert!(spread.batch.is_power_of_two());
            assert_eq!(freedom(n), spread.batches - 1);
        }
        assert_eq!(Spread::of(&[0.0; 15]), Err(Refusal::TooFewRounds { have: 15 }));
    }

    #[test]
    fn worked_by_hand() {
        // 32 values, batches of two: means are +1, -1, +1, ...; v1 = 32/31, v2 = 2 * 16 / 15.
        let values = [1.0, 1.0, -1.0, -1.0].repeat(8);
        let spread = Spread::of(&values).unwrap();
        assert_eq!((spread.batch, spread.batches), (2, 16));
        assert!((spread.variance - 32.0 / 15.0).abs() < 1e-12);
        assert!((spread.standard_error() - (2.0f64 / 30.0).sqrt()).abs() < 1e-12);
        assert!(!spread.gate.holds(), "batches alternate");
    }
}

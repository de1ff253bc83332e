//! Spread of the mean of dependent values: batch means, corrected for skewness and for rare large
//! values. Fewer than 16 values are refused.

use super::gate::BatchGate;
use super::refusal::Refusal;
use super::student::t_quantile;

/// Smallest number of batches: there are 16 to 31 of them.
pub const BATCHES: usize = 16;

/// Spread of a mean whose values, in order of time, may depend on their neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanSpread {
    /// Number of values in the mean.
    pub n: usize,
    /// Number of values in a batch: the power of two that leaves 16 to 31 batches.
    pub batch: usize,
    /// Number of batches of the values.
    pub batches: usize,
    /// Variance per value: the long-run variance where it is clearly larger than that of
    /// independent values, otherwise a third of the way to it.
    pub variance: f64,
    /// Degrees of freedom of the variance; few where rare large values make it uncertain.
    pub freedom: f64,
    /// Skewness of the mean: that of the values divided by the square root of the effective sample
    /// size.
    pub skewness: f64,
    /// Number of later values with which one value is still correlated; 0 if that is not clear.
    pub memory: usize,
    /// Gate that shows if batches are long enough.
    pub gate: BatchGate,
}

impl MeanSpread {
    /// Computes the spread from residuals: values minus their estimate, so that their mean is zero.
    ///
    /// # Errors
    /// [`Refusal::TooFewRounds`] below 16 values.
    pub fn from_residuals(residuals: &[f64]) -> Result<MeanSpread, Refusal> {
        let n = residuals.len();
        if n < BATCHES {
            return Err(Refusal::TooFewRounds { have: n });
        }
        let batch = batch_length(n);
        let means: Vec<f64> = residuals.chunks_exact(batch).map(mean).collect();
        let independent = power_sum(residuals, 2) / (n - 1) as f64;
        let long_run = LongRun::from_residuals(residuals);
        // A long-run variance that exceeds the independent one by less may be chance: its relative
        // error falls with the root of n. A third of the excess is added all the same, or a weak
        // memory would be ignored in every short run.
        let excess = (long_run.variance - independent).max(0.0);
        let remembers = excess > 4.0 / (n as f64).sqrt() * independent;
        let variance = independent + if remembers { excess } else { excess / 3.0 };
        let shape = MomentShape::from_values(residuals, n as f64 * independent / variance);
        let few = if remembers {
            (n / (2 * long_run.memory + 1)).clamp(4, means.len()) - 1
        } else {
            n - 1
        };
        Ok(MeanSpread {
            n,
            batch,
            batches: means.len(),
            variance,
            freedom: shape.freedom.min(few as f64),
            skewness: shape.skewness,
            memory: if remembers { long_run.memory } else { 0 },
            gate: BatchGate::from_batch_means(&means),
        })
    }

    /// Returns the standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        (self.variance / self.n as f64).sqrt()
    }

    /// Returns half the length of the mean's 95 % interval.
    pub fn half_width(&self) -> f64 {
        let (below, above) = self.reach(0.95);
        (below + above) / 2.0
    }

    /// Returns the factor by which quantiles of Student's t must be larger, since a memory that is
    /// a fair part of the whole series leaves the long-run variance uncertain and too small. It is
    /// the fixed-b law of Kiefer and Vogelsang (2005), with b the memory as a share of the series.
    fn stretch(&self) -> f64 {
        let b = self.memory as f64 / self.n as f64;
        1.0 + (2.9694 * b + 0.4160 * b * b - 0.5324 * b.powi(3)) / 1.96
    }

    /// Returns the distances that the interval of that confidence reaches below and above the mean.
    ///
    /// They are Student's t after Hall's (1992) cubic transformation for the skewness: if the
    /// values have a few large losses, the true mean may lie farther below the estimate than above
    /// it. Without skewness both distances are t standard errors.
    pub fn reach(&self, confidence: f64) -> (f64, f64) {
        let t = t_quantile(0.5 + confidence / 2.0, self.freedom) * self.stretch();
        let error = self.standard_error();
        (turned(t, self.skewness) * error, -turned(-t, self.skewness) * error)
    }
}

/// Long-run variance per value of a sum of correlated values.
struct LongRun {
    variance: f64,
    memory: usize,
}

impl LongRun {
    /// Sums the autocovariances in pairs of neighbouring lags, up to the first pair whose sum is
    /// not positive, and none larger than the pair before it (Geyer's initial monotone sequence,
    /// 1992). Unlike batch means this sees a memory longer than a batch.
    fn from_residuals(residuals: &[f64]) -> LongRun {
        let n = residuals.len();
        let covariance = |lag: usize| {
            residuals.iter().zip(&residuals[lag..]).map(|(one, later)| one * later).sum::<f64>()
                / n as f64
        };
        let (mut sum, mut least, mut memory) = (-covariance(0), f64::INFINITY, 0);
        for pair in 0..n / 4 {
            let both = covariance(2 * pair) + covariance(2 * pair + 1);
            if both <= 0.0 {
                break;
            }
            least = least.min(both);
            sum += 2.0 * least;
            memory = 2 * pair + 1;
        }
        let taken = (2 * memory + 1) as f64 / n as f64;
        LongRun { variance: sum / (1.0 - taken).max(0.2), memory }
    }
}

/// Inverts Hall's transformation x + a x^2 / 3 + a^2 x^3 / 27 + a / 6.
fn turned(t: f64, a: f64) -> f64 {
    if a.abs() < 1e-6 {
        return t;
    }
    3.0 / a * ((1.0 + a * (t - a / 6.0)).cbrt() - 1.0)
}

/// Skewness and degrees of freedom from the third and fourth moments.
struct MomentShape {
    skewness: f64,
    freedom: f64,
}

impl MomentShape {
    /// Computes skewness and degrees of freedom from values whose mean is zero and whose effective
    /// sample size is `worth`. The variance of a variance follows from the kurtosis, and with it
    /// the degrees of freedom (Satterthwaite): `2 worth / (kurtosis - 1)`.
    fn from_values(values: &[f64], worth: f64) -> MomentShape {
        let n = values.len() as f64;
        let variance = power_sum(values, 2) / n;
        if variance <= 0.0 {
            return MomentShape { skewness: 0.0, freedom: n };
        }
        let kurtosis = power_sum(values, 4) / n / variance.powi(2);
        let skewness = power_sum(values, 3) / n / variance.powf(1.5);
        MomentShape {
            skewness: skewness / worth.sqrt(),
            freedom: (2.0 * worth / (kurtosis - 1.0).max(1e-9)).max(1.0),
        }
    }
}

/// Returns 2^floor(log2(n/16)), for n of at least 16.
fn batch_length(n: usize) -> usize {
    1 << (n / BATCHES).max(1).ilog2()
}

/// Returns the mean of a slice that is not empty.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn power_sum(values: &[f64], power: i32) -> f64 {
    values.iter().map(|value| value.powi(power)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_to_thirty_one_batches() {
        for n in 16..2000 {
            let spread = MeanSpread::from_residuals(&vec![0.0; n]).unwrap();
            assert!((16..=31).contains(&spread.batches), "{n}: {spread:?}");
            assert!(spread.batch.is_power_of_two());
        }
        assert_eq!(MeanSpread::from_residuals(&[0.0; 15]), Err(Refusal::TooFewRounds { have: 15 }));
    }

    #[test]
    fn worked_by_hand() {
        // 32 values, batches of two: means are +1, -1, +1, ... Covariances 32/32, 1/32, then -30/32
        // - 1/32 ends the sum: (2 * 33/32 - 1) / (1 - 3/32) = 34/29 is less than 1 + 4 / sqrt(32)
        // of the independent 32/31: a third of the way.
        let values = [1.0, 1.0, -1.0, -1.0].repeat(8);
        let spread = MeanSpread::from_residuals(&values).unwrap();
        assert_eq!((spread.batch, spread.batches, spread.memory), (2, 16, 0));
        let third = 2.0 / 3.0 * 32.0 / 31.0 + 34.0 / 29.0 / 3.0;
        assert!((spread.variance - third).abs() < 1e-12);
        assert!((spread.standard_error() - (third / 32.0).sqrt()).abs() < 1e-12);
        assert!((spread.gate.correlation + 15.0 / 16.0).abs() < 1e-12, "batches alternate");
        assert_eq!(spread.freedom, 31.0);
        assert_eq!(spread.reach(0.95).0, spread.reach(0.95).1, "no skewness, no longer side");
    }

    #[test]
    fn memory_worked_by_hand() {
        // 64 values. Covariances 64/64, 33/64, then 2/64 - 29/64 ends the sum: (2 * 97/64 - 1) / (1
        // - 3/64) = 130/61.
        let values = [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0].repeat(8);
        let spread = MeanSpread::from_residuals(&values).unwrap();
        assert!((spread.variance - 130.0 / 61.0).abs() < 1e-12, "{spread:?}");
        assert_eq!((spread.memory, spread.freedom), (1, 15.0));
        // Fixed-b: the memory is 1/64 of the series, which stretches the quantile by a fortieth.
        let expected =
            t_quantile(0.975, 15.0) * spread.standard_error() * (1.0 + 2.9759 / 64.0 / 1.96);
        assert!((spread.half_width() / expected - 1.0).abs() < 1e-4, "{spread:?}");
    }

    #[test]
    fn rare_losses_reach_further_down_and_make_the_variance_uncertain() {
        // Three stalls in 150 rounds: a Poisson count of 3 is 0.6 to 8.8, so that the truth may lie
        // 5.8 stalls below and 2.4 above. A symmetric interval reaches for neither.
        let values: Vec<f64> = (0..150).map(|i| if i % 50 == 20 { -0.98 } else { 0.02 }).collect();
        let spread = MeanSpread::from_residuals(&values).unwrap();
        let (below, above) = spread.reach(0.95);
        assert!(
            below > 5.8 / 150.0 && (2.4 / 150.0..3.4 / 150.0).contains(&above),
            "{below} {above}"
        );
        assert!(spread.freedom < 8.0, "{spread:?}");
        let symmetric = t_quantile(0.975, spread.freedom) * spread.standard_error();
        assert!(symmetric < 5.8 / 150.0 && symmetric > above, "{symmetric}");
    }
}

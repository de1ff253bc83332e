//! The batch gate: batches must be long enough that one gives no information about the next. While
//! they are still correlated, the interval is too narrow and measuring goes on. Batches that
//! alternate make the interval wider than needed, which is no reason to go on.

use serde::Serialize;

/// Correlation of neighbouring batch means, and the bound that chance allows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BatchGate {
    /// Signed correlation: sum of products of neighbours over the sum of squares.
    pub correlation: f64,
    /// 1.645 / sqrt(batches): independent batches stay below it nineteen times out of twenty.
    pub bound: f64,
}

impl BatchGate {
    /// Computes the gate from batch means whose common mean is zero (residuals).
    pub fn from_batch_means(batch_means: &[f64]) -> BatchGate {
        let squares: f64 = batch_means.iter().map(|mean| mean * mean).sum();
        let products: f64 = batch_means.windows(2).map(|pair| pair[0] * pair[1]).sum();
        BatchGate {
            correlation: if squares > 0.0 { products / squares } else { 0.0 },
            bound: 1.645 / (batch_means.len().max(1) as f64).sqrt(),
        }
    }

    /// Returns true if the batches may be taken as independent.
    pub fn holds(&self) -> bool {
        self.correlation <= self.bound
    }
}

#[cfg(test)]
mod tests {
    use super::BatchGate;

    #[test]
    fn a_trend_fails_noise_and_a_see_saw_pass() {
        let trend: Vec<f64> = (0..16).map(|i| f64::from(i) - 7.5).collect();
        let see_saw: Vec<f64> = (0..16).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let mixed = [1.0, 1.0, -1.0, -1.0].repeat(4);
        assert!(!BatchGate::from_batch_means(&trend).holds());
        assert!(
            BatchGate::from_batch_means(&see_saw).holds(),
            "an interval that is too wide is no false one"
        );
        assert!(BatchGate::from_batch_means(&mixed).holds());
        assert!(
            BatchGate::from_batch_means(&[0.0; 16]).holds(),
            "no noise at all is no dependence"
        );
    }
}

//! Comparison of a stack with the baseline in one figure of which less is better.

use super::figure::MeasuredFigure;
use iotax_stats::{Charge, Phrase, Refusal};
use serde::Serialize;

/// Comparison of a stack with the baseline in a figure of which less is better: mean latency or CPU
/// time per I/O.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChargeFinding {
    /// Compared figure in words: `the mean latency of 4k random reads at 12,300 I/Os a second`.
    pub quantity: String,
    /// Conclusion from the interval that holds for all figures of this kind in the run.
    pub verdict: Charge,
    /// Advice on what would settle the verdict; `None` if it is settled, or if nothing would.
    pub remedy: Option<String>,
    pub sentence: String,
    /// Sentence without the names of the stacks, so that several stacks can share it.
    #[serde(skip)]
    pub phrase: Phrase,
    pub ratio: MeasuredFigure,
    /// Figure of the stack minus that of the baseline, in ns.
    pub difference: MeasuredFigure,
}

impl ChargeFinding {
    pub fn not_measured(&self) -> Option<&str> {
        match self.verdict.reason() {
            Some(Refusal::NotMeasured { reason }) => Some(reason),
            _ => None,
        }
    }
}

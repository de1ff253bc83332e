//! Amount that a stack takes more or less than the baseline, in one figure.

use super::figure::MeasuredFigure;
use iotax_stats::{Charge, Phrase, Refusal};
use serde::Serialize;

/// A figure for which less is better.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChargeFinding {
    /// `the mean latency of 4k random reads at 12,300 I/Os a second`.
    pub quantity: String,
    /// Conclusion from the interval that holds for all figures of this kind in the run.
    pub verdict: Charge,
    /// Advice on what would settle it, if anything would.
    pub remedy: Option<String>,
    pub sentence: String,
    /// The sentence without its stacks, so that it can be said of several at once.
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

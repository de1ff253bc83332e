//! Amount that a stack takes more or less than the baseline, in one figure.

use super::figure::MeasuredFigure;
use iotax_stats::{Charge, Phrase, Refusal};
use serde::Serialize;

/// A figure for which less is better.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChargeFinding {
    /// `the mean latency of 4k random reads at 12,300 I/Os a second`.
    pub quantity: String,
    /// Conclusion, which allows for all others of its kind in the run.
    pub verdict: Charge,
    /// Advice on what would settle it, if anything would.
    pub remedy: Option<String>,
    /// Sentence that names stack, baseline and quantity.
    pub sentence: String,
    /// The sentence without its stacks, so that it can be said of several at once.
    #[serde(skip)]
    pub phrase: Phrase,
    /// Figure of the stack over that of the baseline.
    pub ratio: MeasuredFigure,
    /// Figure of the stack minus that of the baseline, in ns.
    pub difference: MeasuredFigure,
}

impl ChargeFinding {
    /// Returns the reason why there is nothing to judge.
    pub fn not_measured(&self) -> Option<&str> {
        match self.verdict.reason() {
            Some(Refusal::NotMeasured { reason }) => Some(reason),
            _ => None,
        }
    }
}

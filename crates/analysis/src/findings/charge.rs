//! What a stack takes more or less than the baseline, in one figure.

use super::figure::MeasuredFigure;
use iotax_stats::{Charge, Phrase, Refusal};
use serde::Serialize;

/// A figure of which less is better.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChargeFinding {
    /// `the mean latency of 4k random reads at 12,300 I/Os a second`.
    pub quantity: String,
    /// The conclusion, with all of the run's of its kind in mind.
    pub verdict: Charge,
    /// What would settle it, where something would.
    pub remedy: Option<String>,
    /// In words, naming stack, baseline and quantity.
    pub sentence: String,
    /// The sentence without its stacks, to be said of several at once.
    #[serde(skip)]
    pub phrase: Phrase,
    /// Of the stack over that of the baseline.
    pub ratio: MeasuredFigure,
    /// Of the stack less that of the baseline, ns.
    pub difference: MeasuredFigure,
}

impl ChargeFinding {
    /// Why there is nothing to judge.
    pub fn not_measured(&self) -> Option<&str> {
        match self.verdict.reason() {
            Some(Refusal::NotMeasured { reason }) => Some(reason),
            _ => None,
        }
    }
}

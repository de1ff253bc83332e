//! Why no verdict is given. A refusal is a result: it is stored and printed like one.

use serde::Serialize;
use std::fmt;

/// The reason that a figure or verdict is withheld.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "refusal", rename_all = "snake_case")]
pub enum Refusal {
    /// Fewer rounds than the 16 batches that an interval needs.
    TooFewRounds {
        /// Rounds at hand.
        have: usize,
    },
    /// Fewer paired visits than an interval needs.
    TooFewVisits {
        /// Pairs at hand.
        have: usize,
    },
    /// The baseline completed nothing, so nothing can be divided by it.
    IdleBaseline,
    /// The stack completed nothing.
    IdleStack,
    /// A rate that is negative or not a number was handed in.
    NotARate,
    /// Batches still follow each other: the interval cannot be trusted.
    DependentBatches {
        /// Correlation of neighbouring batches.
        correlation: f64,
        /// What is allowed.
        bound: f64,
    },
    /// The interval includes zero and reaches beyond the zone of no difference.
    TooWide {
        /// The zone, a fraction.
        zone: f64,
    },
    /// A batch holds fewer than ten samples beyond the percentile.
    ThinTail {
        /// Samples beyond it in the poorest batch.
        have: u64,
    },
    /// Two runs differ by more than their own noise, but not by more than the machine may have drifted.
    Drift,
    /// There is nothing to judge, in words.
    NotMeasured {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooFewRounds { have } => {
                write!(out, "{have} whole rounds, an interval needs 16: raise --budget or shorten --slice")
            }
            Refusal::TooFewVisits { have } => {
                write!(out, "{have} paired visits, an interval needs 4")
            }
            Refusal::IdleBaseline => write!(out, "the baseline completed nothing"),
            Refusal::IdleStack => write!(out, "the stack completed nothing"),
            Refusal::NotARate => write!(out, "a rate is negative or not a number"),
            Refusal::DependentBatches { correlation, bound } => {
                let what = if *correlation > 0.0 { "the noise outlasts a batch" } else { "batches see-saw" };
                write!(
                    out,
                    "{what} (neighbouring ones correlate by {correlation:+.2}, allowed is {bound:.2}); measure longer"
                )
            }
            Refusal::TooWide { zone } => {
                write!(out, "the interval includes zero and reaches beyond {} %", zone * 100.0)
            }
            Refusal::ThinTail { have } => {
                write!(out, "fewer than 10 samples beyond it in a batch (the poorest has {have})")
            }
            Refusal::Drift => write!(out, "drift of the machine between the runs could explain it"),
            Refusal::NotMeasured { reason } => write!(out, "{reason}"),
        }
    }
}

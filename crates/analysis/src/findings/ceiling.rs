//! Ceilings that two stacks ran into.

use serde::Serialize;

/// What both sides run into.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "ceiling", rename_all = "snake_case")]
pub enum Ceiling {
    /// The rate that the workload itself asks for.
    OfferedRate {
        offered: f64,
        /// Achieved shares of it: baseline, stack.
        achieved: [f64; 2],
    },
    /// The load generator's own threads.
    Generator {
        /// Shares of their time that they computed.
        busy: [f64; 2],
    },
    /// The CPUs of the place, or of this host below a guest.
    Cpus {
        /// Shares of their time that were idle.
        idle: [f64; 2],
    },
    /// A limit that set in while it was measured.
    RateLimited,
    /// Both rates are equal and steady.
    SharedLimit {
        /// Difference of the rates, a fraction.
        difference: f64,
        /// Standard deviation of the slices' rates over their mean.
        variation: [f64; 2],
    },
}

/// A ceiling with its words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MaskingCeiling {
    #[serde(flatten)]
    pub by: Ceiling,
    /// `masked by the load generator: ...`.
    pub words: String,
}

impl MaskingCeiling {
    /// In two words, for a table's cell.
    pub fn short(&self) -> &'static str {
        match self.by {
            Ceiling::OfferedRate { .. } => "offered rate",
            Ceiling::Generator { .. } => "generator",
            Ceiling::Cpus { .. } => "busy CPUs",
            Ceiling::RateLimited => "rate limit",
            Ceiling::SharedLimit { .. } => "shared limit",
        }
    }
}

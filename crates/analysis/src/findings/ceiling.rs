//! Ceilings that two stacks reached.

use serde::Serialize;

/// Ceiling that both sides reach.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "ceiling", rename_all = "snake_case")]
pub enum Ceiling {
    /// Rate that the workload itself asks for.
    OfferedRate {
        offered: f64,
        /// Achieved shares of the rate: baseline, stack.
        achieved: [f64; 2],
    },
    /// Threads of the load generator.
    Generator {
        /// Shares of the threads' time in which they computed.
        busy: [f64; 2],
    },
    /// CPUs of the place, or of this host below a guest.
    Cpus {
        /// Idle shares of the CPUs' time.
        idle: [f64; 2],
    },
    /// Rate limit that set in during the measurement.
    RateLimited,
    /// Limit that both share: their rates are equal and steady.
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
    /// Returns two words for a table's cell.
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

//! Ceilings that two stacks reached.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "ceiling", rename_all = "snake_case")]
pub enum Ceiling {
    OfferedRate {
        offered: f64,
        /// Achieved shares of the rate: baseline, stack.
        achieved: [f64; 2],
    },
    Generator {
        /// Shares of the threads' time in which they computed: baseline, stack.
        busy: [f64; 2],
    },
    /// CPUs of the place, or of this host below a guest.
    Cpus {
        /// Idle shares of the CPUs' time: baseline, stack.
        idle: [f64; 2],
    },
    /// Rate limit that set in during the measurement.
    RateLimited,
    /// Limit that both share: their rates are equal and steady.
    SharedLimit {
        difference: f64,
        /// Standard deviation of the slices' rates over their mean.
        variation: [f64; 2],
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MaskingCeiling {
    #[serde(flatten)]
    pub by: Ceiling,
    /// Ceiling in words: `masked by the load generator: ...`.
    pub words: String,
}

impl MaskingCeiling {
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

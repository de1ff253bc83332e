//! What preconditioning records: the passes over drives, as far as they came, and the rounds to a
//! steady state.

use iotax_facts::place::Place;
use serde::{Deserialize, Serialize};

/// Passes over drives in one place, written at the same time; recorded when they begin, now and
/// then, and when they end. The last record of a drive counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    pub place: Place,
    pub drives: Vec<PassedDrive>,
    pub bytes: u64,
    /// How often each is written.
    pub passes: u32,
    /// Bytes of each that were written and flushed, of all passes and all parts of the run.
    pub written: u64,
    /// Bytes of each that may have been written when the next record comes.
    pub begun: u64,
    /// Time of these writes, without their flushes.
    pub took_ns: u64,
    /// Time of the flushes.
    pub flush_ns: u64,
}

/// A drive, or a file under test, that is written as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedDrive {
    /// Where it is in its place.
    pub path: String,
    /// Serial or WWN, by which it is known again; `None`: a file, or it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}

impl Passes {
    /// Bytes of each when all is done.
    pub fn whole(&self) -> u64 {
        self.bytes * u64::from(self.passes)
    }

    /// Whether all of it is done.
    pub fn is_done(&self) -> bool {
        self.written >= self.whole()
    }
}

/// Rounds of a load on all stacks of a set before it was measured, which ended. Their slices have
/// the purpose `precondition`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Preconditioned {
    /// Visit number, from 0.
    pub visit: u32,
    /// Number of the set.
    pub set: u32,
    /// Name of the workload.
    pub workload: String,
    pub rounds: u32,
    /// Length of a round of one stack.
    pub round_ns: u64,
    /// `steady`, `rounds` or `time` (the limit), `max_written`, `interrupted`.
    pub ended: String,
    /// The load has a rate of its own, and ran without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_rate: bool,
    /// Time of all, with flushes and what is between slices.
    pub took_ns: u64,
    pub stacks: Vec<PreconditionedStack>,
}

/// One stack in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PreconditionedStack {
    pub stack: String,
    pub written: u64,
    /// Largest minus smallest pace of the last five rounds, a fraction of their mean; `None`: there
    /// were fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<f64>,
    /// How far the best straight line through them goes, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
    /// Whether that is steady.
    pub steady: bool,
}

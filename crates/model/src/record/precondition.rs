//! Records of preconditioning: the progress of the passes over drives, and the rounds to a steady
//! state.

use iotax_facts::place::Place;
use serde::{Deserialize, Serialize};

/// Progress of writing drives of one place in full, all at the same time. It is recorded at the
/// beginning, at intervals and at the end; the last record of a drive counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    pub place: Place,
    pub drives: Vec<PassedDrive>,
    pub bytes: u64,
    pub passes: u32,
    /// Bytes written and flushed on each drive so far, over all passes and all parts of the run.
    pub written: u64,
    /// Upper bound for the bytes written on each drive until the next record.
    pub begun: u64,
    /// Time of these writes in nanoseconds, without their flushes.
    pub took_ns: u64,
    pub flush_ns: u64,
}

/// A drive, or a file under test, that is written completely.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedDrive {
    /// Path of the drive or file in its place.
    pub path: String,
    /// Serial or WWN, by which the drive is recognised; `None`: a file, or it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}

impl Passes {
    /// Returns the bytes to be written on each drive in total.
    pub fn total_bytes(&self) -> u64 {
        self.bytes * u64::from(self.passes)
    }

    pub fn is_done(&self) -> bool {
        self.written >= self.total_bytes()
    }
}

/// Rounds that a load ran on all stacks of a set before it was measured. Their slices have the
/// purpose `precondition`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Preconditioned {
    pub visit: u32,
    pub set: u32,
    pub workload: String,
    pub rounds: u32,
    pub round_ns: u64,
    /// Reason for the end: `steady`, `rounds` or `time` (the limit), `max_written`, `interrupted`.
    pub ended: String,
    /// True if the load ran as fast as it could, although its workload limits the rate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_rate: bool,
    /// Total time, with flushes and the pauses between slices.
    pub took_ns: u64,
    pub stacks: Vec<PreconditionedStack>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PreconditionedStack {
    pub stack: String,
    pub written: u64,
    /// Difference between the largest and the smallest rate of the last five rounds, as a fraction
    /// of their mean; `None`: there were fewer rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<f64>,
    /// Change over the last five rounds along the line that fits them best, as a fraction of their
    /// mean rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
    pub steady: bool,
}

//! Steps as data: what changes the machine is written down before it is done, and undone from
//! what was written down. Layers make steps; only the executor here performs them.

pub mod op;
pub mod journal;
pub mod place;

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Number of a step in its plan.
pub type StepId = u32;

/// A path known when the plan is made, or one that an earlier step yields (a loop device's
/// number is not known beforehand).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathRef {
    /// Known.
    Path(PathBuf),
    /// Yielded by that step.
    Yield(StepId),
}

/// One change of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Position in the plan.
    pub id: StepId,
    /// Where it is executed: `host`, or the name of a guest or `ssh:HOST`.
    pub place: String,
    /// What it is for, one clause for `plan`.
    pub why: String,
    /// The change.
    pub op: op::Op,
}

/// What a step made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Yield {
    /// A device or a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Inode of a file that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// A process that was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessId>,
}

/// A process, so that a number used again is never mistaken for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its pid.
    pub pid: u32,
    /// Field 22 of /proc/PID/stat, clock ticks since boot.
    pub start_time: u64,
}

//! Output of a step, which later steps and undo use.

use crate::process::ProcessId;
use crate::queue::QueueSettings;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOutput {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// Size of a file that was made, in bytes. With the inode, it identifies the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// True if the thing was there before, from an earlier run of ours. Then it is not undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reused: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessId>,
    /// Settings of the queue of a disk before it was given to a guest.
    #[serde(default, skip_serializing_if = "QueueSettings::is_empty")]
    pub queue: QueueSettings,
}

impl StepOutput {
    pub fn found_at(path: impl Into<PathBuf>) -> StepOutput {
        StepOutput { path: Some(path.into()), ..StepOutput::default() }
    }

    /// Returns the path, else the process, for messages.
    pub fn shown_thing(&self) -> String {
        match (&self.path, &self.process) {
            (Some(path), _) => path.display().to_string(),
            (None, Some(process)) => format!("process {}", process.pid),
            (None, None) => "something".into(),
        }
    }
}

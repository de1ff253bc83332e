//! What a step made.

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
    /// Bytes of a file that was made: with the inode, its identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// True if it was there before and is ours from an earlier run: not undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reused: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessId>,
    /// Settings of the queue of a disk that was taken away.
    #[serde(default, skip_serializing_if = "QueueSettings::is_empty")]
    pub queue: QueueSettings,
}

impl StepOutput {
    pub fn found_at(path: impl Into<PathBuf>) -> StepOutput {
        StepOutput { path: Some(path.into()), ..StepOutput::default() }
    }

    /// Shows the path or the process to a reader.
    pub fn shown_thing(&self) -> String {
        match (&self.path, &self.process) {
            (Some(path), _) => path.display().to_string(),
            (None, Some(process)) => format!("process {}", process.pid),
            (None, None) => "something".into(),
        }
    }
}

//! The search for the limits of one stack (`iotax limits`), which replaces a comparison under load.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitSearch {
    /// True if the limits of writes are searched too, not only those of reads.
    pub writes: bool,
    /// Longest duration of one course of load, in seconds.
    pub seconds: f64,
    /// Shortest pause before each course, in seconds.
    pub rest_s: f64,
    /// Control socket of a QEMU on the path, from which its throttling limits are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qmp: Option<PathBuf>,
}

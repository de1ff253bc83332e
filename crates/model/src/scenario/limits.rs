//! The search for the limits of one stack (`iotax limits`), which replaces a comparison under load.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitSearch {
    /// True if writes have courses, too.
    pub writes: bool,
    /// Longest duration of a course, in seconds.
    pub seconds: f64,
    /// Least rest before each course, in seconds.
    pub rest_s: f64,
    /// Control socket of a QEMU on the path, whose throttling is a limit that is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qmp: Option<PathBuf>,
}

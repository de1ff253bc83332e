//! Limits that are set somewhere: on I/Os, bytes or processors, each with where it is set.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limited {
    /// Reads.
    ReadIos,
    /// Bytes read.
    ReadBytes,
    /// Writes.
    WriteIos,
    /// Bytes written.
    WriteBytes,
    /// Reads and writes together.
    TotalIos,
    /// Bytes of both together.
    TotalBytes,
    /// Bytes that an interface sends, as its queue counts them: with the headers of Ethernet.
    Sent,
    /// Processors, whole or in parts: a quota of CPU time.
    Processors,
    /// Processors that threads may run on, where they are fewer than the machine has.
    Allowed,
}

impl Limited {
    /// Whether it holds for reads or for writes, and for I/Os or for bytes.
    pub fn holds_for(self, writes: bool, bytes: bool) -> bool {
        match self {
            Limited::ReadIos => !writes && !bytes,
            Limited::ReadBytes => !writes && bytes,
            Limited::WriteIos => writes && !bytes,
            Limited::WriteBytes => writes && bytes,
            Limited::TotalIos => !bytes,
            Limited::TotalBytes => bytes,
            Limited::Sent | Limited::Processors | Limited::Allowed => false,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Limited::ReadIos => "reads a second",
            Limited::ReadBytes => "bytes read a second",
            Limited::WriteIos => "writes a second",
            Limited::WriteBytes => "bytes written a second",
            Limited::TotalIos => "I/Os a second",
            Limited::TotalBytes => "bytes a second",
            Limited::Sent => "bytes sent a second",
            Limited::Processors => "processors",
            Limited::Allowed => "processors allowed",
        }
    }
}

/// A limit as it is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetLimit {
    /// What it counts.
    pub of: Limited,
    /// So much a second; of processors their number.
    pub rate: f64,
    /// What passes at once after a rest, where that is set apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<f64>,
    /// What it is set on: a device or an interface by its kernel name, a throttle group.
    pub on: String,
    /// Where: the file of a cgroup, or the command that shows it.
    pub set_in: String,
}

impl fmt::Display for SetLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {} {}", self.on, self.rate, self.of.word())?;
        if let Some(burst) = self.burst {
            write!(out, ", bursts of {burst}")?;
        }
        write!(out, " ({})", self.set_in)
    }
}

//! Limits that are set somewhere: on I/Os, bytes or processors, each with where it is set.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitUnit {
    ReadIos,
    ReadBytes,
    WriteIos,
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

impl LimitUnit {
    /// Whether it holds for reads or for writes, and for I/Os or for bytes.
    pub fn holds_for(self, writes: bool, bytes: bool) -> bool {
        match self {
            LimitUnit::ReadIos => !writes && !bytes,
            LimitUnit::ReadBytes => !writes && bytes,
            LimitUnit::WriteIos => writes && !bytes,
            LimitUnit::WriteBytes => writes && bytes,
            LimitUnit::TotalIos => !bytes,
            LimitUnit::TotalBytes => bytes,
            LimitUnit::Sent | LimitUnit::Processors | LimitUnit::Allowed => false,
        }
    }

    fn word(self) -> &'static str {
        match self {
            LimitUnit::ReadIos => "reads a second",
            LimitUnit::ReadBytes => "bytes read a second",
            LimitUnit::WriteIos => "writes a second",
            LimitUnit::WriteBytes => "bytes written a second",
            LimitUnit::TotalIos => "I/Os a second",
            LimitUnit::TotalBytes => "bytes a second",
            LimitUnit::Sent => "bytes sent a second",
            LimitUnit::Processors => "processors",
            LimitUnit::Allowed => "processors allowed",
        }
    }
}

/// A limit as it is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetLimit {
    pub of: LimitUnit,
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

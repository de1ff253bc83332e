//! Limits on I/Os, bytes or processors, each with the place where it is set.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitUnit {
    ReadIos,
    ReadBytes,
    WriteIos,
    WriteBytes,
    TotalIos,
    TotalBytes,
    /// Bytes that an interface sends, counted by its queue with the Ethernet headers.
    Sent,
    /// CPU quota in processors, whole or fractions of one.
    Processors,
    /// Number of processors that threads may run on, if that is fewer than the machine has.
    Allowed,
}

impl LimitUnit {
    /// Returns true if the limit applies to writes (`writes`) or reads, counted in bytes (`bytes`)
    /// or I/Os.
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

    fn unit_phrase(self) -> &'static str {
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetLimit {
    pub of: LimitUnit,
    /// Amount per second, or the number of processors, in the unit that `of` names.
    pub rate: f64,
    /// Amount that passes at once after a pause, if a separate value is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<f64>,
    /// Target of the limit: the kernel name of a device or an interface, or a throttle group.
    pub on: String,
    /// Source of the limit: the file of a cgroup, or the command that shows it.
    pub set_in: String,
}

impl fmt::Display for SetLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {} {}", self.on, self.rate, self.of.unit_phrase())?;
        if let Some(burst) = self.burst {
            write!(out, ", bursts of {burst}")?;
        }
        write!(out, " ({})", self.set_in)
    }
}

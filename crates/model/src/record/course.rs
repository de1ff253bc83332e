//! Courses of load: how much I/O had completed by which time. Limits of a target, such as a
//! provider's throttling, show in them.

use iotax_facts::limit::SetLimit;
use serde::{Deserialize, Serialize};

/// Direction of a course. `Receive` and `Send` are of a network, seen from the end that generates
/// the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CourseDirection {
    Read,
    Write,
    Receive,
    Send,
}

impl CourseDirection {
    /// Returns true if data leaves the place of the load.
    pub fn is_outward(self) -> bool {
        matches!(self, CourseDirection::Write | CourseDirection::Send)
    }

    /// Returns `reads`, `writes`, `receiving` or `sending`.
    pub fn phrase(self) -> &'static str {
        match self {
            CourseDirection::Read => "reads",
            CourseDirection::Write => "writes",
            CourseDirection::Receive => "receiving",
            CourseDirection::Send => "sending",
        }
    }
}

/// Load of a course. A limit on I/Os or packets slows small blocks and datagrams first, a limit on
/// bytes slows large blocks and streams first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CourseLoad {
    /// Random blocks of 4 KiB.
    SmallBlocks,
    /// Sequential blocks of 1 MiB.
    LargeBlocks,
    /// Sequential blocks of 64 KiB, if too few blocks of 1 MiB completed to find a burst.
    FineBlocks,
    /// Datagrams of 64 bytes.
    Datagrams,
    /// TCP streams.
    Streams,
}

impl CourseLoad {
    /// Returns true if the points count bytes, false if they count I/Os or datagrams.
    pub fn counts_bytes(self) -> bool {
        !matches!(self, CourseLoad::SmallBlocks | CourseLoad::Datagrams)
    }

    pub fn is_of_network(self) -> bool {
        matches!(self, CourseLoad::Datagrams | CourseLoad::Streams)
    }

    /// Returns the size of one I/O in bytes; 0 for a network.
    pub fn block_bytes(self) -> u64 {
        match self {
            CourseLoad::SmallBlocks => 4096,
            CourseLoad::LargeBlocks => 1 << 20,
            CourseLoad::FineBlocks => 1 << 16,
            CourseLoad::Datagrams | CourseLoad::Streams => 0,
        }
    }

    /// Returns the number of I/Os, streams or senders of datagrams at once.
    pub fn depth(self) -> u32 {
        match self {
            CourseLoad::SmallBlocks | CourseLoad::FineBlocks => 32,
            CourseLoad::LargeBlocks => 8,
            // One stream may be bounded by its window.
            CourseLoad::Streams => 4,
            CourseLoad::Datagrams => 1,
        }
    }

    /// Describes the load: `4k random reads at iodepth 32`.
    pub fn phrase(self, direction: CourseDirection) -> String {
        let (what, depth) = (direction.phrase(), self.depth());
        let way = if direction.is_outward() { "to" } else { "from" };
        match self {
            CourseLoad::SmallBlocks => format!("4k random {what} at iodepth {depth}"),
            CourseLoad::LargeBlocks => format!("1M sequential {what} at iodepth {depth}"),
            CourseLoad::FineBlocks => format!("64k sequential {what} at iodepth {depth}"),
            CourseLoad::Datagrams => format!("datagrams of 64 bytes {way} the other end"),
            CourseLoad::Streams => format!("{depth} TCP streams {way} the other end"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitCourse {
    pub direction: CourseDirection,
    pub load: CourseLoad,
    pub rested_s: f64,
    /// Total number of I/Os; for a network, of datagrams.
    pub ios: u64,
    pub bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<CourseFrame>,
    /// Seconds since the load began, and the I/Os, datagrams or bytes
    /// ([`CourseLoad::counts_bytes`]) that had completed by then.
    pub points: Vec<(f64, f64)>,
}

impl LimitCourse {
    /// Converts a rate (datagrams per second, or payload bytes per second of streams) to frames and
    /// bytes per second on the wire. `None` if the course has no frame size: it is not of a
    /// network.
    pub fn on_wire(&self, rate: f64) -> Option<[f64; 2]> {
        let CourseFrame { payload, headers } = self.frame?;
        let by_bytes = self.load.counts_bytes();
        let frames = if by_bytes { rate / f64::from(payload.max(1)) } else { rate };
        Some([frames, frames * f64::from(payload + headers)])
    }

    pub fn seconds(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.0)
    }
}

/// Payload and headers of an Ethernet frame, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CourseFrame {
    pub payload: u32,
    pub headers: u32,
}

/// Limits that are set on the path of a load, as far as they can be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathLimits {
    /// Limits in the place of the load, on this host if that is another place, and in the QEMU
    /// whose control socket the user named.
    pub near: Vec<SetLimit>,
    /// Limits on sending at the other end of a network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub far: Vec<SetLimit>,
    /// Processors that iotax itself may use, if a control group limits them: `0-3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<String>,
}

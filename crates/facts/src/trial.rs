//! Record of a durability trial: the writes that were acknowledged before the kill, and what was
//! found of them afterwards.

use serde::{Deserialize, Serialize};

/// What a durability trial kills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kill {
    /// The guest: a hard reset during its writes. Its QEMU and the process that serves its disks
    /// keep running.
    Guest,
    /// QEMU, by SIGKILL, together with the guest.
    Qemu,
    /// The process that serves the disk beside QEMU, by SIGKILL, then QEMU.
    Daemon,
}

impl Kill {
    pub const ALL: [Kill; 3] = [Kill::Guest, Kill::Qemu, Kill::Daemon];

    pub fn kill_word(self) -> &'static str {
        match self {
            Kill::Guest => "guest",
            Kill::Qemu => "qemu",
            Kill::Daemon => "daemon",
        }
    }

    /// Returns what is killed, as a phrase: `QEMU` in "kills of QEMU".
    pub fn phrase(self) -> &'static str {
        match self {
            Kill::Guest => "the guest",
            Kill::Qemu => "QEMU",
            Kill::Daemon => "what serves the disk, and QEMU",
        }
    }
}

pub const MOST_EXAMPLES: usize = 5;

/// A trial: acknowledged writes, a kill, and the result of reading back through the stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DurabilityTrial {
    pub stack: String,
    /// Number of the trial among those of the stack, from 0.
    pub trial: u32,
    pub kill: Kill,
    /// Nanoseconds from the first acknowledgement to the kill, or until the writer had written its
    /// maximum.
    pub load_ns: u64,
    /// Number of writes between two flushes.
    pub batch: u32,
    pub in_flight: u32,
    /// 4 KiB writes whose flush was acknowledged to this host before the guest was gone.
    pub acknowledged: u64,
    /// True if the writer was still writing when it was killed; false if it had already reached
    /// `max_written`. `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writing: Option<bool>,
    pub found: ReadBack,
}

/// Result of reading back after a kill. Blocks are 4 KiB; `blocks` is the sum of `kept`, `lost`,
/// `torn` and `unreadable`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadBack {
    pub blocks: u64,
    /// Blocks in which every sector has the last acknowledged data, or data that was written later.
    pub kept: u64,
    /// Kept blocks with a sector of a later write.
    pub later: u64,
    /// Blocks with a sector that has data older than the last acknowledged.
    pub lost: u64,
    /// Blocks with a sector that has neither old nor new data: its checksum is wrong, since it has
    /// only a part of a write.
    pub torn: u64,
    pub unreadable: u64,
    /// Blocks without an acknowledged write that may have been in flight at the kill.
    pub under_way: u64,
    /// Blocks of `under_way` with a sector of that write.
    pub under_way_new: u64,
    /// Blocks of `under_way` with a torn sector or a sector that belongs elsewhere, or that could
    /// be read before and no longer can.
    pub under_way_torn: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Number of the block, in units of 4 KiB from the start of the disk.
    pub block: u64,
    /// Number of the last acknowledged write, counted from 1 in the trial; `None`: no write was
    /// acknowledged.
    pub expected: Option<u64>,
    /// Description of the present content.
    pub found: String,
}

impl ReadBack {
    /// Returns the number of blocks that break the promise of a flush. Blocks in flight may be old
    /// or new, but not torn.
    pub fn broken_blocks(&self) -> u64 {
        self.lost + self.torn + self.unreadable + self.under_way_torn
    }

    #[must_use]
    pub fn combine_results(mut self, other: ReadBack) -> ReadBack {
        self.blocks += other.blocks;
        self.kept += other.kept;
        self.later += other.later;
        self.lost += other.lost;
        self.torn += other.torn;
        self.unreadable += other.unreadable;
        self.under_way += other.under_way;
        self.under_way_new += other.under_way_new;
        self.under_way_torn += other.under_way_torn;
        self.examples.extend(other.examples);
        self.examples.sort_by_key(|example| example.block);
        self.examples.truncate(MOST_EXAMPLES);
        self
    }
}

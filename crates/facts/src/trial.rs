//! A durability trial as it is recorded: what was acknowledged before the kill, and what was found
//! of it after.

use serde::{Deserialize, Serialize};

/// What is killed in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kill {
    /// The guest: reset hard in the midst of its writes, while its QEMU and what serves its disks
    /// live on.
    Guest,
    /// QEMU, by SIGKILL, and the guest with it.
    Qemu,
    /// What serves the disk beside QEMU, by SIGKILL, then QEMU.
    Daemon,
}

impl Kill {
    pub const ALL: [Kill; 3] = [Kill::Guest, Kill::Qemu, Kill::Daemon];

    /// Its word in scenarios and reports.
    pub fn word(self) -> &'static str {
        match self {
            Kill::Guest => "guest",
            Kill::Qemu => "qemu",
            Kill::Daemon => "daemon",
        }
    }

    /// What it is, for a sentence: `kills of QEMU`.
    pub fn phrase(self) -> &'static str {
        match self {
            Kill::Guest => "the guest",
            Kill::Qemu => "QEMU",
            Kill::Daemon => "what serves the disk, and QEMU",
        }
    }
}

/// Most blocks that a trial shows as examples.
pub const MOST_EXAMPLES: usize = 5;

/// Acknowledged writes, a kill, and what was read back through the stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DurabilityTrial {
    /// Name of the stack.
    pub stack: String,
    /// Number among the trials of the stack, from 0.
    pub trial: u32,
    pub kill: Kill,
    /// From the first acknowledgement to the kill, or until the writer had written all that it may,
    /// nanoseconds.
    pub load_ns: u64,
    /// Writes between two flushes.
    pub batch: u32,
    /// Writes under way at the same time.
    pub in_flight: u32,
    /// Writes of 4 KiB whose flush was acknowledged to this host before the guest was gone.
    pub acknowledged: u64,
    /// Whether it was still writing when it was killed: `false` where it had written its share of
    /// `max_written` before. Records from before it do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writing: Option<bool>,
    /// What was read back.
    pub found: ReadBack,
}

/// What was read back after a kill. Blocks are of 4 KiB; `blocks` is the sum of `kept`, `lost`,
/// `torn` and `unreadable`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadBack {
    /// Blocks with an acknowledged write.
    pub blocks: u64,
    /// Every sector has what was acknowledged last, or something that was written later.
    pub kept: u64,
    /// Of these, blocks with a sector of a later write.
    pub later: u64,
    /// A sector has something older.
    pub lost: u64,
    /// A sector is neither old nor new: it has part of what was written, and its checksum is wrong.
    pub torn: u64,
    /// They could not be read.
    pub unreadable: u64,
    /// Blocks without an acknowledged write that may have been under way at the kill.
    pub under_way: u64,
    /// Of these, blocks with a sector of that write.
    pub under_way_new: u64,
    /// Of these, blocks with a torn sector or one that belongs elsewhere, or that could not be read
    /// and could before.
    pub under_way_torn: u64,
    /// Some of the blocks that were not kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
}

/// A block that was not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Its number, in blocks of 4 KiB from the start of the disk.
    pub block: u64,
    /// The write that was acknowledged last, counted from 1 in the trial; `None`: none was.
    pub expected: Option<u64>,
    /// What is there instead, in words.
    pub found: String,
}

impl ReadBack {
    /// Blocks that are not as they were promised, in flight ones included: these may be old or new,
    /// never torn.
    pub fn broken(&self) -> u64 {
        self.lost + self.torn + self.unreadable + self.under_way_torn
    }

    /// Two parts of one trial, or two trials.
    #[must_use]
    pub fn and(mut self, other: ReadBack) -> ReadBack {
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

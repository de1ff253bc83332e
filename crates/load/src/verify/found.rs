//! Results of verifying blocks that were written and read again, as they are reported and recorded.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Maximum number of blocks shown as examples.
pub const MOST_EXAMPLES: usize = 5;

/// Fault of a wrong block. The first wrong sector of a block decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockFault {
    /// Holds an older write of the block than the last one that had ended.
    Lost,
    /// Holds data that were written to another place.
    Misplaced,
    /// Holds data that this worker never wrote: those before its first write, another worker's,
    /// zeros.
    Foreign,
    /// Holds data written here that changed since, or only a part of them: a wrong checksum.
    Torn,
    /// The block could not be read.
    Unreadable,
}

impl BlockFault {
    /// Every fault a block can have.
    pub const ALL: [BlockFault; 5] = [
        BlockFault::Lost,
        BlockFault::Misplaced,
        BlockFault::Foreign,
        BlockFault::Torn,
        BlockFault::Unreadable,
    ];
}

/// Counts of blocks that were read and judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifiedBlocks {
    /// Number of judged blocks.
    pub blocks: u64,
    /// Bytes of the judged blocks.
    pub bytes: u64,
    /// Judged blocks that hold an older write than the last that had ended.
    pub lost: u64,
    /// Judged blocks that hold data written to another place.
    pub misplaced: u64,
    /// Judged blocks that hold data this worker never wrote.
    pub foreign: u64,
    /// Judged blocks with a wrong checksum in a sector.
    pub torn: u64,
    /// Blocks that cannot be read (reading back only: a failed read of the load is the load's
    /// error).
    pub unreadable: u64,
    /// Judged blocks that are not wrong, but have a sector that is none of the block's last writes
    /// as a whole: these were in flight at once. No disk promises more for such writes.
    pub mixed: u64,
    /// Blocks that were not judged. In the load's reads: blocks that this worker had not written.
    /// When reading back: blocks with a failed write.
    pub unjudged: u64,
    /// First wrong blocks, as examples.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
}

/// One wrong block, as an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Path of the target.
    pub target: PathBuf,
    /// First byte of the block in the target.
    pub offset: u64,
    /// Length of the block in bytes.
    pub length: u64,
    /// Fault of the block.
    pub kind: BlockFault,
    /// First and last write of the block, counted from 1, whose data may be there.
    pub expected: (u64, u64),
    /// Description of what is there instead.
    pub found: String,
}

impl Example {
    /// Names the expected writes: `write 3 of it`, `one of the writes 3 to 5 of it`.
    pub fn to_sentence(&self) -> String {
        match self.expected {
            (first, last) if first == last => format!("write {last} of it"),
            (first, last) => format!("one of the writes {first} to {last} of it"),
        }
    }
}

impl VerifiedBlocks {
    /// Returns the number of blocks that are wrong.
    pub fn wrong(&self) -> u64 {
        BlockFault::ALL.into_iter().map(|kind| self.count_wrong(kind)).sum()
    }

    /// Returns the number of blocks with the given fault.
    pub fn count_wrong(&self, kind: BlockFault) -> u64 {
        match kind {
            BlockFault::Lost => self.lost,
            BlockFault::Misplaced => self.misplaced,
            BlockFault::Foreign => self.foreign,
            BlockFault::Torn => self.torn,
            BlockFault::Unreadable => self.unreadable,
        }
    }

    /// Counts a wrong block, which was already counted as judged, and keeps it as an example if
    /// there are few.
    #[cold]
    pub(crate) fn blame(&mut self, kind: BlockFault, example: impl FnOnce() -> Example) {
        let count = match kind {
            BlockFault::Lost => &mut self.lost,
            BlockFault::Misplaced => &mut self.misplaced,
            BlockFault::Foreign => &mut self.foreign,
            BlockFault::Torn => &mut self.torn,
            BlockFault::Unreadable => &mut self.unreadable,
        };
        *count += 1;
        if self.examples.len() < MOST_EXAMPLES {
            self.examples.push(example());
        }
    }

    /// Merges the counts of two parts of one reading. Of their examples, the first by target and
    /// offset stay.
    #[must_use]
    pub fn and(mut self, other: VerifiedBlocks) -> VerifiedBlocks {
        self.blocks += other.blocks;
        self.bytes += other.bytes;
        self.lost += other.lost;
        self.misplaced += other.misplaced;
        self.foreign += other.foreign;
        self.torn += other.torn;
        self.unreadable += other.unreadable;
        self.mixed += other.mixed;
        self.unjudged += other.unjudged;
        self.examples.extend(other.examples);
        self.examples.sort_by(|a, b| (&a.target, a.offset).cmp(&(&b.target, b.offset)));
        self.examples.truncate(MOST_EXAMPLES);
        self
    }
}

/// Results of verifying everything that a worker wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedWorker {
    /// Reads of the load, checked as they completed.
    pub load: VerifiedBlocks,
    /// Written blocks, read back after the load.
    pub back: VerifiedBlocks,
    /// True if all written blocks were read back; false if that was stopped.
    pub whole: bool,
    /// Block sizes of the jobs that verify, in bytes, each once and sorted.
    pub sizes: Vec<u64>,
    /// Time that reading back took, in nanoseconds.
    pub took_ns: u64,
}

impl VerifiedWorker {
    /// Returns the number of wrong blocks, in the load's reads and when read back.
    pub fn wrong(&self) -> u64 {
        self.load.wrong() + self.back.wrong()
    }
}

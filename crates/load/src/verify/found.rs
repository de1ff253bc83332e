//! What was found of blocks that were written and read again, as it is told and recorded.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Most blocks that are shown as examples.
pub const MOST_EXAMPLES: usize = 5;

/// How a block is wrong. The first wrong sector of a block names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockFault {
    /// An older write of it than the last one that had ended.
    Lost,
    /// What was written to another place.
    Misplaced,
    /// What this worker never wrote: what was there before its first write, another's, zeros.
    Foreign,
    /// Written here, and changed since, or only in part: a wrong checksum.
    Torn,
    /// It could not be read.
    Unreadable,
}

impl BlockFault {
    /// All of them.
    pub const ALL: [BlockFault; 5] = [
        BlockFault::Lost,
        BlockFault::Misplaced,
        BlockFault::Foreign,
        BlockFault::Torn,
        BlockFault::Unreadable,
    ];
}

/// Blocks that were read and judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifiedBlocks {
    /// Judged.
    pub blocks: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Of the judged ones: an older write than the last that had ended.
    pub lost: u64,
    /// What was written to another place.
    pub misplaced: u64,
    /// What this worker never wrote.
    pub foreign: u64,
    /// A sector with a wrong checksum.
    pub torn: u64,
    /// Not readable (reading back only: a read of the load that fails is its error).
    pub unreadable: u64,
    /// Of the judged ones, and not wrong: the last writes of the block were in flight at once, and
    /// a sector is none of them whole. No disk promises more of such writes.
    pub mixed: u64,
    /// Not judged: of the load's reads, blocks that this worker had not written; reading back,
    /// blocks a write of which failed.
    pub unjudged: u64,
    /// The first wrong ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
}

/// A wrong block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The target.
    pub target: PathBuf,
    /// Where the block begins, bytes.
    pub offset: u64,
    /// Its length, bytes.
    pub length: u64,
    /// How it is wrong.
    pub kind: BlockFault,
    /// The writes of it, counted from 1, that may be there: the first and the last.
    pub expected: (u64, u64),
    /// What is there instead, in words.
    pub found: String,
}

impl Example {
    /// `write 3`, `one of the writes 3 to 5`.
    pub fn to_sentence(&self) -> String {
        match self.expected {
            (first, last) if first == last => format!("write {last} of it"),
            (first, last) => format!("one of the writes {first} to {last} of it"),
        }
    }
}

impl VerifiedBlocks {
    /// Blocks that are not as they must be.
    pub fn wrong(&self) -> u64 {
        BlockFault::ALL.into_iter().map(|kind| self.count_wrong(kind)).sum()
    }

    /// Blocks that are wrong in that way.
    pub fn count_wrong(&self, kind: BlockFault) -> u64 {
        match kind {
            BlockFault::Lost => self.lost,
            BlockFault::Misplaced => self.misplaced,
            BlockFault::Foreign => self.foreign,
            BlockFault::Torn => self.torn,
            BlockFault::Unreadable => self.unreadable,
        }
    }

    /// Counts a wrong block, which was counted as judged.
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

    /// Two parts of one reading.
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

/// What a worker found of what it wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedWorker {
    /// Reads of the load, checked as they came back.
    pub load: VerifiedBlocks,
    /// All blocks that were written, read back after the load.
    pub back: VerifiedBlocks,
    /// Whether all of them were; not where it was stopped.
    pub whole: bool,
    /// Block sizes, in bytes.
    pub sizes: Vec<u64>,
    /// How long the reading back took.
    pub took_ns: u64,
}

impl VerifiedWorker {
    /// Blocks that are not as they must be, and reads of such.
    pub fn wrong(&self) -> u64 {
        self.load.wrong() + self.back.wrong()
    }
}

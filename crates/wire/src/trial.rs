//! Derives the block of each write of a durability trial from the trial's seed alone. The writer
//! and the verifier do so independently, so the highest acknowledged number is all that must be
//! known about what was promised.

use iotax_load::Random;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of blocks at the start of the disk that get one write in four, so that many blocks have
/// older content of the same trial.
const HOT_BLOCKS: u64 = 1024;

/// Parameters of a durability trial, which the writer and the verifier share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// Id that distinguishes its blocks from those of every other trial.
    pub trial: u64,
    pub seed: u64,
    /// Number of the disk's blocks of 4 KiB; at least [`HOT_BLOCKS`].
    pub blocks: u64,
    /// Number of writes between two flushes, at most 256.
    pub batch: u32,
    pub in_flight: u32,
    /// Number of batches after which the writer stops by itself.
    pub most_batches: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    pub sequence: u64,
    pub block: u64,
}

impl TrialSpec {
    /// Returns the writes of a batch. No block is in it twice: two writes to one block that are
    /// under way at once would have no order.
    pub fn writes_of(&self, batch: u64) -> Vec<Write> {
        let mut random = Random::new(self.seed, batch);
        let mut writes: Vec<Write> = Vec::with_capacity(self.batch as usize);
        while writes.len() < u64::from(self.batch).min(self.blocks) as usize {
            let among = if random.chance(25) { HOT_BLOCKS.min(self.blocks) } else { self.blocks };
            let block = random.draw_below(among);
            if writes.iter().all(|write| write.block != block) {
                let sequence = batch * u64::from(self.batch) + writes.len() as u64 + 1;
                writes.push(Write { sequence, block });
            }
        }
        writes
    }

    /// Returns the number of the last write of a batch, which acknowledges the batch.
    pub fn last_of(&self, batch: u64) -> u64 {
        (batch + 1) * u64::from(self.batch)
    }

    pub fn last(&self) -> u64 {
        self.most_batches.saturating_mul(u64::from(self.batch))
    }

    /// Returns the number of whole batches up to a write.
    pub fn batches(&self, acknowledged: u64) -> u64 {
        acknowledged / u64::from(self.batch)
    }

    /// Returns, for each block with a write in the acknowledged batches, the number of its last
    /// one.
    pub fn expected(&self, acknowledged: u64) -> BTreeMap<u64, u64> {
        self.last_writes(0..self.batches(acknowledged))
    }

    /// Returns, for each block with a write that may have been under way after the acknowledged
    /// batches, the number of the last such write.
    pub fn under_way(&self, acknowledged: u64) -> BTreeMap<u64, u64> {
        let from = self.batches(acknowledged);
        // Acknowledgements on their way to this host died with the guest.
        self.last_writes(from..from.saturating_add(LOOK_AHEAD).min(self.most_batches))
    }

    fn last_writes(&self, batches: std::ops::Range<u64>) -> BTreeMap<u64, u64> {
        batches
            .flat_map(|batch| self.writes_of(batch))
            .map(|write| (write.block, write.sequence))
            .collect()
    }
}

/// Number of batches after the acknowledged ones that are searched for traces of torn writes.
const LOOK_AHEAD: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    pub fn spec() -> TrialSpec {
        TrialSpec { trial: 7, seed: 1, blocks: 4096, batch: 16, in_flight: 4, most_batches: 1000 }
    }

    #[test]
    fn a_batch_has_no_block_twice_and_numbers_without_gaps() {
        let all: Vec<Write> = (0..50).flat_map(|batch| spec().writes_of(batch)).collect();
        assert!(all.iter().map(|write| write.sequence).eq(1..=800));
        for batch in all.chunks(16) {
            let mut blocks: Vec<u64> = batch.iter().map(|write| write.block).collect();
            blocks.sort_unstable();
            blocks.dedup();
            assert_eq!(blocks.len(), 16);
        }
        let hot = all.iter().filter(|write| write.block < HOT_BLOCKS).count();
        assert!((250..=420).contains(&hot), "a quarter, and a quarter of the rest: {hot}");
    }

    #[test]
    fn the_smallest_disk_holds_the_largest_batch() {
        let spec = TrialSpec { blocks: HOT_BLOCKS, batch: 256, ..spec() };
        assert_eq!(spec.writes_of(3).len(), 256);
    }

    #[test]
    fn the_last_acknowledged_write_of_a_block_counts() {
        let spec = spec();
        let expected = spec.expected(spec.last_of(9));
        for batch in 0..10 {
            for write in spec.writes_of(batch) {
                assert!(expected[&write.block] >= write.sequence);
            }
        }
        assert!(expected.values().all(|sequence| *sequence <= 160));
        assert!(spec.under_way(160).values().all(|sequence| *sequence > 160));
        assert!(spec.expected(0).is_empty());
        let short = TrialSpec { most_batches: 10, ..spec };
        assert!(short.under_way(160).is_empty(), "nothing was written behind the end");
    }
}

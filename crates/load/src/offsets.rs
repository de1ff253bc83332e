//! Where the next I/O goes: sequential, random, or a share of each, always whole blocks inside
//! the region. As in fio each direction has a sequential position of its own, every thread of a
//! job starts at the beginning of the region, and a random I/O moves the position behind itself.
//! Unlike fio's default, random offsets are drawn with replacement (its `norandommap`).

use crate::Job;
use crate::random::Random;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whole blocks of a target that a job may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// First byte.
    pub(crate) offset: u64,
    /// Bytes a block.
    pub(crate) bs: u64,
    /// Blocks, at least 1.
    pub(crate) blocks: u64,
}

/// Next block of each direction. It stays where it is between slices: a pass goes on.
pub(crate) enum Cursor {
    /// Of one thread.
    Own([u64; 2]),
    /// Of the threads that make up one fio thread's depth: together they go through the region
    /// once, as one thread with that many I/Os in flight would.
    Shared(Shared),
}

/// A cursor that several threads move.
pub(crate) type Shared = Arc<[AtomicU64; 2]>;

impl Cursor {
    fn take(&mut self, direction: usize, blocks: u64) -> u64 {
        match self {
            Cursor::Own(next) => {
                let block = next[direction];
                next[direction] = if block + 1 == blocks { 0 } else { block + 1 };
                block
            }
            Cursor::Shared(next) => next[direction].fetch_add(1, Ordering::Relaxed) % blocks,
        }
    }

    fn set(&mut self, direction: usize, block: u64) {
        match self {
            Cursor::Own(next) => next[direction] = block,
            Cursor::Shared(next) => next[direction].store(block, Ordering::Relaxed),
        }
    }
}

/// Draws offsets for one thread.
pub(crate) struct Offsets {
    region: Region,
    random_percent: u8,
    cursor: Cursor,
}

impl Offsets {
    pub(crate) fn new(job: &Job, region: Region, cursor: Cursor) -> Offsets {
        // fio looks at percentage_random in random jobs only.
        let random_percent = if job.rw.random() { job.percentage_random } else { 0 };
        Offsets { region, random_percent, cursor }
    }

    /// Byte offset of the next I/O; `direction` is 0 for reads, 1 for writes.
    #[inline]
    pub(crate) fn next(&mut self, direction: usize, random: &mut Random) -> u64 {
        self.region.offset + self.next_block(direction, random) * self.region.bs
    }

    #[inline]
    fn next_block(&mut self, direction: usize, random: &mut Random) -> u64 {
        let blocks = self.region.blocks;
        if self.random_percent == 100 {
            return random.below(blocks);
        }
        if self.random_percent == 0 || !random.chance(self.random_percent) {
            return self.cursor.take(direction, blocks);
        }
        let block = random.below(blocks);
        self.cursor.set(direction, (block + 1) % blocks);
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rw;
    use proptest::prelude::*;

    const REGION: Region = Region { offset: 8192, bs: 4096, blocks: 5 };

    fn offsets(rw: Rw, percentage_random: u8) -> Offsets {
        let job = Job { rw, percentage_random, ..Job::default() };
        Offsets::new(&job, REGION, Cursor::Own([0; 2]))
    }

    fn blocks(offsets: &mut Offsets, direction: usize, count: usize) -> Vec<u64> {
        let mut random = Random::new(3, 0);
        let mut next = || (offsets.next(direction, &mut random) - REGION.offset) / REGION.bs;
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn sequential_starts_at_the_beginning_and_wraps() {
        let mut offsets = offsets(Rw::Read, 0);
        assert_eq!(blocks(&mut offsets, 0, 7), [0, 1, 2, 3, 4, 0, 1]);
        assert_eq!(blocks(&mut offsets, 0, 2), [2, 3], "the pass goes on");
        assert_eq!(blocks(&mut offsets, 1, 2), [0, 1], "writes have their own");
    }

    #[test]
    fn percentage_random_does_not_touch_a_sequential_job() {
        assert_eq!(blocks(&mut offsets(Rw::Write, 100), 1, 4), [0, 1, 2, 3]);
    }

    #[test]
    fn a_share_of_random_continues_behind_the_random_block() {
        let drawn = blocks(&mut offsets(Rw::RandRead, 50), 0, 4000);
        let follows = |pair: &&[u64]| (pair[0] + 1) % REGION.blocks == pair[1];
        let following = drawn.windows(2).filter(follows).count();
        // Half follow, and a fifth of the random half does by chance: 0.6, sd 0.8 %.
        assert!((2200..2600).contains(&following), "{following}");
    }

    #[test]
    fn threads_that_share_a_cursor_go_through_once() {
        let shared = Arc::new([const { AtomicU64::new(0) }; 2]);
        let job = Job { rw: Rw::Read, ..Job::default() };
        let one = || Offsets::new(&job, REGION, Cursor::Shared(shared.clone()));
        let (mut a, mut b) = (one(), one());
        assert_eq!(blocks(&mut a, 0, 2), [0, 1]);
        assert_eq!(blocks(&mut b, 0, 4), [2, 3, 4, 0]);
    }

    #[test]
    fn random_covers_the_whole_region_evenly() {
        let mut seen = [0u32; 5];
        for block in blocks(&mut offsets(Rw::RandRead, 100), 0, 50_000) {
            seen[block as usize] += 1;
        }
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 600), "{seen:?}");
    }

    proptest! {
        #[test]
        fn every_offset_is_a_whole_block_of_the_region(
            offset in 0u64..1 << 40, bs in 1u64..1 << 20, blocks in 1u64..1 << 20,
            percent in 0u8..=100, seed: u64,
        ) {
            let job = Job { percentage_random: percent, ..Job::default() };
            let region = Region { offset, bs, blocks };
            let mut offsets = Offsets::new(&job, region, Cursor::Own([0; 2]));
            let mut random = Random::new(seed, 0);
            for _ in 0..100 {
                let at = offsets.next(0, &mut random);
                prop_assert!(at >= offset && at + bs <= offset + bs * blocks);
                prop_assert_eq!((at - offset) % bs, 0);
            }
        }
    }
}

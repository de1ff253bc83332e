//! Offset of the next I/O: sequential, random, or a share of each, always whole blocks inside the
//! region. As in fio each direction has its own sequential position, every thread of a job starts
//! at the beginning of the region, and a random I/O moves the position to the block after itself.
//! Random offsets are drawn with replacement (fio's `norandommap`), all blocks with equal
//! probability or some more often than others (its `random_distribution`), or each block once
//! before any comes again (its random map, which needs no memory here).

use crate::distribution::Skewed;
use crate::random::Random;
use crate::scatter::Scatter;
use crate::{Job, Stride};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Range of whole blocks of a target that a job may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) offset: u64,
    pub(crate) bs: u64,
    /// Number of blocks, at least 1.
    pub(crate) blocks: u64,
}

/// Position of a thread in its region. It is kept between slices, so that a pass continues.
pub(crate) enum Cursor {
    Own {
        /// Next block of reads, next block of writes, and number of draws from the random map so
        /// far.
        next: [u64; 3],
        /// Number that selects the order of the random map. Each thread of numjobs has its own, as
        /// in fio.
        walk: u64,
    },
    /// Position shared by the threads that make up one fio thread's depth: together they go through
    /// the region once, as one thread with that many I/Os in flight would.
    Shared(CursorShare),
}

pub(crate) type CursorShare = Arc<SharedCursor>;

/// Position like [`Cursor::Own`], for several threads.
pub(crate) struct SharedCursor {
    next: [AtomicU64; 3],
    pub(crate) walk: u64,
}

/// Index of the random map's draws among the positions.
const DRAWS: usize = 2;

impl Cursor {
    /// Returns a cursor at the beginning of the region, for one thread.
    pub(crate) fn start_own(walk: u64) -> Cursor {
        Cursor::Own { next: [0; 3], walk }
    }

    /// Returns a cursor at the beginning of the region, for several threads.
    pub(crate) fn shared(walk: u64) -> CursorShare {
        Arc::new(SharedCursor { next: [const { AtomicU64::new(0) }; 3], walk })
    }

    fn walk(&self) -> u64 {
        match self {
            Cursor::Own { walk, .. } => *walk,
            Cursor::Shared(shared) => shared.walk,
        }
    }

    fn take_block(&mut self, direction: usize, blocks: u64) -> u64 {
        match self {
            Cursor::Own { next, .. } => {
                let block = next[direction];
                next[direction] = if block + 1 == blocks { 0 } else { block + 1 };
                block
            }
            Cursor::Shared(shared) => {
                shared.next[direction].fetch_add(1, Ordering::Relaxed) % blocks
            }
        }
    }

    fn set_next(&mut self, direction: usize, block: u64) {
        match self {
            Cursor::Own { next, .. } => next[direction] = block,
            Cursor::Shared(shared) => shared.next[direction].store(block, Ordering::Relaxed),
        }
    }

    /// Counts a draw and returns the number of draws before it.
    #[inline]
    fn draw(&mut self) -> u64 {
        match self {
            Cursor::Own { next, .. } => {
                next[DRAWS] += 1;
                next[DRAWS] - 1
            }
            Cursor::Shared(shared) => shared.next[DRAWS].fetch_add(1, Ordering::Relaxed),
        }
    }
}

enum Draw {
    /// Draws all blocks with equal probability, whatever was drawn before.
    Even,
    /// Draws some blocks more often than others.
    Skewed(Skewed),
    /// Draws each block once before any is drawn again.
    Once(MappedPass),
}

impl Draw {
    fn new(job: &Job, blocks: u64, walk: u64) -> Draw {
        match Skewed::new(job.random_distribution, blocks, job.randseed) {
            Some(skewed) => Draw::Skewed(skewed),
            None if job.random_map => Draw::Once(MappedPass::new(blocks, job.randseed, walk)),
            None => Draw::Even,
        }
    }
}

/// Passes of fio's random map, one after the other: each goes through all blocks, in its own order.
struct MappedPass {
    blocks: u64,
    seed: u64,
    /// Number of draws before the current pass.
    from: u64,
    order: Scatter,
}

impl MappedPass {
    fn new(blocks: u64, seed: u64, walk: u64) -> MappedPass {
        let seed = Random::new(seed, MAP ^ walk).next();
        MappedPass { blocks, seed, from: 0, order: Scatter::new(blocks, seed, 0) }
    }

    #[inline]
    fn block(&mut self, draw: u64) -> u64 {
        // `draw` may also be below `from`: another thread that shares the cursor may be ahead.
        if draw.wrapping_sub(self.from) >= self.blocks {
            let pass = draw / self.blocks;
            self.from = pass * self.blocks;
            self.order = Scatter::new(self.blocks, self.seed, pass);
        }
        self.order.scattered_block(draw - self.from)
    }
}

/// Number that, xored with the walk, selects the random stream from which the orders of the passes
/// come.
const MAP: u64 = 0x6d61_7000_0000_0000;

/// Zones of a sequential pass, in blocks.
struct Zones {
    /// Number of blocks in a zone.
    blocks: u64,
    /// Number of blocks from the start of a zone to the start of the next.
    step: u64,
}

impl Zones {
    fn from_stride(stride: Stride, bs: u64) -> Zones {
        let blocks = (stride.zone / bs).max(1);
        Zones { blocks, step: blocks.saturating_add(stride.skip / bs) }
    }

    /// Returns the number of blocks in the zones of a region of so many blocks. The last zone may
    /// be a part of one.
    fn pass(&self, region: u64) -> u64 {
        let rest = (region % self.step).min(self.blocks);
        region / self.step * self.blocks + rest
    }

    /// Returns the block of the region that is the pass's block of this number.
    fn block(&self, number: u64) -> u64 {
        number / self.blocks * self.step + number % self.blocks
    }
}

pub(crate) struct Offsets {
    region: Region,
    random_percent: u8,
    /// Zones of a job without random offsets, and the number of blocks in all of them.
    zones: Option<(Zones, u64)>,
    draw: Draw,
    cursor: Cursor,
}

impl Offsets {
    pub(crate) fn new(job: &Job, region: Region, cursor: Cursor) -> Offsets {
        // fio looks at percentage_random in random jobs only.
        let random_percent = if job.rw.random() { job.percentage_random } else { 0 };
        let draw = Draw::new(job, region.blocks, cursor.walk());
        let zones = job.stride.filter(|_| random_percent == 0).map(|stride| {
            let zones = Zones::from_stride(stride, region.bs);
            let blocks = zones.pass(region.blocks);
            (zones, blocks)
        });
        Offsets { region, random_percent, zones, draw, cursor }
    }

    /// Returns the byte offset of the next I/O; `direction` is 0 for reads, 1 for writes and trims.
    #[inline]
    pub(crate) fn next(&mut self, direction: usize, random: &mut Random) -> u64 {
        self.region.offset + self.next_block(direction, random) * self.region.bs
    }

    /// Returns true if every offset is drawn from all blocks with equal probability, whatever was
    /// drawn before.
    pub(crate) fn is_even(&self) -> bool {
        self.random_percent == 100 && matches!(self.draw, Draw::Even)
    }

    /// Returns what [`Offsets::next`] gives if [`Offsets::is_even`] is true.
    #[inline(always)]
    pub(crate) fn even(&self, random: &mut Random) -> u64 {
        self.region.offset + random.draw_below(self.region.blocks) * self.region.bs
    }

    #[inline]
    fn next_block(&mut self, direction: usize, random: &mut Random) -> u64 {
        let blocks = self.region.blocks;
        if self.random_percent == 100 {
            return self.random_block(random);
        }
        if let Some((zones, pass)) = &self.zones {
            return zones.block(self.cursor.take_block(direction, *pass));
        }
        if self.random_percent == 0 || !random.chance(self.random_percent) {
            return self.cursor.take_block(direction, blocks);
        }
        let block = self.random_block(random);
        self.cursor.set_next(direction, (block + 1) % blocks);
        block
    }

    #[inline]
    fn random_block(&mut self, random: &mut Random) -> u64 {
        match &mut self.draw {
            Draw::Even => random.draw_below(self.region.blocks),
            Draw::Skewed(skewed) => skewed.block(random),
            Draw::Once(once) => once.block(self.cursor.draw()),
        }
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
        Offsets::new(&job, REGION, Cursor::start_own(0))
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
    fn a_strided_pass_leaves_out_what_is_between_zones() {
        let stride = Some(Stride { zone: 2 * 4096, skip: 4096 });
        let job = Job { rw: Rw::Read, stride, ..Job::default() };
        let shared = Cursor::Shared(Cursor::shared(0));
        for cursor in [Cursor::start_own(0), shared] {
            let region = Region { blocks: 7, ..REGION };
            let mut offsets = Offsets::new(&job, region, cursor);
            assert_eq!(blocks(&mut offsets, 0, 7), [0, 1, 3, 4, 6, 0, 1]);
        }
        let mut short = Offsets::new(&job, Region { blocks: 1, ..REGION }, Cursor::start_own(0));
        assert_eq!(blocks(&mut short, 0, 2), [0, 0]);
    }

    #[test]
    fn threads_that_share_a_cursor_go_through_once() {
        let shared = Cursor::shared(0);
        let job = Job { rw: Rw::Read, ..Job::default() };
        let one = || Offsets::new(&job, REGION, Cursor::Shared(shared.clone()));
        let (mut a, mut b) = (one(), one());
        assert_eq!(blocks(&mut a, 0, 2), [0, 1]);
        assert_eq!(blocks(&mut b, 0, 4), [2, 3, 4, 0]);
    }

    #[test]
    fn the_threads_of_a_job_have_the_same_hot_blocks() {
        let job = Job { random_distribution: "zipf:1.5".parse().unwrap(), ..Job::default() };
        let region = Region { blocks: 1000, ..REGION };
        let hottest = |stream| {
            let mut offsets = Offsets::new(&job, region, Cursor::start_own(0));
            let (mut random, mut hits) = (Random::new(1, stream), vec![0u32; 1000]);
            (0..20_000)
                .for_each(|_| hits[((offsets.next(0, &mut random) - 8192) / 4096) as usize] += 1);
            (0..1000).max_by_key(|block| hits[*block]).unwrap()
        };
        assert_eq!(hottest(0), hottest(1));
    }

    fn drawn_once(job: &Job, cursors: Vec<Cursor>, each: usize) -> Vec<u64> {
        let mut threads: Vec<Offsets> =
            cursors.into_iter().map(|cursor| Offsets::new(job, REGION, cursor)).collect();
        (0..each)
            .flat_map(|_| {
                threads.iter_mut().map(|thread| blocks(thread, 0, 1)[0]).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn with_a_map_each_pass_meets_every_block_once_in_another_order() {
        let job = Job { random_map: true, ..Job::default() };
        let passes = drawn_once(&job, vec![Cursor::start_own(0)], 5 * 20);
        let orders: std::collections::HashSet<&[u64]> = passes.chunks(5).collect();
        assert!(orders.len() > 12, "{orders:?}");
        for order in orders {
            let mut sorted = order.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        assert_ne!(
            passes,
            drawn_once(&job, vec![Cursor::start_own(1)], 5 * 20),
            "another thread has another order"
        );
    }

    #[test]
    fn threads_that_share_a_cursor_share_the_map() {
        let job = Job { random_map: true, ..Job::default() };
        let shared = Cursor::shared(3);
        let cursors = (0..3).map(|_| Cursor::Shared(shared.clone())).collect();
        let alone = drawn_once(&job, vec![Cursor::start_own(3)], 60);
        assert_eq!(drawn_once(&job, cursors, 20), alone, "as one thread of fio's");
    }

    #[test]
    fn reads_and_writes_of_a_mix_have_one_map() {
        let job = Job { rw: Rw::RandRw, random_map: true, ..Job::default() };
        let mut offsets = Offsets::new(&job, REGION, Cursor::start_own(0));
        let mut pass = [blocks(&mut offsets, 0, 3), blocks(&mut offsets, 1, 2)].concat();
        pass.sort_unstable();
        assert_eq!(pass, [0, 1, 2, 3, 4]);
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
            percent in 0u8..=100, seed: u64, skewed: bool, random_map: bool,
        ) {
            let law = if skewed { "zipf:0.9" } else { "random" };
            let job = Job {
                percentage_random: percent,
                random_distribution: law.parse().unwrap(),
                random_map: random_map && !skewed,
                ..Job::default()
            };
            let region = Region { offset, bs, blocks };
            let mut offsets = Offsets::new(&job, region, Cursor::start_own(0));
            let mut random = Random::new(seed, 0);
            for _ in 0..100 {
                let at = offsets.next(0, &mut random);
                prop_assert!(at >= offset && at + bs <= offset + bs * blocks);
                prop_assert_eq!((at - offset) % bs, 0);
            }
        }
    }
}

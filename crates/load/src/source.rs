//! Source of a thread's I/Os: direction by the mix, offset by the job's order, a sync after a
//! number of writes as in fio, and nothing more once the slice's share of bytes is used up.

use crate::engine::io::Op;
use crate::offsets::Offsets;
use crate::random::Random;
use crate::{Job, Rw};

/// Stream of a thread's I/Os. It continues from slice to slice.
pub(crate) struct IoSource {
    read_percent: u8,
    offsets: Offsets,
    random: Random,
    fsync: u64,
    fdatasync: u64,
    written: u64,
    wrote_last: bool,
    trims: bool,
    /// True if the job writes each block that it trims; `trimmed` is then the block whose write is
    /// due.
    rewrites: bool,
    trimmed: Option<u64>,
    blocks_left: u64,
    /// True if the job only reads, at blocks drawn from all with equal probability: the most common
    /// load, and the one on which a generator is measured.
    plain: bool,
}

impl IoSource {
    pub(crate) fn new(job: &Job, offsets: Offsets, random: Random) -> IoSource {
        let read_percent = match job.rw {
            Rw::Read | Rw::RandRead => 100,
            Rw::Write | Rw::RandWrite => 0,
            Rw::Trim | Rw::RandTrim | Rw::TrimWrite | Rw::RandTrimWrite => 0,
            Rw::Rw | Rw::RandRw => job.rwmixread,
        };
        let plain = read_percent == 100 && offsets.is_even();
        IoSource {
            read_percent,
            offsets,
            random,
            fsync: u64::from(job.fsync),
            fdatasync: u64::from(job.fdatasync),
            written: 0,
            wrote_last: false,
            trims: job.rw.trims(),
            rewrites: job.rw.trims() && job.rw.writes_data(),
            trimmed: None,
            blocks_left: 0,
            plain,
        }
    }

    /// Begins a slice in which `blocks` blocks may be issued.
    pub(crate) fn restart(&mut self, blocks: u64) {
        self.blocks_left = blocks;
    }

    /// Returns the next operation and its byte offset, 0 for a sync; `None` when the slice's blocks
    /// are used up. A sync that is due after the last write is issued even then, so that a slice by
    /// bytes leaves none to the next slice.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<(Op, u64)> {
        if self.plain {
            self.blocks_left = self.blocks_left.checked_sub(1)?;
            return Some((Op::Read, self.offsets.even(&mut self.random)));
        }
        self.next_of_any()
    }

    fn next_of_any(&mut self) -> Option<(Op, u64)> {
        if let Some(op) = self.sync_owed() {
            self.wrote_last = false;
            return Some((op, 0));
        }
        self.blocks_left = self.blocks_left.checked_sub(1)?;
        if self.trims {
            return Some(self.next_trim());
        }
        let reads = self.draws_a_read();
        self.wrote_last = !reads;
        self.written += u64::from(!reads);
        let offset = self.offsets.next(usize::from(!reads), &mut self.random);
        Some((if reads { Op::Read } else { Op::Write }, offset))
    }

    /// Draws an operation by the job's mix, without using up a block of the slice.
    pub(crate) fn like_next(&mut self) -> Op {
        match self.draws_a_read() {
            true => Op::Read,
            false if self.trims => Op::Trim,
            false => Op::Write,
        }
    }

    #[inline]
    fn draws_a_read(&mut self) -> bool {
        match self.read_percent {
            100 => true,
            0 => false,
            percent => self.random.chance(percent),
        }
    }

    /// Returns a trim, or the write of the block that was trimmed last if that is due.
    fn next_trim(&mut self) -> (Op, u64) {
        let due = self.trimmed.take();
        self.wrote_last = due.is_some();
        self.written += u64::from(due.is_some());
        if let Some(offset) = due {
            return (Op::Write, offset);
        }
        let offset = self.offsets.next(1, &mut self.random);
        self.trimmed = Some(offset).filter(|_| self.rewrites);
        (Op::Trim, offset)
    }

    pub(crate) fn has_more(&self) -> bool {
        self.blocks_left > 0 || self.sync_owed().is_some()
    }

    /// Returns the sync that is due next, if any: it follows its write, and no schedule delays it.
    #[inline]
    pub(crate) fn sync_owed(&self) -> Option<Op> {
        if !self.wrote_last {
            return None;
        }
        let due = |every: u64| every > 0 && self.written % every == 0;
        match (due(self.fsync), due(self.fdatasync)) {
            (true, _) => Some(Op::Fsync),
            (false, true) => Some(Op::Fdatasync),
            (false, false) => None,
        }
    }
}

/// Distributes `bytes` among threads with these block sizes, in whole blocks. Each gets equal bytes
/// as far as blocks allow, the rest goes a block at a time, and if bytes are left at the end, one
/// more of the smallest blocks is added. Returns the number of blocks for each thread.
pub(crate) fn share_out(bytes: u64, block_sizes: &[u64]) -> Vec<u64> {
    let even = bytes / (block_sizes.len() as u64).max(1);
    let mut shares: Vec<u64> = block_sizes.iter().map(|bs| even / bs).collect();
    let given = |(blocks, bs): (&u64, &u64)| blocks * bs;
    let mut left = bytes - shares.iter().zip(block_sizes).map(given).sum::<u64>();
    while let Some(smallest) = block_sizes.iter().copied().min() {
        if left < smallest {
            break;
        }
        for (share, bs) in shares.iter_mut().zip(block_sizes) {
            if *bs <= left {
                *share += 1;
                left -= bs;
            }
        }
    }
    let smallest = (0..block_sizes.len()).min_by_key(|thread| block_sizes[*thread]);
    if let (true, Some(thread)) = (left > 0, smallest) {
        shares[thread] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offsets::{Cursor, Region};
    use proptest::prelude::*;

    fn source(job: Job, blocks: u64) -> IoSource {
        let region = Region { offset: 0, bs: job.bs, blocks: 100 };
        let offsets = Offsets::new(&job, region, Cursor::start_own(0));
        let mut source = IoSource::new(&job, offsets, Random::new(job.randseed, 0));
        source.restart(blocks);
        source
    }

    fn ops(source: &mut IoSource) -> Vec<Op> {
        std::iter::from_fn(|| source.next().map(|(op, _)| op)).collect()
    }

    #[test]
    fn a_sync_follows_every_nth_write() {
        let job = Job { rw: Rw::Write, fsync: 4, fdatasync: 2, ..Job::default() };
        let mut source = source(job, 5);
        let w = Op::Write;
        let expected = [w, w, Op::Fdatasync, w, w, Op::Fsync, w];
        assert_eq!(ops(&mut source), expected);
        source.restart(1);
        assert_eq!(ops(&mut source), [w, Op::Fdatasync], "the count goes on");
        assert!(!source.has_more());
    }

    #[test]
    fn the_last_writes_sync_is_not_left_over() {
        let job = Job { rw: Rw::Write, fsync: 1, ..Job::default() };
        let mut source = source(job, 1);
        assert_eq!(ops(&mut source), [Op::Write, Op::Fsync]);
    }

    #[test]
    fn each_trim_is_followed_by_the_write_of_its_block_where_that_is_asked_for() {
        for rw in [Rw::TrimWrite, Rw::RandTrimWrite] {
            let mut source = source(Job { rw, fsync: 2, ..Job::default() }, 5);
            let first: Vec<_> = std::iter::from_fn(|| source.next()).collect();
            let ops: Vec<_> = first.iter().map(|(op, _)| *op).collect();
            assert_eq!(ops, [Op::Trim, Op::Write, Op::Trim, Op::Write, Op::Fsync, Op::Trim]);
            assert_eq!((first[0].1, first[2].1), (first[1].1, first[3].1));
            source.restart(2);
            let due = source.next();
            assert_eq!(due, Some((Op::Write, first[5].1)), "also in the next slice");
        }
        let alone = source(Job { rw: Rw::RandTrim, ..Job::default() }, 3);
        assert_eq!(ops(&mut { alone }), [Op::Trim; 3]);
    }

    #[test]
    fn reads_are_their_share() {
        for (rw, share) in [(Rw::RandRw, 7_000), (Rw::Read, 10_000), (Rw::RandWrite, 0)] {
            let job = Job { rw, rwmixread: 70, ..Job::default() };
            let ops = ops(&mut source(job, 10_000));
            let reads = ops.iter().filter(|op| **op == Op::Read).count();
            // Binomial: sd is 46.
            assert!(reads.abs_diff(share) < 280, "{reads} in {rw:?}");
        }
    }

    #[test]
    fn shares_are_whole_blocks_of_equal_bytes() {
        assert_eq!(share_out(40960, &[4096, 4096]), [5, 5]);
        assert_eq!(share_out(12288, &[4096, 4096]), [2, 1]);
        assert_eq!(share_out(4097, &[4096]), [2]);
        assert_eq!(share_out(1 << 20, &[4096, 65536]), [128, 8]);
        assert_eq!(share_out(1, &[4096, 512]), [0, 1]);
        assert_eq!(share_out(0, &[4096]), [0]);
    }

    proptest! {
        #[test]
        fn shares_add_up(
            bytes in 0u64..1 << 40,
            sizes in prop::collection::vec(1u64..1 << 20, 1..20),
        ) {
            let shares = share_out(bytes, &sizes);
            let total: u64 = shares.iter().zip(&sizes).map(|(blocks, bs)| blocks * bs).sum();
            let smallest = sizes.iter().min().unwrap();
            prop_assert!(total >= bytes && total < bytes + smallest);
        }
    }
}

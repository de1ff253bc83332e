//! Judges whether a read returned data that may be there. It does so sector by sector, because a
//! disk writes a sector as a whole or not at all: sectors of different writes are right if these
//! were in flight at once.

use super::found::{BlockFault, Example, VerifiedBlocks};
use super::ledger::{Ledger, LedgerState};
use crate::stamp::Stamp;

enum JudgedBlock {
    Right,
    /// A sector is not any write as a whole, and writes of the block were in flight at once.
    Mixed,
    Wrong(BlockFault, String),
}

impl Ledger {
    /// Judges a block whose state was `before` when its read was issued and `after` when it had
    /// ended, and counts it in `found`.
    pub(crate) fn judge(
        &self,
        block: u64,
        data: &[u8],
        before: LedgerState,
        after: LedgerState,
        found: &mut VerifiedBlocks,
    ) {
        found.blocks += 1;
        found.bytes += self.bs;
        match self.judge_sectors(block, data, before, after) {
            JudgedBlock::Right => {}
            JudgedBlock::Mixed => found.mixed += 1,
            JudgedBlock::Wrong(kind, words) => {
                found.blame(kind, || {
                    self.example(block, (before.first(), after.issued()), kind, words)
                });
            }
        }
    }

    /// Counts a block that could not be read in `found`.
    pub(crate) fn unreadable(
        &self,
        block: u64,
        error: &std::io::Error,
        found: &mut VerifiedBlocks,
    ) {
        found.blocks += 1;
        found.bytes += self.bs;
        let (state, kind) = (self.block_state(block), BlockFault::Unreadable);
        let expected = (state.first(), state.issued());
        found.blame(kind, || {
            self.example(block, expected, kind, format!("it cannot be read: {error}"))
        });
    }

    fn example(
        &self,
        block: u64,
        expected: (u64, u64),
        kind: BlockFault,
        found: String,
    ) -> Example {
        let (target, offset) = (self.path.clone(), self.offset_of(block));
        Example { target, offset, length: self.bs, kind, expected, found }
    }

    fn judge_sectors(
        &self,
        block: u64,
        data: &[u8],
        before: LedgerState,
        after: LedgerState,
    ) -> JudgedBlock {
        let moving = after.moved_since(before);
        let (first, last) = (before.first(), after.issued());
        let (mut mixed, mut place) = (false, self.offset_of(block));
        for (at, piece) in data.chunks_exact(self.piece()).enumerate() {
            match Stamp::from_sector(piece) {
                Some(stamp) => match self.out_of_place(&stamp, place, first, last) {
                    None => {}
                    Some((kind, words)) => {
                        return JudgedBlock::Wrong(kind, format!("sector {at}: {words}"));
                    }
                },
                None if piece.iter().all(|byte| *byte == 0) => {
                    return JudgedBlock::Wrong(BlockFault::Foreign, format!("sector {at}: zeros"));
                }
                // A reader may meet a writer in the middle of a sector, in a page cache above all.
                None if moving => {}
                None if first < last => mixed = true,
                None if Stamp::claimed(piece).writer == self.writer => {
                    return JudgedBlock::Wrong(
                        BlockFault::Torn,
                        format!("sector {at}: a wrong checksum"),
                    );
                }
                None => {
                    let words =
                        "what this worker did not write, or nothing that it can be known by";
                    return JudgedBlock::Wrong(
                        BlockFault::Foreign,
                        format!("sector {at}: {words}"),
                    );
                }
            }
            place += piece.len() as u64;
        }
        if mixed { JudgedBlock::Mixed } else { JudgedBlock::Right }
    }

    /// Returns the fault of a sector at byte `place` whose stamp is valid. `None` if the stamp is
    /// one of the writes `first` to `last` of this place.
    fn out_of_place(
        &self,
        stamp: &Stamp,
        place: u64,
        first: u64,
        last: u64,
    ) -> Option<(BlockFault, String)> {
        let Stamp { writer, offset, generation } = *stamp;
        match () {
            () if writer != self.writer => {
                Some((BlockFault::Foreign, "what another worker or another run wrote".to_owned()))
            }
            () if offset != place => Some((
                BlockFault::Misplaced,
                format!("what was written to byte {offset}, as write {generation} there"),
            )),
            () if generation < first => {
                Some((BlockFault::Lost, format!("the older write {generation}")))
            }
            () if generation > last => {
                Some((BlockFault::Foreign, format!("write {generation}, which was not issued")))
            }
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::fill_new;
    use crate::random::Random;
    use crate::stamp::SECTOR;
    use std::path::PathBuf;

    fn ledger() -> Ledger {
        Ledger::new(PathBuf::from("/dev/x"), 77, 8192, 4096, 4)
    }

    fn random(seed: u64) -> Vec<u8> {
        let mut data = vec![0; 4096];
        fill_new(&mut data, SECTOR, &mut Random::new(seed, 0));
        data
    }

    /// Does a write from its issue to its end.
    fn written(ledger: &Ledger, block: u64, seed: u64) -> Vec<u8> {
        let mut data = random(seed);
        ledger.issue(block, &mut data);
        ledger.end_write(block);
        data
    }

    fn judged(ledger: &Ledger, block: u64, data: &[u8]) -> VerifiedBlocks {
        let (state, mut found) = (ledger.block_state(block), VerifiedBlocks::default());
        ledger.judge(block, data, state, state, &mut found);
        assert_eq!(found.blocks, 1);
        found
    }

    fn named(ledger: &Ledger, block: u64, data: &[u8]) -> (BlockFault, String) {
        let found = judged(ledger, block, data);
        assert_eq!((found.wrong(), found.examples.len()), (1, 1));
        let example = &found.examples[0];
        assert_eq!((example.offset, found.count_wrong(example.kind)), (ledger.offset_of(block), 1));
        (example.kind, example.found.clone())
    }

    #[test]
    fn the_last_write_is_right_and_each_other_content_has_its_name() {
        let ledger = ledger();
        let (older, last) = (written(&ledger, 1, 1), written(&ledger, 1, 2));
        assert_eq!(judged(&ledger, 1, &last).wrong(), 0);
        assert_eq!(
            named(&ledger, 1, &older),
            (BlockFault::Lost, "sector 0: the older write 1".into())
        );
        let other = written(&ledger, 2, 3);
        let (kind, words) = named(&ledger, 1, &other);
        assert_eq!(
            (kind, words.as_str()),
            (BlockFault::Misplaced, "sector 0: what was written to byte 16384, as write 1 there")
        );
        let another = Ledger::new(PathBuf::new(), 78, 8192, 4096, 4);
        assert_eq!(named(&ledger, 1, &written(&another, 1, 1)).0, BlockFault::Foreign);
        assert_eq!(named(&ledger, 1, &random(9)).0, BlockFault::Foreign);
        assert_eq!(
            named(&ledger, 1, &vec![0; 4096]),
            (BlockFault::Foreign, "sector 0: zeros".into())
        );
        let mut flipped = last.clone();
        flipped[3 * SECTOR + 200] ^= 4;
        assert_eq!(
            named(&ledger, 1, &flipped),
            (BlockFault::Torn, "sector 3: a wrong checksum".into())
        );
        let mut half = last.clone();
        half[7 * SECTOR..].copy_from_slice(&older[7 * SECTOR..]);
        assert_eq!(
            named(&ledger, 1, &half),
            (BlockFault::Lost, "sector 7: the older write 1".into())
        );
        let mut shifted = last.clone();
        shifted.copy_within(SECTOR..2 * SECTOR, 0);
        assert_eq!(named(&ledger, 1, &shifted).0, BlockFault::Misplaced);
    }

    #[test]
    fn of_writes_in_flight_at_once_any_may_be_there_sector_by_sector() {
        let ledger = ledger();
        let before = written(&ledger, 0, 1);
        let (mut one, mut two) = (random(2), random(3));
        ledger.issue(0, &mut one);
        ledger.issue(0, &mut two);
        ledger.end_write(0);
        ledger.end_write(0);
        let mut both = one.clone();
        both[SECTOR..].copy_from_slice(&two[SECTOR..]);
        for data in [&one, &two, &both] {
            assert_eq!((judged(&ledger, 0, data).wrong(), judged(&ledger, 0, data).mixed), (0, 0));
        }
        // Within a sector no disk promises anything of them.
        both[..100].copy_from_slice(&two[..100]);
        assert_eq!((judged(&ledger, 0, &both).wrong(), judged(&ledger, 0, &both).mixed), (0, 1));
        assert_eq!(named(&ledger, 0, &before).0, BlockFault::Lost);
        assert_eq!(named(&ledger, 0, &vec![0; 4096]).0, BlockFault::Foreign);
    }

    #[test]
    fn a_read_beside_a_write_may_meet_old_new_and_half() {
        let ledger = ledger();
        let old = written(&ledger, 0, 1);
        let before = ledger.block_state(0);
        let mut new = random(2);
        ledger.issue(0, &mut new);
        ledger.end_write(0);
        let mut half = new.clone();
        half[..700].copy_from_slice(&old[..700]);
        let judged = |data: &[u8]| {
            let mut found = VerifiedBlocks::default();
            ledger.judge(0, data, before, ledger.block_state(0), &mut found);
            (found.wrong(), found.mixed)
        };
        for data in [&old, &new, &half] {
            assert_eq!(judged(data), (0, 0));
        }
        assert_eq!(judged(&written(&ledger, 1, 1)).0, 1, "another block's is never right");
        assert_eq!(named(&ledger, 0, &old).0, BlockFault::Lost, "behind it the old is over");
    }

    #[test]
    fn what_differs_is_told_by_its_place() {
        let ledger = ledger();
        let _ = written(&ledger, 3, 1);
        let mut found = judged(&ledger, 3, &random(4));
        assert_eq!(found.examples[0].to_sentence(), "write 1 of it");
        ledger.unreadable(3, &std::io::Error::from_raw_os_error(libc::EIO), &mut found);
        assert_eq!((found.blocks, found.wrong(), found.unreadable), (2, 2, 1));
        let both = found.clone().and(found);
        assert_eq!((both.blocks, both.examples.len()), (4, 4));
    }
}

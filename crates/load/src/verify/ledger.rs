//! Knowledge of every block that a worker writes and reads back: how many writes of it were issued,
//! and the first of them that may be there now. One word per block, shared by all threads.
//!
//! Writes of a block that are in flight at once have no order: when all have ended, any of them may
//! be there. A group begins with a write that finds no other in flight, and ends with one that
//! leaves none in flight. As soon as one write of a group has ended, all data from before the group
//! are gone. When a counter is at its maximum, the weaker claim holds: a number that did not fit
//! never makes a block wrong.

use crate::stamp::{SECTOR, Stamp};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

const ISSUED_BITS: u32 = 32;
const FLIGHT_BITS: u32 = 10;
const GROUP_BITS: u32 = 11;

const MOST_IN_FLIGHT: u64 = (1 << FLIGHT_BITS) - 1;
const MOST_IN_GROUP: u64 = (1 << GROUP_BITS) - 1;

/// State of one block. Writes are counted from 1; these numbers are generations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LedgerState {
    /// Generation of the last write issued. At its maximum, all further writes have the same.
    issued: u64,
    /// Writes that have not ended, or failed: a failed write may still arrive. At its maximum it
    /// stays there.
    in_flight: u64,
    /// Writes of the last group. At its maximum it stays there until the next group.
    group: u64,
    /// Generation of the last write issued, less that of the first write that may be there; 0
    /// stands for the data from before all writes. At its maximum: not known.
    reach_back: u64,
}

impl LedgerState {
    fn from_word(word: u64) -> LedgerState {
        let take = |from: u32, bits: u32| word >> from & ((1 << bits) - 1);
        LedgerState {
            issued: take(0, ISSUED_BITS),
            in_flight: take(ISSUED_BITS, FLIGHT_BITS),
            group: take(ISSUED_BITS + FLIGHT_BITS, GROUP_BITS),
            reach_back: take(ISSUED_BITS + FLIGHT_BITS + GROUP_BITS, GROUP_BITS),
        }
    }

    fn word(self) -> u64 {
        let (flight, group) = (ISSUED_BITS, ISSUED_BITS + FLIGHT_BITS);
        self.issued
            | self.in_flight << flight
            | self.group << group
            | self.reach_back << (group + GROUP_BITS)
    }

    fn issue(self) -> LedgerState {
        LedgerState {
            issued: (self.issued + 1).min(u64::from(u32::MAX)),
            in_flight: (self.in_flight + 1).min(MOST_IN_FLIGHT),
            group: if self.in_flight == 0 { 1 } else { (self.group + 1).min(MOST_IN_GROUP) },
            reach_back: (self.reach_back + 1).min(MOST_IN_GROUP),
        }
    }

    fn after_end(self) -> LedgerState {
        let in_flight = if self.in_flight == MOST_IN_FLIGHT {
            MOST_IN_FLIGHT
        } else {
            self.in_flight.saturating_sub(1)
        };
        // A write of the group is there now: nothing from before it. If the group's counter is at
        // its maximum, the group's first write is not known.
        let reach_back = if self.group == MOST_IN_GROUP {
            self.reach_back
        } else {
            self.reach_back.min(self.group.saturating_sub(1))
        };
        LedgerState { in_flight, reach_back, ..self }
    }

    pub(crate) fn issued(self) -> u64 {
        self.issued
    }

    /// Returns the first generation that may be there; 0 means the data from before all writes, as
    /// far as is known.
    pub(crate) fn first(self) -> u64 {
        match self.reach_back {
            // With so many writes issued, some have ended, unless the number of those in flight is
            // not known.
            MOST_IN_GROUP => u64::from(self.in_flight < MOST_IN_FLIGHT),
            reach_back => self.issued.saturating_sub(reach_back),
        }
    }

    /// Returns true if a write of the block is in flight, or failed.
    pub(crate) fn is_moving(self) -> bool {
        self.in_flight > 0
    }

    /// Returns true if a write of the block was in flight at any time since `before`, or if the
    /// counter of writes is at its maximum and no longer shows that.
    pub(crate) fn moved_since(self, before: LedgerState) -> bool {
        let counted = self.issued < u64::from(u32::MAX);
        before.is_moving() || self.issued != before.issued || !counted
    }
}

pub(crate) struct Ledger {
    pub(crate) path: PathBuf,
    /// Writer number in the stamps of all data written under this ledger.
    pub(crate) writer: u64,
    pub(crate) offset: u64,
    pub(crate) bs: u64,
    words: Box<[AtomicU64]>,
}

impl Ledger {
    /// Creates a ledger of `blocks` blocks of `bs` bytes from byte `offset` of the target on, none
    /// of which was written yet.
    pub(crate) fn new(path: PathBuf, writer: u64, offset: u64, bs: u64, blocks: u64) -> Ledger {
        Ledger { path, writer, offset, bs, words: (0..blocks).map(|_| AtomicU64::new(0)).collect() }
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.words.len() as u64
    }

    /// Returns the number of bytes that have a stamp of their own: a sector, or the whole block if
    /// that is not a multiple of a sector.
    pub(crate) fn piece(&self) -> usize {
        piece_of(self.bs)
    }

    pub(crate) fn block_at(&self, offset: u64) -> u64 {
        (offset - self.offset) / self.bs
    }

    pub(crate) fn offset_of(&self, block: u64) -> u64 {
        self.offset + block * self.bs
    }

    /// Counts a write of a block that is about to be issued, and puts its stamp on the data.
    #[inline]
    pub(crate) fn issue(&self, block: u64, data: &mut [u8]) {
        let issued = self.change_state(block, LedgerState::issue).issued;
        let mut stamp =
            Stamp { writer: self.writer, offset: self.offset_of(block), generation: issued };
        for piece in data.chunks_exact_mut(self.piece()) {
            stamp.seal(piece);
            stamp.offset += piece.len() as u64;
        }
    }

    /// Counts a write of a block as ended. A failed write never ends: nobody knows whether it will
    /// still arrive.
    #[inline]
    pub(crate) fn end_write(&self, block: u64) {
        self.change_state(block, LedgerState::after_end);
    }

    #[inline]
    pub(crate) fn block_state(&self, block: u64) -> LedgerState {
        LedgerState::from_word(self.words[block as usize].load(Ordering::Acquire))
    }

    #[inline]
    fn change_state(&self, block: u64, change: fn(LedgerState) -> LedgerState) -> LedgerState {
        let word = &self.words[block as usize];
        let mut old = word.load(Ordering::Relaxed);
        loop {
            let new = change(LedgerState::from_word(old));
            match word.compare_exchange_weak(old, new.word(), Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return new,
                Err(other) => old = other,
            }
        }
    }
}

/// Returns the number of bytes that have a stamp of their own, in blocks of `bs` bytes: see
/// [`Ledger::piece`].
pub(crate) fn piece_of(bs: u64) -> usize {
    if bs % SECTOR as u64 == 0 { SECTOR } else { bs as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Model of a ledger's state without bounds: every write that may be there.
    #[derive(Default)]
    struct Model {
        time: u64,
        issued: u64,
        /// Generation, when it was issued, when it ended.
        may_be: Vec<(u64, u64, Option<u64>)>,
        /// True if the data from before all writes may be there.
        base: bool,
    }

    impl Model {
        fn new() -> Model {
            Model { base: true, ..Model::default() }
        }

        fn issue(&mut self) -> u64 {
            self.time += 1;
            self.issued += 1;
            self.may_be.push((self.issued, self.time, None));
            self.issued
        }

        fn end(&mut self, generation: u64) {
            self.time += 1;
            let (time, at) =
                (self.time, self.may_be.iter().position(|one| one.0 == generation).unwrap());
            self.may_be[at].2 = Some(time);
            let issued = self.may_be[at].1;
            // Writes that ended before it was issued are gone.
            self.may_be.retain(|(_, _, ended)| ended.is_none_or(|ended| ended > issued));
            self.base = false;
        }

        /// Returns the first write that may be there; 0 means the data from before all writes.
        fn first(&self) -> u64 {
            if self.base { 0 } else { self.may_be.iter().map(|one| one.0).min().unwrap_or(0) }
        }
    }

    /// Issues and ends writes as the numbers say; a failed one never ends. Gives the states beside
    /// the model's first.
    fn play(
        moves: &[(u8, u16)],
        most_in_flight: usize,
        mut seen: impl FnMut(LedgerState, &Model, usize),
    ) {
        let (ledger, mut model) = (Ledger::new(PathBuf::new(), 1, 0, 32, 1), Model::new());
        let (mut in_flight, mut failed, mut data) = (Vec::new(), 0, [0; 32]);
        for (what, which) in moves {
            match what % 16 {
                0..=8 if in_flight.len() < most_in_flight => {
                    ledger.issue(0, &mut data);
                    in_flight.push(model.issue());
                    assert_eq!(Stamp::from_sector(&data).unwrap().generation, model.issued);
                }
                15 if *which < 300 && !in_flight.is_empty() => {
                    in_flight.swap_remove(usize::from(*which) % in_flight.len());
                    failed += 1;
                }
                _ if in_flight.is_empty() => {}
                _ => {
                    model.end(in_flight.swap_remove(usize::from(*which) % in_flight.len()));
                    ledger.end_write(0);
                }
            }
            seen(ledger.block_state(0), &model, in_flight.len() + failed);
        }
    }

    proptest! {
        #[test]
        fn what_may_be_there_is_never_refused(
            moves in prop::collection::vec(any::<(u8, u16)>(), 0..400), most in 1usize..40,
        ) {
            play(&moves, most, |state, model, in_flight| {
                assert!(state.first() <= model.first(), "{state:?} {:?}", model.may_be);
                assert_eq!(state.issued(), model.issued);
                assert_eq!(state.is_moving(), in_flight > 0);
            });
        }

        #[test]
        fn a_read_is_never_refused_what_was_there_meanwhile(
            moves in prop::collection::vec(any::<(u8, u16)>(), 1..200), from in 0usize..200,
        ) {
            let (mut at, mut before, mut least, mut still) = (0, None, u64::MAX, true);
            play(&moves, 8, |state, model, in_flight| {
                if at >= from {
                    let before = *before.get_or_insert(state);
                    least = least.min(model.first());
                    still &= in_flight == 0;
                    assert!(before.first() <= least);
                    assert_eq!(still, !state.moved_since(before));
                }
                at += 1;
            });
        }

        #[test]
        fn one_write_at_a_time_is_known_exactly(moves in prop::collection::vec(any::<(u8, u16)>(), 0..100)) {
            let moves: Vec<(u8, u16)> = moves.iter().map(|(what, _)| (what % 15, 300)).collect();
            play(&moves, 1, |state, model, _| assert_eq!(state.first(), model.first()));
        }
    }

    /// Keeps a write of a block in flight at all times, for longer than a group is counted.
    #[test]
    fn counts_that_are_at_their_end_claim_less() {
        let (mut state, mut model) = (LedgerState::default(), Model::new());
        let mut last = model.issue();
        state = state.issue();
        for turn in 0..3 * MOST_IN_GROUP {
            let next = model.issue();
            state = LedgerState::from_word(state.issue().word());
            model.end(last);
            state = LedgerState::from_word(state.after_end().word());
            last = next;
            assert!(state.first() <= model.first(), "{turn} {state:?}");
            assert!(turn > 10 || state.first() == 1);
        }
        assert_eq!(state.first(), 1, "one of them, whichever");
        model.end(last);
        state = state.after_end();
        assert_eq!((state.first(), state.is_moving()), (1, false));
        // The next group is known again.
        state = state.issue().after_end();
        assert_eq!(state.first(), state.issued());
    }

    #[test]
    fn too_many_in_flight_never_count_as_none() {
        let mut state = LedgerState::default();
        for _ in 0..2 * MOST_IN_FLIGHT {
            state = state.issue();
        }
        for _ in 0..2 * MOST_IN_FLIGHT {
            state = LedgerState::from_word(state.after_end().word());
        }
        assert!(state.is_moving() && state.first() <= 1);
    }

    #[test]
    fn the_last_generation_is_that_of_all_further_writes() {
        let most = u64::from(u32::MAX);
        let last = LedgerState { issued: most - 1, ..LedgerState::default() };
        let later = LedgerState::from_word(last.issue().after_end().word());
        assert_eq!((later.issued(), later.first()), (most, most));
        let further = later.issue();
        assert!(further.issued() == most && further.first() < most);
        assert!(later.moved_since(later), "nobody knows");
        assert_eq!(further.after_end().first(), most);
    }
}

//! Tests disks that keep their promise and disks that lie, killed in the midst of a trial: the
//! verifier must find every lie and accuse no honest disk.

use super::disk::BlockFile;
use super::stamp::BLOCK;
use super::verifier::{self, Verified};
use super::writer;
use iotax_facts::trial::{MOST_EXAMPLES, ReadBack};
use iotax_load::Random;
use iotax_load::stamp::SECTOR;
use iotax_wire::trial::TrialSpec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Mutex;

const BLOCKS: u64 = 2048;

/// Way in which a disk breaks its promise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    /// Keeps its promise: what was flushed stays, and of the rest each sector stays or is lost.
    None,
    /// Sends writes to an overlay that is thrown away.
    Overlay,
    /// Returns from a flush at once and does nothing.
    IgnoresFlush,
    /// Leaves one of the writes before each flush unflushed.
    ForgetsSome,
    /// Puts one block that was flushed beside its place.
    Misplaces,
    /// Tears a write that is under way within a sector.
    TearsUnderWay,
    /// Puts sectors of a write that is under way in each other's places.
    MisplacesUnderWay,
    /// Makes a block with a write under way unreadable.
    SpoilsUnderWay,
    /// Tears a block that was flushed within a sector.
    TearsFlushed,
    /// Writes an old write late, over a newer one.
    Resurrects,
    /// Makes one block that was flushed unreadable.
    Unreadable,
}

const LIES: [Lie; 10] = [
    Lie::Overlay,
    Lie::IgnoresFlush,
    Lie::ForgetsSome,
    Lie::Misplaces,
    Lie::TearsUnderWay,
    Lie::MisplacesUnderWay,
    Lie::SpoilsUnderWay,
    Lie::TearsFlushed,
    Lie::Resurrects,
    Lie::Unreadable,
];

#[derive(Default)]
struct Inside {
    stable: BTreeMap<u64, Vec<u8>>,
    cached: BTreeMap<u64, Vec<u8>>,
    /// Flushed block as it was before it was written once more.
    older: Option<(u64, Vec<u8>)>,
    writes: u64,
}

struct FakeDisk {
    lie: Lie,
    /// Number of the write from which on everything fails: the writer is dead.
    dies_at: u64,
    inside: Mutex<Inside>,
}

fn gone() -> io::Error {
    io::Error::other("killed")
}

impl BlockFile for FakeDisk {
    fn read_block(&self, block: u64, into: &mut [u8]) -> io::Result<()> {
        let inside = self.inside.lock().unwrap();
        match inside.stable.get(&block) {
            Some(data) if data.is_empty() => return Err(io::Error::other("medium error")),
            Some(data) => into.copy_from_slice(data),
            None => into.fill(0x5a),
        }
        Ok(())
    }

    fn write_block(&self, block: u64, data: &[u8]) -> io::Result<()> {
        let mut inside = self.inside.lock().unwrap();
        inside.writes += 1;
        if inside.writes > self.dies_at {
            return Err(gone());
        }
        if let Some(old) = inside.stable.get(&block).cloned() {
            inside.older.get_or_insert((block, old));
        }
        inside.cached.insert(block, data.to_vec());
        Ok(())
    }

    fn flush_blocks(&self) -> io::Result<()> {
        let mut inside = self.inside.lock().unwrap();
        if inside.writes > self.dies_at {
            return Err(gone());
        }
        if self.lie == Lie::IgnoresFlush {
            return Ok(());
        }
        if self.lie == Lie::ForgetsSome {
            inside.cached.pop_first();
        }
        let cached = std::mem::take(&mut inside.cached);
        inside.stable.extend(cached);
        Ok(())
    }
}

impl FakeDisk {
    /// Kills the disk: what is in the cache is lost, or stays sector by sector.
    fn after_the_kill(self, seed: u64, acknowledged: &BTreeMap<u64, u64>) -> FakeDisk {
        let mut random = Random::new(seed, 1);
        let mut inside = self.inside.into_inner().unwrap();
        for (block, data) in std::mem::take(&mut inside.cached) {
            let kept = inside.stable.entry(block).or_insert_with(|| vec![0x5a; BLOCK]);
            if kept.is_empty() {
                // A block that could not be read can be read again when it is written, whole.
                if random.chance(50) {
                    *kept = data;
                }
                continue;
            }
            for at in (0..BLOCK).step_by(SECTOR) {
                // The disk that never flushes has lost most of what was in its cache.
                if random.chance(if self.lie == Lie::IgnoresFlush { 2 } else { 50 }) {
                    kept[at..at + SECTOR].copy_from_slice(&data[at..at + SECTOR]);
                }
            }
            if self.lie == Lie::TearsUnderWay {
                kept[..100].copy_from_slice(&data[..100]);
                kept[100..SECTOR].fill(0);
            }
            if self.lie == Lie::MisplacesUnderWay {
                kept.copy_from_slice(&data);
                kept.rotate_left(SECTOR);
            }
            if self.lie == Lie::SpoilsUnderWay {
                kept.clear();
            }
        }
        // The lie is about a block with an acknowledged write.
        let victim = *acknowledged.keys().nth(acknowledged.len() / 2).unwrap();
        match self.lie {
            Lie::Overlay => inside.stable.clear(),
            Lie::Misplaces => {
                let other = inside.stable[acknowledged.keys().next().unwrap()].clone();
                inside.stable.insert(victim, other);
            }
            Lie::TearsFlushed => inside.stable.get_mut(&victim).unwrap()[700] ^= 0x80,
            Lie::Unreadable => drop(inside.stable.insert(victim, Vec::new())),
            Lie::Resurrects => {
                let (block, old) = inside.older.take().expect("a block that was written twice");
                inside.stable.insert(block, old);
            }
            _ => {}
        }
        FakeDisk { inside: Mutex::new(inside), ..self }
    }
}

fn spec(seed: u64) -> TrialSpec {
    TrialSpec {
        trial: seed ^ 0xabc,
        seed,
        blocks: BLOCKS,
        batch: 16,
        in_flight: 4,
        most_batches: 1000,
    }
}

/// Writes, dies at that write, and reads back.
fn trial(lie: Lie, seed: u64, dies_at: u64) -> ReadBack {
    let disk = FakeDisk { lie, dies_at, inside: Mutex::default() };
    trial_on(disk, &spec(seed), seed, &[]).1.found
}

/// Runs a trial on a disk that earlier trials used, on which those blocks cannot be read.
fn trial_on(
    disk: FakeDisk,
    spec: &TrialSpec,
    seed: u64,
    unreadable: &[u64],
) -> (FakeDisk, Verified) {
    let dies_at = disk.dies_at;
    let mut acknowledged = 0;
    let written = writer::write(&disk, spec, &mut |last| {
        acknowledged = last;
        ControlFlow::Continue(())
    });
    assert!(format!("{:#}", written.unwrap_err()).contains("failed: killed"));
    assert_eq!(acknowledged, (dies_at / 16) * 16);
    let disk = disk.after_the_kill(seed, &spec.expected(acknowledged));
    let verified = verifier::verify(&disk, spec, acknowledged, unreadable);
    (disk, verified)
}

impl FakeDisk {
    /// Returns the disk as the next stack finds it.
    fn turned(self, lie: Lie) -> FakeDisk {
        let stable = self.inside.into_inner().unwrap().stable;
        FakeDisk { lie, inside: Mutex::new(Inside { stable, ..Inside::default() }), ..self }
    }
}

/// Returns lies about blocks that were promised nothing except to be whole.
fn under_way() -> impl Strategy<Value = Lie> {
    proptest::sample::select(&[Lie::TearsUnderWay, Lie::MisplacesUnderWay, Lie::SpoilsUnderWay][..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn an_honest_disk_is_never_accused(seed in any::<u64>(), dies_at in 16u64..900) {
        let found = trial(Lie::None, seed, dies_at);
        prop_assert_eq!(found.broken_blocks(), 0, "{:?}", found);
        prop_assert_eq!(found.kept, found.blocks);
        prop_assert!(found.examples.is_empty());
    }

    #[test]
    fn an_honest_disk_is_not_accused_of_what_a_liar_left_on_it(seed in any::<u64>(), batches in 32u64..56, lie in under_way()) {
        let disk = FakeDisk { lie, dies_at: 16 * batches + 7, inside: Mutex::default() };
        let (disk, lied) = trial_on(disk, &spec(seed), seed, &[]);
        prop_assert!(lied.found.broken_blocks() > 0, "{:?}: {:?}", lie, lied);
        // The same blocks are under way once more, and some of them stay as they were.
        let again = TrialSpec { trial: !seed, ..spec(seed) };
        let (disk, honest) = trial_on(disk.turned(Lie::None), &again, !seed, &lied.unreadable);
        prop_assert_eq!(honest.found.broken_blocks(), 0, "{:?}: {:?}", lie, honest);
        // A lie on this disk is caught as on any other.
        let third = TrialSpec { trial: seed ^ 1, ..spec(!seed) };
        let (_, lied) = trial_on(disk.turned(lie), &third, seed ^ 1, &honest.unreadable);
        prop_assert!(lied.found.broken_blocks() > 0, "{:?}: {:?}", lie, lied);
    }

    #[test]
    fn every_lie_is_found(seed in any::<u64>(), dies_at in 500u64..900, lie in proptest::sample::select(&LIES[..])) {
        // Something is under way when the disk dies.
        let dies_at = dies_at - dies_at % 16 + 7;
        let found = trial(lie, seed, dies_at);
        prop_assert!(found.broken_blocks() > 0, "{:?}: {:?}", lie, found);
        prop_assert!(!found.examples.is_empty() && found.examples.len() <= MOST_EXAMPLES);
        prop_assert_eq!(found.blocks, found.kept + found.lost + found.torn + found.unreadable);
    }
}

#[test]
fn each_lie_is_called_by_its_name() {
    let found = |lie| trial(lie, 5, 807);
    let overlay = found(Lie::Overlay);
    assert_eq!((overlay.lost, overlay.kept), (overlay.blocks, 0));
    assert!(overlay.examples[0].found.contains("no trial wrote"), "{:?}", overlay.examples);
    let forgotten = found(Lie::ForgetsSome);
    assert!(forgotten.lost > 10 && forgotten.kept > forgotten.lost, "{forgotten:?}");
    let misplaced = found(Lie::Misplaces);
    assert!(
        misplaced.lost == 1 && misplaced.examples[0].found.contains("written to block"),
        "{misplaced:?}"
    );
    assert_eq!(found(Lie::TearsFlushed).torn, 1);
    let under_way = found(Lie::TearsUnderWay);
    assert!(under_way.under_way_torn + under_way.torn > 0 && under_way.lost == 0, "{under_way:?}");
    let late = found(Lie::Resurrects);
    assert!(late.lost == 1 && late.examples[0].found.contains("the older write"), "{late:?}");
    assert_eq!(found(Lie::Unreadable).unreadable, 1);
    let (misplaced, spoilt) = (found(Lie::MisplacesUnderWay), found(Lie::SpoilsUnderWay));
    assert!(
        misplaced.under_way_torn > 0
            && misplaced.examples.iter().all(|one| one.found.contains("another's place"))
    );
    assert!(
        spoilt.under_way_torn > 0 && spoilt.under_way_new == 0 && spoilt.lost == 0,
        "{spoilt:?}"
    );
}

#[test]
fn what_was_under_way_may_be_old_or_new() {
    let found = trial(Lie::None, 11, 807);
    assert!(found.under_way > 0 && found.under_way_torn == 0, "{found:?}");
    assert!(found.under_way_new <= 7);
}

#[test]
fn a_writer_that_nobody_listens_to_stops_and_one_with_a_bound_ends() {
    let spec = TrialSpec { most_batches: 3, ..spec(1) };
    let disk = || FakeDisk { lie: Lie::None, dies_at: u64::MAX, inside: Mutex::default() };
    assert_eq!(writer::write(&disk(), &spec, &mut |_| ControlFlow::Break(())).unwrap(), 16);
    assert_eq!(writer::write(&disk(), &spec, &mut |_| ControlFlow::Continue(())).unwrap(), 48);
}

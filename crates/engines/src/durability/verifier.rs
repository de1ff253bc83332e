//! Reads back after a kill and checks exactly what is promised. Each sector of a block with an
//! acknowledged write has that write or a later one. A block that was only under way may be old or
//! new, sector by sector. No sector is torn. The verifier does not blame a trial for what was torn
//! or unreadable before it.

use super::disk::{AlignedPage, BlockFile};
use super::stamp::{self, Sector, Stamp};
use iotax_facts::trial::{Example, MOST_EXAMPLES, ReadBack};
use iotax_wire::trial::TrialSpec;
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub struct Verified {
    pub found: ReadBack,
    /// Blocks that could not be read, except those that had no acknowledged write and were
    /// unreadable before the trial.
    pub unreadable: Vec<u64>,
}

/// Most unreadable blocks that fit into a request or an answer.
pub const MOST_UNREADABLE: usize = 100_000;

impl Verified {
    fn and(mut self, other: Verified) -> Verified {
        self.unreadable.extend(other.unreadable);
        self.unreadable.truncate(MOST_UNREADABLE);
        Verified { found: self.found.combine_results(other.found), ..self }
    }
}

/// Reads and judges every block with a write up to number `acknowledged`, and every block of which
/// a later write may have been under way. One of the latter that was `unreadable` before the trial
/// is not held against the disk if it still is.
pub fn verify(
    disk: &dyn BlockFile,
    spec: &TrialSpec,
    acknowledged: u64,
    unreadable: &[u64],
) -> Verified {
    let expected = spec.expected(acknowledged);
    let under_way = spec.under_way(acknowledged);
    let only_under_way = under_way.keys().filter(|block| !expected.contains_key(block));
    let all: Vec<AskedBlock> = expected
        .iter()
        .map(|(block, sequence)| AskedBlock { block: *block, expected: Some(*sequence) })
        .chain(only_under_way.map(|block| AskedBlock { block: *block, expected: None }))
        .collect();
    let reading =
        VerifyPass { disk, spec, acknowledged, unreadable: unreadable.iter().copied().collect() };
    let part = all.len().div_ceil(spec.in_flight.max(1) as usize).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> =
            all.chunks(part).map(|asked| scope.spawn(|| reading.read_all(asked))).collect();
        // A thread that panicked fails the agent's request, and the host is notified.
        parts
            .into_iter()
            .map(|part| part.join().expect("a reader"))
            .fold(Verified::default(), Verified::and)
    })
}

/// Block to read, and the number of its last acknowledged write; `None` if it has none.
struct AskedBlock {
    block: u64,
    expected: Option<u64>,
}

struct VerifyPass<'a> {
    disk: &'a dyn BlockFile,
    spec: &'a TrialSpec,
    acknowledged: u64,
    unreadable: BTreeSet<u64>,
}

impl VerifyPass<'_> {
    fn read_all(&self, asked: &[AskedBlock]) -> Verified {
        let (mut verified, mut page) = (Verified::default(), AlignedPage::default());
        for asked in asked {
            let judged = match self.disk.read_block(asked.block, page.bytes()) {
                Ok(()) => judge(page.bytes(), self.spec, asked, self.acknowledged),
                Err(_) if asked.expected.is_none() && self.unreadable.contains(&asked.block) => {
                    BlockVerdict::Kept { later: false }
                }
                Err(error) => {
                    verified.unreadable.push(asked.block);
                    BlockVerdict::Unreadable(error.to_string())
                }
            };
            count(&mut verified.found, asked, judged);
        }
        verified
    }
}

#[derive(Debug, PartialEq, Eq)]
enum BlockVerdict {
    /// Content is as promised; `later` if a later write is in it.
    Kept {
        later: bool,
    },
    /// A sector is older than the acknowledged write: describes what is there instead.
    Lost(String),
    /// A sector is neither old nor new, or belongs elsewhere: describes it.
    Torn(String),
    Unreadable(String),
}

/// Judges a block by the worst of its sectors.
fn judge(block: &[u8], spec: &TrialSpec, asked: &AskedBlock, acknowledged: u64) -> BlockVerdict {
    let (mut lost, mut later) = (None, false);
    for (at, sector) in stamp::sectors(block, spec.trial, asked.block).enumerate() {
        match (sector, asked.expected) {
            (Sector::Torn, _) => {
                return BlockVerdict::Torn(format!("sector {at} of it with a wrong checksum"));
            }
            (Sector::Whole(stamp, own), Some(expected)) => {
                later |= stamp.sequence > expected;
                lost =
                    lost.or_else(|| older(&stamp, own as usize == at, spec, asked.block, expected));
            }
            (Sector::Foreign, Some(_)) => {
                lost = lost.or_else(|| Some("content that no trial wrote whole".to_owned()));
            }
            (Sector::Whole(stamp, own), None) if stamp.trial == spec.trial => {
                if let Some(words) = misplaced(&stamp, own as usize == at, asked.block) {
                    return BlockVerdict::Torn(words);
                }
                later |= stamp.sequence > acknowledged;
            }
            // The sector may be whatever it was before, which is unknown.
            (Sector::Whole(..) | Sector::Foreign, None) => {}
        }
    }
    lost.map_or(BlockVerdict::Kept { later }, BlockVerdict::Lost)
}

/// Describes why a whole sector is older than what was acknowledged; `None` if it is that or
/// something later.
fn older(
    stamp: &Stamp,
    in_place: bool,
    spec: &TrialSpec,
    block: u64,
    expected: u64,
) -> Option<String> {
    match () {
        () if stamp.trial != spec.trial => Some("content of another trial".to_owned()),
        () => misplaced(stamp, in_place, block).or_else(|| {
            (stamp.sequence < expected).then(|| format!("the older write {}", stamp.sequence))
        }),
    }
}

/// Describes where a whole sector of the trial belongs, if not here: no write put it into this
/// block, acknowledged or not.
fn misplaced(stamp: &Stamp, in_place: bool, block: u64) -> Option<String> {
    match () {
        () if stamp.block != block => Some(format!("what was written to block {}", stamp.block)),
        () if !in_place => Some("a sector of it in another's place".to_owned()),
        () => None,
    }
}

fn count(found: &mut ReadBack, asked: &AskedBlock, judged: BlockVerdict) {
    match (asked.expected.is_some(), &judged) {
        (true, judged) => {
            found.blocks += 1;
            match judged {
                BlockVerdict::Kept { later } => {
                    (found.kept, found.later) = (found.kept + 1, found.later + u64::from(*later))
                }
                BlockVerdict::Lost(_) => found.lost += 1,
                BlockVerdict::Torn(_) => found.torn += 1,
                BlockVerdict::Unreadable(_) => found.unreadable += 1,
            }
        }
        (false, judged) => {
            found.under_way += 1;
            match judged {
                BlockVerdict::Kept { later } => found.under_way_new += u64::from(*later),
                BlockVerdict::Torn(_) | BlockVerdict::Unreadable(_) => found.under_way_torn += 1,
                // Nothing was promised about this block.
                BlockVerdict::Lost(_) => {}
            }
        }
    }
    let words = match judged {
        BlockVerdict::Kept { .. } => return,
        BlockVerdict::Lost(words) | BlockVerdict::Torn(words) => words,
        BlockVerdict::Unreadable(words) => format!("not readable: {words}"),
    };
    if found.examples.len() < MOST_EXAMPLES {
        found.examples.push(Example { block: asked.block, expected: asked.expected, found: words });
    }
}

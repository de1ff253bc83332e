//! Reads back after a kill. What is promised, exactly: each sector of a block with an acknowledged write has that write or
//! a later one; a block that was only under way may be old or new, sector by sector, and no sector is torn.

use super::disk::{Disk, Page};
use super::schedule::TrialSpec;
use super::stamp::{self, Sector, Stamp};
use crate::store::record::trial::{Example, Found, MOST_EXAMPLES};

/// Reads every block with a write up to `acknowledged`, and those that may have been under way behind it.
pub fn verify(disk: &dyn Disk, spec: &TrialSpec, acknowledged: u64) -> Found {
    let expected = spec.expected(acknowledged);
    let under_way = spec.under_way(acknowledged);
    let only_under_way = under_way.keys().filter(|block| !expected.contains_key(block));
    let all: Vec<Asked> = expected
        .iter()
        .map(|(block, sequence)| Asked { block: *block, expected: Some(*sequence) })
        .chain(only_under_way.map(|block| Asked { block: *block, expected: None }))
        .collect();
    let part = all.len().div_ceil(spec.in_flight.max(1) as usize).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> =
            all.chunks(part).map(|asked| scope.spawn(|| read_all(disk, spec, acknowledged, asked))).collect();
        // A thread that panicked takes the agent's request with it, and the host is told.
        parts.into_iter().map(|part| part.join().expect("a reader")).fold(Found::default(), Found::and)
    })
}

/// A block, and the last acknowledged write of it.
struct Asked {
    block: u64,
    expected: Option<u64>,
}

fn read_all(disk: &dyn Disk, spec: &TrialSpec, acknowledged: u64, asked: &[Asked]) -> Found {
    let (mut found, mut page) = (Found::default(), Page::default());
    for asked in asked {
        let judged = match disk.read(asked.block, page.bytes()) {
            Ok(()) => judge(page.bytes(), spec, asked, acknowledged),
            Err(error) => Judged::Unreadable(error.to_string()),
        };
        count(&mut found, asked, judged);
    }
    found
}

/// What became of a block.
#[derive(Debug, PartialEq, Eq)]
enum Judged {
    /// As promised; a later write is in it.
    Kept {
        later: bool,
    },
    /// A sector of it is older than what was acknowledged: what is there instead.
    Lost(String),
    /// A sector of it is neither.
    Torn(String),
    Unreadable(String),
}

/// The worst of its sectors counts.
fn judge(block: &[u8], spec: &TrialSpec, asked: &Asked, acknowledged: u64) -> Judged {
    let (mut lost, mut later) = (None, false);
    for (at, sector) in stamp::sectors(block).enumerate() {
        match (sector, asked.expected) {
            (Sector::Torn, _) => return Judged::Torn(format!("sector {at} of it with a wrong checksum")),
            (Sector::Whole(stamp, own), Some(expected)) => {
                later |= stamp.sequence > expected;
                lost = lost.or_else(|| older(&stamp, own as usize == at, spec, asked.block, expected));
            }
            (Sector::Foreign, Some(_)) => {
                lost = lost.or_else(|| Some("content that no trial wrote".to_owned()));
            }
            // It may be whatever it was before, and then it is not known what.
            (Sector::Whole(stamp, _), None) => {
                later |= stamp.trial == spec.trial && stamp.sequence > acknowledged;
            }
            (Sector::Foreign, None) => {}
        }
    }
    lost.map_or(Judged::Kept { later }, Judged::Lost)
}

/// Why a whole sector is not what was acknowledged; `None`: it is, or something later.
fn older(stamp: &Stamp, in_place: bool, spec: &TrialSpec, block: u64, expected: u64) -> Option<String> {
    match () {
        () if stamp.trial != spec.trial => Some("content of another trial".to_owned()),
        () if stamp.block != block => Some(format!("what was written to block {}", stamp.block)),
        () if !in_place => Some("a sector of it in another's place".to_owned()),
        () if stamp.sequence < expected => Some(format!("the older write {}", stamp.sequence)),
        () => None,
    }
}

fn count(found: &mut Found, asked: &Asked, judged: Judged) {
    match (asked.expected.is_some(), &judged) {
        (true, judged) => {
            found.blocks += 1;
            match judged {
                Judged::Kept { later } => {
                    (found.kept, found.later) = (found.kept + 1, found.later + u64::from(*later))
                }
                Judged::Lost(_) => found.lost += 1,
                Judged::Torn(_) => found.torn += 1,
                Judged::Unreadable(_) => found.unreadable += 1,
            }
        }
        (false, judged) => {
            found.under_way += 1;
            match judged {
                Judged::Kept { later } => found.under_way_new += u64::from(*later),
                Judged::Torn(_) | Judged::Unreadable(_) => found.under_way_torn += 1,
                // Nothing was promised of it.
                Judged::Lost(_) => {}
            }
        }
    }
    let words = match judged {
        Judged::Kept { .. } => return,
        Judged::Lost(words) | Judged::Torn(words) => words,
        Judged::Unreadable(words) => format!("not readable: {words}"),
    };
    if found.examples.len() < MOST_EXAMPLES {
        found.examples.push(Example { block: asked.block, expected: asked.expected, found: words });
    }
}

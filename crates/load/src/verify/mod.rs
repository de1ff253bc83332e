//! Verification: every sector that is written has a stamp, a ledger knows which writes of a block
//! may be there, reads of the load are checked as they come back, and after the load everything
//! that was written is read back.

mod back;
mod found;
mod judge;
pub(crate) mod ledger;

pub(crate) use back::{BackOrder, ReadBackPass};
pub use found::{BlockFault, Example, MOST_EXAMPLES, VerifiedBlocks, VerifiedWorker};
pub(crate) use ledger::Ledger;

use crate::data;
use crate::engine::io::Op;
use crate::engine::trial::EngineTrial;
use crate::offsets::Region;
use crate::random::Random;
use crate::stamp::STAMP;
use crate::{EngineName, Job, LoadError, clock};
use ledger::LedgerState;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of memory for the state of a block.
const WORD: u64 = 8;

/// Checks that a load thread does on its own I/Os.
pub(crate) struct VerifyChecks {
    pub(crate) ledger: Arc<Ledger>,
    /// State of the block of each slot when the read in it was issued.
    seen: Vec<LedgerState>,
    pub(crate) found: VerifiedBlocks,
}

impl VerifyChecks {
    pub(crate) fn new(ledger: Arc<Ledger>, slots: u32) -> VerifyChecks {
        VerifyChecks {
            ledger,
            seen: vec![LedgerState::default(); slots as usize],
            found: VerifiedBlocks::default(),
        }
    }

    /// Records a write that is about to be issued, and puts stamps on its data.
    #[inline]
    pub(crate) fn writes(&mut self, offset: u64, data: &mut [u8]) {
        self.ledger.issue(self.ledger.block_at(offset), data);
    }

    /// Records a read that is about to be issued.
    #[inline]
    pub(crate) fn reads(&mut self, slot: u32, offset: u64) {
        self.seen[slot as usize] = self.ledger.block_state(self.ledger.block_at(offset));
    }

    /// Records a read or a write that has moved all its bytes, and judges a read; `data` is what
    /// was read.
    #[inline]
    pub(crate) fn ended(&mut self, op: Op, slot: u32, offset: u64, data: &[u8]) {
        match op {
            Op::Write => self.ledger.end_write(self.ledger.block_at(offset)),
            Op::Read => {
                let block = self.ledger.block_at(offset);
                let before = self.seen[slot as usize];
                if before.first() == 0 {
                    self.found.unjudged += 1;
                } else {
                    self.ledger.judge(
                        block,
                        data,
                        before,
                        self.ledger.block_state(block),
                        &mut self.found,
                    );
                }
            }
            // A sync has no offset.
            _ => {}
        }
    }
}

/// Makes the ledgers of the jobs that verify, for each job and each of its targets, in the order of
/// `trials`. Jobs whose regions on a target overlap share a ledger.
///
/// # Errors
/// [`LoadError::Unfit`] if a job cannot be verified (see [`oddity`]), if blocks of overlapping jobs
/// could not be judged, or if the ledgers take more than a quarter of the machine's memory.
pub(crate) fn ledgers(
    trials: &[Vec<EngineTrial>],
    engine: EngineName,
) -> Result<Vec<Vec<Option<Arc<Ledger>>>>, LoadError> {
    let mut ledgers: Vec<Vec<Option<Arc<Ledger>>>> =
        trials.iter().map(|on_targets| on_targets.iter().map(|_| None).collect()).collect();
    let verifying = || trials.iter().flatten().filter(|trial| trial.job.verify);
    if verifying().next().is_none() {
        return Ok(ledgers);
    }
    verifying().try_for_each(|trial| fits(trial, engine))?;
    check_memory(verifying())?;
    for target in 0..trials[0].len() {
        let on_it: Vec<&EngineTrial> =
            trials.iter().map(|on_targets| &on_targets[target]).collect();
        for (jobs, ledger) in of_target(&on_it)? {
            jobs.into_iter().for_each(|job| ledgers[job][target] = Some(Arc::clone(&ledger)));
        }
    }
    Ok(ledgers)
}

fn fits(trial: &EngineTrial, engine: EngineName) -> Result<(), LoadError> {
    let why = match engine {
        EngineName::Null => {
            Some(("the engine null writes nothing that could be read back", "another engine"))
        }
        _ => oddity(trial.job),
    };
    why.map_or(Ok(()), |(why, hint)| Err(unfit(trial.job, &format!("{why}; hint: {hint}"))))
}

/// Returns the reason why a job with `verify` cannot be verified on any target, and a hint.
pub fn oddity(job: &Job) -> Option<(&'static str, &'static str)> {
    let piece = ledger::piece_of(job.bs).min(data::SECTOR);
    let kept = data::kept_of(piece, data::kept_bytes(job.buffer_compress_percentage));
    match () {
        () if job.rw.trims() => {
            Some(("what was trimmed cannot be read back", "a load without trims, or no verify"))
        }
        () if job.dedupe_percentage > 0 => {
            Some(("blocks with stamps are all different", "leave out dedupe_percentage, or verify"))
        }
        () if job.bs < STAMP as u64 => Some(("a stamp takes 32 bytes of a block", "a larger bs")),
        () if kept < STAMP => Some((
            "a stamp takes 32 random bytes of a sector",
            "a lower buffer_compress_percentage, of sectors of 512 bytes 93 at most",
        )),
        () => None,
    }
}

fn unfit(job: &Job, why: &str) -> LoadError {
    LoadError::Unfit(format!("job \"{}\" with verify: {why}", job.name))
}

fn check_memory<'a>(verifying: impl Iterator<Item = &'a EngineTrial<'a>>) -> Result<(), LoadError> {
    let bytes = verifying
        .map(|trial| blocks_in(span(trial), trial.job.bs).saturating_mul(WORD))
        .fold(0, u64::saturating_add);
    let memory = rustix::system::sysinfo();
    let quarter = memory.totalram as u64 * u64::from(memory.mem_unit) / 4;
    match bytes > quarter {
        true => Err(LoadError::Unfit(format!(
            "what verify must know takes {WORD} bytes a block, {bytes} in all, more than a quarter of this machine's memory; hint: a smaller size, or a larger bs"
        ))),
        false => Ok(()),
    }
}

/// Indexes of jobs, and the ledger that they share.
type BlockShare = (Vec<usize>, Arc<Ledger>);

fn of_target(on_it: &[&EngineTrial]) -> Result<Vec<BlockShare>, LoadError> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (job, trial) in on_it.iter().enumerate().filter(|(_, trial)| trial.job.verify) {
        for other in on_it.iter().filter(|other| overlap(trial, other)) {
            check_pair(trial, other)?;
        }
        // The job joins all groups that it overlaps.
        let touches = |group: &Vec<usize>| group.iter().any(|other| overlap(trial, on_it[*other]));
        let (near, far): (Vec<_>, Vec<_>) = groups.into_iter().partition(touches);
        groups = far;
        groups.push(near.into_iter().flatten().chain([job]).collect());
    }
    groups.into_iter().map(|group| ledger_of(on_it, group)).collect()
}

fn ledger_of(on_it: &[&EngineTrial], group: Vec<usize>) -> Result<BlockShare, LoadError> {
    let first = on_it[group[0]];
    if !group.iter().any(|job| on_it[*job].job.rw.writes()) {
        let why = format!(
            "rw={} reads what none of these jobs writes, so that nothing is known of it; hint: rw=randrw, or verify of the jobs that write there too",
            first.job.rw.word()
        );
        return Err(unfit(first.job, &why));
    }
    let spans = || group.iter().map(|job| span(on_it[*job]));
    let from = spans().map(|span| span.start).min().unwrap_or(0);
    let to = spans().map(|span| span.end).max().unwrap_or(0);
    let (bs, path) = (first.job.bs, first.target.path().to_owned());
    Ok((group, Arc::new(Ledger::new(path, new_writer(), from, bs, blocks_in(from..to, bs)))))
}

/// Checks that two jobs whose regions overlap, and the first of which verifies, can share a ledger:
/// the other verifies too, in the same blocks and with the same `direct`, or only reads.
fn check_pair(trial: &EngineTrial, other: &EngineTrial) -> Result<(), LoadError> {
    let (job, with) = (trial.job, other.job);
    let why = match () {
        () if !with.verify && with.rw.writes() => {
            "writes to the same region without verify; hint: verify for both"
        }
        () if !with.verify => return Ok(()),
        () if job.bs != with.bs || !is_aligned(trial, other) => {
            "has other blocks on the same region; hint: the same bs, and offsets that differ by multiples of it"
        }
        () if job.direct != with.direct => {
            "is on the same region with another direct, and the page cache may keep what is old; hint: the same direct"
        }
        () => return Ok(()),
    };
    Err(unfit(job, &format!("job \"{}\" {why}", with.name)))
}

/// Returns the regions in which the threads of a job read and write.
fn regions<'a>(trial: &'a EngineTrial) -> &'a [Region] {
    &trial.regions
}

/// Returns the bytes from the first region of a job to the end of its last.
fn span(trial: &EngineTrial) -> Range<u64> {
    let end = |region: &Region| region.offset + region.bs * region.blocks;
    let from = regions(trial).iter().map(|region| region.offset).min().unwrap_or(0);
    from..regions(trial).iter().map(end).max().unwrap_or(from)
}

fn blocks_in(span: Range<u64>, bs: u64) -> u64 {
    (span.end - span.start) / bs
}

fn overlap(a: &EngineTrial, b: &EngineTrial) -> bool {
    let (a, b) = (span(a), span(b));
    a.start < b.end && b.start < a.end
}

/// Returns true if all blocks of both jobs lie on one grid of the first job's block size.
fn is_aligned(a: &EngineTrial, b: &EngineTrial) -> bool {
    let first = span(a).start;
    let mut all = regions(a).iter().chain(regions(b));
    all.all(|region| region.offset.abs_diff(first) % a.job.bs == 0)
}

/// Returns a random number, made from keys of the system and the time, that no other ledger has,
/// here or in another run.
fn new_writer() -> u64 {
    let keys = RandomState::new().build_hasher().finish();
    Random::new(keys, clock::monotonic_ns()).next()
}

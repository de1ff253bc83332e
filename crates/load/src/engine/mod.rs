//! Engines: null, sync, aio, uring, posixaio. A new one is a file and an entry in [`ALL`]. An
//! engine knows nothing of slices, rates or latencies: it gets I/Os and returns completions.

mod aio;
mod choose;
mod null;
mod posixaio;
mod punt;
mod ring;
mod sync;
mod trim;
mod uring;

pub(crate) use choose::{EngineTrial, choose};
pub(crate) use trim::{Trimmer, check as check_trim};

use crate::cpu::ThreadCpu;
use crate::lane::{Resident, Setup};
use serde::{Deserialize, Serialize};
use std::io;

/// System interface that issues the I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Completes I/Os at once without a system call: measures the generator.
    Null,
    /// pread / pwrite, one I/O at a time a thread.
    Sync,
    /// io_submit and its kin, as libaio calls them.
    Aio,
    /// io_uring, with one ring per thread.
    Uring,
    /// Queue that feeds a thread, which does one I/O at a time, as in glibc.
    PosixAio,
}

/// The engine in use, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// Name of the engine.
    pub name: EngineName,
    /// Reason for the choice, as a clause: `named by the user`, `io_uring works here without worker
    /// threads`, ...
    pub why: String,
}

/// Entry of one engine in [`ALL`].
pub struct EngineFamily {
    /// Name of the engine.
    pub name: EngineName,
    /// Name as a word, as in scenario files.
    pub word: &'static str,
    /// I/Os that one thread can keep in flight: `Some(1)`, or `None` for as many as asked.
    pub depth: Option<u32>,
    /// Prepares a thread; the thread itself calls it.
    pub(crate) start: fn(Setup) -> io::Result<Box<dyn Resident>>,
}

/// Entries of all engines.
pub const ALL: &[&EngineFamily] =
    &[&null::KIND, &sync::KIND, &aio::KIND, &uring::KIND, &posixaio::KIND];

impl EngineName {
    /// Returns the engine's entry in [`ALL`].
    pub fn kind(self) -> &'static EngineFamily {
        match self {
            EngineName::Null => &null::KIND,
            EngineName::Sync => &sync::KIND,
            EngineName::Aio => &aio::KIND,
            EngineName::Uring => &uring::KIND,
            EngineName::PosixAio => &posixaio::KIND,
        }
    }
}

impl std::str::FromStr for EngineName {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = ALL.iter().find(|kind| kind.word == word);
        known.map(|kind| kind.name).ok_or_else(|| {
            let words: Vec<_> = ALL.iter().map(|kind| kind.word).collect();
            format!("no engine \"{word}\"; hint: one of {}", words.join(", "))
        })
    }
}

impl std::fmt::Display for EngineName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind().word)
    }
}

/// Operation of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Read,
    Write,
    Fsync,
    Fdatasync,
    /// Trim, which only the sync engine does: `choose` ensures that.
    Trim,
}

impl Op {
    pub(crate) fn is_sync(self) -> bool {
        matches!(self, Op::Fsync | Op::Fdatasync)
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Fsync => "fsync",
            Op::Fdatasync => "fdatasync",
            Op::Trim => "trim",
        }
    }
}

/// I/O to issue. `len` is 0 if the operation is a sync. `buffer` is unused for syncs and trims.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Io {
    pub(crate) op: Op,
    pub(crate) slot: u32,
    pub(crate) len: u32,
    pub(crate) offset: u64,
    pub(crate) buffer: *mut u8,
}

/// Completion of the I/O in a slot: bytes moved, or an errno below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) slot: u32,
    pub(crate) result: i32,
}

/// Time for which the kernel may lack memory for requests while no I/O ends. After that it counts
/// as the engine's failure.
const NO_MEMORY_NS: u64 = 10_000_000_000;

/// Number of I/Os that are handed over at once. A device that serves them in parallel starts on the
/// first ones while the others are still being made, so it gets few at a time. A target that has
/// done all of them when the submitting call returns (a page cache, a null device) gains nothing by
/// that, and pays for every call (docs/decisions/submit-batches.md).
#[derive(Clone, Copy, Debug)]
struct Batch {
    most: u32,
}

impl Batch {
    const FEW: u32 = 4;
    const MANY: u32 = 32;

    fn new() -> Batch {
        Batch { most: Batch::FEW }
    }

    #[inline]
    fn most(self) -> u32 {
        self.most
    }

    /// Adapts the size after some I/Os were handed over. `idle` is true if nothing is in flight
    /// after that call, neither these I/Os nor any before them.
    #[inline]
    fn handed_over(&mut self, idle: bool) {
        self.most = if idle { (self.most * 2).min(Batch::MANY) } else { Batch::FEW };
    }
}

/// Issues I/Os on one open file for one thread.
pub(crate) trait Engine {
    /// Takes an I/O, which is handed to the kernel now or at the next `reap`.
    ///
    /// # Safety
    /// `io.buffer` must be valid for `io.len` bytes, and be left alone, until the completion of
    /// its slot came out of `reap`. No slot is in flight twice.
    unsafe fn submit(&mut self, io: &Io);

    /// Appends completions to `done`: waits for the first of them until `until_ns` of the clock
    /// (`None`: forever) and takes all that are there. May return without any, but not before
    /// `until_ns`.
    ///
    /// # Errors
    /// When the interface itself fails, not an I/O.
    fn reap(&mut self, until_ns: Option<u64>, done: &mut Vec<Completion>) -> io::Result<()>;

    /// Returns features that would have made its I/Os cheaper and that a system call or a limit
    /// refused, in words.
    fn lacks(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns the CPU time of the engine's own threads since they began. Nothing is in flight.
    fn helpers_cpu(&mut self) -> ThreadCpu {
        ThreadCpu::default()
    }
}

/// Moves all completions to `done`: by a swap if it is empty, as it is in the loop.
#[inline]
fn take_all(from: &mut Vec<Completion>, done: &mut Vec<Completion>) {
    if done.is_empty() {
        std::mem::swap(from, done);
    } else {
        done.append(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        for kind in ALL {
            assert_eq!(kind.word.parse(), Ok(kind.name));
            assert_eq!(kind.name.kind().word, kind.word);
            assert_eq!(kind.name.to_string(), kind.word);
            assert_eq!(format!("{:?}", kind.name).to_lowercase(), kind.word);
            assert_eq!(ALL.iter().filter(|k| k.word == kind.word).count(), 1);
        }
    }

    #[test]
    fn what_ends_within_the_call_is_handed_over_in_larger_batches() {
        let mut batch = Batch::new();
        let mut told = vec![batch.most()];
        for idle in [true, true, true, true, false, false] {
            batch.handed_over(idle);
            told.push(batch.most());
        }
        assert_eq!(told, [4, 8, 16, 32, 32, 4, 4]);
    }

    #[test]
    fn an_unknown_engine_is_answered_with_the_known() {
        let error = "libaio".parse::<EngineName>().unwrap_err();
        assert_eq!(error, "no engine \"libaio\"; hint: one of null, sync, aio, uring, posixaio");
    }
}

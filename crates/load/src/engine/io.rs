//! I/Os as a load thread and its engine exchange them, and what the engines share.

use crate::cpu::ThreadCpu;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Read,
    Write,
    Fsync,
    Fdatasync,
    /// Trim, which only the engines sync and null get: `choose` ensures that.
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

/// Completion of the I/O in a slot. `result` is the number of bytes moved, or an errno below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) slot: u32,
    pub(crate) result: i32,
}

/// Time for which the kernel may lack memory for requests while no I/O ends. After that, uring
/// fails as an engine, and aio counts the I/O as failed.
pub(super) const NO_MEMORY_NS: u64 = 10_000_000_000;

/// Number of I/Os that are handed to the kernel at once. A device that serves them in parallel
/// starts on the first ones while the others are still being made, so it gets few at a time. A
/// target that has done all of them when the submitting call returns (a page cache, a null device)
/// gains nothing by that, and pays for every call, so it gets many
/// (docs/decisions/submit-batches.md).
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    most: u32,
}

impl Batch {
    const FEW: u32 = 4;
    const MANY: u32 = 32;

    pub(super) fn new() -> Batch {
        Batch { most: Batch::FEW }
    }

    #[inline]
    pub(super) fn most(self) -> u32 {
        self.most
    }

    /// Adapts the size after some I/Os were handed over. `idle` is true if nothing is in flight
    /// after that call, neither these I/Os nor any before them.
    #[inline]
    pub(super) fn handed_over(&mut self, idle: bool) {
        self.most = if idle { (self.most * 2).min(Batch::MANY) } else { Batch::FEW };
    }
}

/// Issues I/Os on one open file for one thread.
pub(crate) trait Engine {
    /// Takes an I/O, which is handed to the kernel now or at the next `reap_completions`.
    ///
    /// # Safety
    /// `io.buffer` must be valid for `io.len` bytes, and be left alone, until the completion of
    /// its slot came out of `reap_completions`. No slot is in flight twice.
    unsafe fn submit_io(&mut self, io: &Io);

    /// Appends completions to `done`: waits for the first of them until `until_ns` of the clock
    /// (`None`: forever) and takes all that are there. May return without any, but not before
    /// `until_ns`.
    ///
    /// # Errors
    /// When the interface itself fails, not an I/O.
    fn reap_completions(
        &mut self,
        until_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> io::Result<()>;

    /// Returns, in words, the features that would make I/Os cheaper but that the kernel or a limit
    /// refused.
    fn missing_features(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns the CPU time of the engine's own threads since they began. Called only while nothing
    /// is in flight.
    fn helpers_cpu(&mut self) -> ThreadCpu {
        ThreadCpu::default()
    }
}

/// Moves all completions to `done`: by a swap if that is empty, as it is in the loop of a slice.
#[inline]
pub(super) fn take_all(from: &mut Vec<Completion>, done: &mut Vec<Completion>) {
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
    fn what_ends_within_the_call_is_handed_over_in_larger_batches() {
        let mut batch = Batch::new();
        let mut sizes = vec![batch.most()];
        for idle in [true, true, true, true, false, false] {
            batch.handed_over(idle);
            sizes.push(batch.most());
        }
        assert_eq!(sizes, [4, 8, 16, 32, 32, 4, 4]);
    }
}

//! uring engine: io_uring with registered file and buffers, and one enter per batch that both
//! submits and reaps. It does without features that an older kernel or a memory limit refuses.

use super::family::EngineFamily;
use super::io::{Batch, Completion, Engine, Io, NO_MEMORY_NS, Op};
use super::name::EngineName;
use super::punt::Workers;
use super::ring::{Ring, SubmissionEntry};
use crate::clock;
use crate::cpu::ThreadCpu;
use crate::lane::{Lane, Setup};
use rustix::io_uring::{IoringFsyncFlags, IoringOp, IoringSetupFlags, IoringSqeFlags};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Maximum number of bytes that the kernel registers as one buffer.
const MAX_REGISTERED: usize = 1 << 30;

pub(super) const KIND: EngineFamily = EngineFamily {
    name: EngineName::Uring,
    word: "uring",
    depth: None,
    start: |setup: Setup| {
        let depth = setup.depth;
        let named = |error: io::Error| io::Error::new(error.kind(), format!("io_uring: {error}"));
        Lane::boxed(setup, |file, memory| Uring::new(file, depth, memory).map_err(named))
    },
};

pub(crate) struct Uring {
    // Dropped before the file, which it releases first.
    ring: Ring,
    /// File that stays open until the ring is gone.
    _file: File,
    /// Number that names the file in entries: 0 if it is registered, else its descriptor.
    fd: i32,
    flags: u8,
    read: u8,
    write: u8,
    /// Number of entries since the last enter.
    queued: u32,
    /// Number of I/Os that were submitted and whose completions were not taken yet.
    under_way: u32,
    batch: Batch,
    workers: Workers,
    /// Time since which the kernel has had no memory for requests, and no I/O has ended.
    short_since_ns: Option<u64>,
}

impl Uring {
    /// Creates the ring, and registers the file and the memory (start and length in bytes) if the
    /// kernel accepts them. Must be called in the thread that will use the ring: a single issuer is
    /// bound to its thread.
    ///
    /// # Errors
    /// When the kernel has no io_uring, forbids it, or has no memory for it.
    pub(crate) fn new(file: File, depth: u32, memory: (*mut u8, usize)) -> io::Result<Uring> {
        let (base, length) = memory;
        let ring = build(depth)?;
        let (fd, flags) = match ring.register_file(&file) {
            true => (0, IoringSqeFlags::FIXED_FILE.bits()),
            false => (file.as_raw_fd(), 0),
        };
        // SAFETY: the memory belongs to the lane, which drops the ring before it, or abandons it.
        let fixed_memory =
            length <= MAX_REGISTERED && unsafe { ring.register_memory(base, length) };
        let (read, write) = match fixed_memory {
            true => (IoringOp::ReadFixed, IoringOp::WriteFixed),
            false => (IoringOp::Read, IoringOp::Write),
        };
        let (read, write) = (read as u8, write as u8);
        let (batch, workers) = (Batch::new(), Workers::of_this_thread());
        Ok(Uring {
            ring,
            _file: file,
            fd,
            flags,
            read,
            write,
            queued: 0,
            under_way: 0,
            batch,
            workers,
            short_since_ns: None,
        })
    }

    #[inline(always)]
    fn entry(&self, io: &Io) -> SubmissionEntry {
        let (opcode, op_flags) = match io.op {
            Op::Read => (self.read, 0),
            Op::Write => (self.write, 0),
            Op::Fsync => (IoringOp::Fsync as u8, 0),
            Op::Fdatasync => (IoringOp::Fsync as u8, IoringFsyncFlags::DATASYNC.bits()),
            Op::Trim => unreachable!("only the sync engine trims"),
        };
        // A sync without offset and length applies to the whole file.
        let (offset, address) =
            if io.op.is_sync() { (0, 0) } else { (io.offset, io.buffer as u64) };
        SubmissionEntry {
            flags: self.flags,
            offset,
            address,
            len: io.len,
            op_flags,
            ..SubmissionEntry::new(opcode, self.fd, u64::from(io.slot))
        }
    }

    /// Hands over the queued entries and waits for a completion until [`clock::SPIN_NS`] before
    /// `until_ns` (`None`: without limit), by at most one enter. After that time it does not wait.
    #[inline]
    fn enter(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        self.queued = 0;
        let Some(until_ns) = until_ns else {
            let entered = self.ring.enter(1, None);
            return self.forgive(entered);
        };
        let left_ns = until_ns.saturating_sub(clock::monotonic_ns());
        if self.ring.can_wait_until() && left_ns > clock::SPIN_NS {
            let entered = self.ring.enter(1, Some(timespec(left_ns - clock::SPIN_NS)));
            return self.forgive(entered);
        }
        // Near its end the wait spins. The kernel raises a flag when it has a completion to post,
        // so that spinning needs no system call.
        if !self.ring.wants_enter() {
            std::hint::spin_loop();
            return Ok(());
        }
        let entered = self.ring.enter(0, None);
        self.forgive(entered)
    }

    /// Ignores errors of an enter that are not failures: a signal, a full completion queue, the end
    /// of the wait's time and, for up to [`NO_MEMORY_NS`], a lack of memory.
    #[inline]
    fn forgive(&mut self, entered: io::Result<()>) -> io::Result<()> {
        match entered {
            Ok(()) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR | libc::EBUSY | libc::ETIME) => Ok(()),
                Some(libc::EAGAIN) => self.wait_for_memory(error),
                _ => Err(error),
            },
        }
    }

    /// Yields once, since I/Os in flight will free memory for requests. Returns `error` if memory
    /// has been missing for more than [`NO_MEMORY_NS`] without an I/O ending.
    #[cold]
    fn wait_for_memory(&mut self, error: io::Error) -> io::Result<()> {
        let now_ns = clock::monotonic_ns();
        if now_ns.saturating_sub(*self.short_since_ns.get_or_insert(now_ns)) > NO_MEMORY_NS {
            return Err(error);
        }
        std::thread::yield_now();
        Ok(())
    }
}

impl Engine for Uring {
    #[inline(always)]
    unsafe fn submit_io(&mut self, io: &Io) {
        let entry = self.entry(io);
        // SAFETY: the caller keeps the buffer valid until the completion; the file lives as long
        // as the ring, which was made for all slots, and no slot is in flight twice.
        unsafe { self.ring.push(&entry) };
        self.queued += 1;
        self.under_way += 1;
        if self.queued >= self.batch.most() {
            // Entries that the kernel does not take now go with the next enter, which reports its
            // error.
            let _ = self.ring.enter(0, None);
            self.batch.handed_over(self.ring.waiting() == self.under_way);
            self.queued = 0;
        }
    }

    #[inline]
    fn reap_completions(
        &mut self,
        until_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        loop {
            self.enter(until_ns)?;
            let before = done.len();
            self.ring.take_completions(|slot, result| {
                done.push(Completion { slot: slot as u32, result })
            });
            if done.len() > before {
                self.under_way -= (done.len() - before) as u32;
                self.short_since_ns = None;
            }
            if !done.is_empty()
                || until_ns.is_some_and(|until_ns| clock::monotonic_ns() >= until_ns)
            {
                return Ok(());
            }
        }
    }

    fn missing_features(&self) -> Vec<&'static str> {
        let all = [
            (self.flags != 0, "a registered file"),
            (
                self.read == IoringOp::ReadFixed as u8,
                "registered buffers (more than 1 GiB, or RLIMIT_MEMLOCK)",
            ),
            (self.ring.is_registered(), "a registered ring (Linux 5.18)"),
            (self.ring.is_deferred(), "DEFER_TASKRUN (Linux 6.1)"),
        ];
        all.into_iter().filter(|(has, _)| !has).map(|(_, what)| what).collect()
    }

    fn helpers_cpu(&mut self) -> ThreadCpu {
        self.workers.cpu()
    }
}

/// Creates a ring with the flags that make completions cheapest, or with fewer if the kernel does
/// not know them.
fn build(depth: u32) -> io::Result<Ring> {
    // Since 6.1 completions can be processed in our own enter, and never interrupt it. The second
    // set of flags needs 5.19; older kernels know neither.
    let flagged = IoringSetupFlags::COOP_TASKRUN | IoringSetupFlags::TASKRUN_FLAG;
    let deferred = flagged | IoringSetupFlags::SINGLE_ISSUER | IoringSetupFlags::DEFER_TASKRUN;
    let mut refused = None;
    for flags in [deferred, flagged, IoringSetupFlags::empty()] {
        match Ring::new(depth, flags) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refused = Some(error),
            built => return built,
        }
    }
    Err(refused.unwrap_or_else(|| io::ErrorKind::Unsupported.into()))
}

fn timespec(ns: u64) -> libc::timespec {
    let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    libc::timespec { tv_sec: seconds as libc::time_t, tv_nsec: rest as libc::c_long }
}

//! The uring engine: io_uring with registered file and buffers, one enter a batch that both
//! submits and reaps. What an older kernel or a memory limit refuses is done without.

use super::{Batch, Completion, Engine, EngineName, Io, Kind, Op};
use crate::clock;
use crate::lane::{Lane, Setup};
use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{Builder, IoUring, opcode, squeue};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The kernel registers at most so many bytes as one buffer.
const MAX_REGISTERED: usize = 1 << 30;

pub(super) const KIND: Kind = Kind {
    name: EngineName::Uring,
    word: "uring",
    help: "io_uring, one system call a batch",
    depth: None,
    start: |setup: Setup| {
        let depth = setup.depth;
        let named = |error: io::Error| io::Error::new(error.kind(), format!("io_uring: {error}"));
        Lane::boxed(setup, |file, memory| Uring::new(file, depth, memory).map_err(named))
    },
};

/// A ring for one file and one stretch of memory.
pub(crate) struct Uring {
    ring: IoUring,
    file: File,
    fixed_file: bool,
    fixed_buffers: bool,
    timed_wait: bool,
    /// Entries since the last enter.
    queued: u32,
    batch: Batch,
}

/// An entry of opcode `$kind`: the crate's types of a registered and a plain file have no common
/// public name.
macro_rules! on_file {
    ($uring:expr, $kind:ident $(, $argument:expr)*) => {
        if $uring.fixed_file {
            opcode::$kind::new(Fixed(0) $(, $argument)*)
        } else {
            opcode::$kind::new(Fd($uring.file.as_raw_fd()) $(, $argument)*)
        }
    };
}

impl Uring {
    /// Must be called in the thread that will use it: a single issuer is bound to its thread.
    ///
    /// # Errors
    /// When the kernel has no io_uring, forbids it, or has no memory for it.
    pub(crate) fn new(file: File, depth: u32, memory: (*mut u8, usize)) -> io::Result<Uring> {
        let ring = build(depth)?;
        let fixed_file = ring.submitter().register_files(&[file.as_raw_fd()]).is_ok();
        let timed_wait = ring.params().is_feature_ext_arg();
        let fixed_buffers = register(&ring, memory);
        Ok(Uring { ring, file, fixed_file, fixed_buffers, timed_wait, queued: 0, batch: Batch::new() })
    }

    fn entry(&self, io: &Io) -> squeue::Entry {
        let (at, buffer, len) = (io.offset, io.buffer, io.len);
        let entry = match (io.op, self.fixed_buffers) {
            (Op::Read, true) => on_file!(self, ReadFixed, buffer, len, 0).offset(at).build(),
            (Op::Read, false) => on_file!(self, Read, buffer, len).offset(at).build(),
            (Op::Write, true) => on_file!(self, WriteFixed, buffer, len, 0).offset(at).build(),
            (Op::Write, false) => on_file!(self, Write, buffer, len).offset(at).build(),
            (Op::Fsync, _) => on_file!(self, Fsync).build(),
            (Op::Trim, _) => unreachable!("only the sync engine trims"),
            (Op::Fdatasync, _) => on_file!(self, Fsync).flags(FsyncFlags::DATASYNC).build(),
        };
        entry.user_data(u64::from(io.slot))
    }

    /// One enter, at most: hands over what is queued and waits as long as it may.
    fn enter(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        self.queued = 0;
        let Some(until_ns) = until_ns else {
            return forgive(self.ring.submitter().submit_and_wait(1));
        };
        let left_ns = until_ns.saturating_sub(clock::now());
        if self.timed_wait && left_ns > clock::SPIN_NS {
            let time = timespec(left_ns - clock::SPIN_NS);
            let args = SubmitArgs::new().timespec(&time);
            return forgive(self.ring.submitter().submit_with_args(1, &args));
        }
        // Near its end the wait is spun. The kernel raises a flag when it has a completion to
        // post, so that spinning needs no system call.
        let queue = self.ring.submission();
        if queue.is_empty() && !queue.taskrun() && !queue.cq_overflow() {
            std::hint::spin_loop();
            return Ok(());
        }
        drop(queue);
        forgive(self.ring.submitter().submit())
    }
}

impl Engine for Uring {
    #[inline]
    unsafe fn submit(&mut self, io: &Io) {
        let entry = self.entry(io);
        // SAFETY: the caller keeps the buffer valid until the completion; the file lives as long
        // as the ring.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        // The ring was made for all slots, and no slot is in flight twice.
        debug_assert!(pushed.is_ok());
        self.queued += 1;
        if self.queued >= self.batch.most() {
            let before = self.ring.completion().len();
            // What the kernel does not take now goes with the next enter, which tells its error.
            let _ = self.ring.submitter().submit();
            let ended = self.ring.completion().len().saturating_sub(before);
            self.batch.handed_over(self.queued, ended as u32);
            self.queued = 0;
        }
    }

    #[inline]
    fn reap(&mut self, until_ns: Option<u64>, done: &mut Vec<Completion>) -> io::Result<()> {
        loop {
            self.enter(until_ns)?;
            for entry in self.ring.completion() {
                let (slot, result) = (entry.user_data() as u32, entry.result());
                done.push(Completion { slot, result });
            }
            if !done.is_empty() || until_ns.is_some_and(|until_ns| clock::now() >= until_ns) {
                return Ok(());
            }
        }
    }
}

/// Asks for the flags that make completions cheapest first, then for less.
fn build(depth: u32) -> io::Result<IoUring> {
    let wishes: [fn(&mut Builder) -> &mut Builder; 3] = [
        // 6.1: completions are worked off in our own enter, never by an interrupt of it.
        |builder| {
            let builder = builder.setup_single_issuer().setup_defer_taskrun();
            builder.setup_coop_taskrun().setup_taskrun_flag()
        },
        // 5.19.
        |builder| builder.setup_coop_taskrun().setup_taskrun_flag(),
        |builder| builder,
    ];
    let mut refused = None;
    for wish in wishes {
        let mut builder = IoUring::builder();
        match wish(&mut builder).build(depth) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refused = Some(error),
            built => return built,
        }
    }
    Err(refused.unwrap_or_else(|| io::ErrorKind::Unsupported.into()))
}

/// Registers all memory as one buffer; a limit (RLIMIT_MEMLOCK) or an old kernel may refuse.
fn register(ring: &IoUring, (base, length): (*mut u8, usize)) -> bool {
    let whole = libc::iovec { iov_base: base.cast(), iov_len: length };
    // SAFETY: the memory belongs to the lane, which drops the ring before it, or abandons it.
    let register = || unsafe { ring.submitter().register_buffers(&[whole]) };
    length <= MAX_REGISTERED && register().is_ok()
}

/// The ends of an enter that are no failure: a signal, a full completion queue, the wait's time.
fn forgive(entered: io::Result<usize>) -> io::Result<()> {
    match entered {
        Ok(_) => Ok(()),
        Err(error) => match error.raw_os_error() {
            Some(libc::EINTR | libc::EBUSY | libc::ETIME) => Ok(()),
            // The kernel is short of memory for requests: what is in flight will free some.
            Some(libc::EAGAIN) => {
                std::thread::yield_now();
                Ok(())
            }
            _ => Err(error),
        },
    }
}

fn timespec(ns: u64) -> Timespec {
    let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    Timespec::new().sec(seconds).nsec(rest as u32)
}

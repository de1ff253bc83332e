//! posixaio engine: the counterpart of fio's posixaio on Linux. glibc serves aio_read and related
//! calls by threads of the process, and all requests of one descriptor by one thread, one after the
//! other. So the depth is a queue that feeds a thread, which does one I/O at a time.

use super::family::EngineFamily;
use super::io::{Completion, Engine, Io, Op, take_all};
use super::name::EngineName;
use crate::clock;
use crate::cpu::ThreadCpu;
use crate::lane::{Lane, Setup};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub(super) const KIND: EngineFamily = EngineFamily {
    name: EngineName::PosixAio,
    word: "posixaio",
    depth: None,
    start: |setup: Setup| {
        let depth = setup.depth;
        Lane::boxed(setup, |file, _| PosixAio::new(file, depth))
    },
};

struct PosixAio {
    shared: Arc<SharedQueue>,
    helper: Option<JoinHandle<()>>,
    /// Number of I/Os that were submitted and not reaped.
    in_flight: usize,
}

struct SharedQueue {
    state: Mutex<RequestState>,
    /// Signals to the helper that there is a request, a wish for its CPU time, or an end.
    work: Condvar,
    /// Signals to the lane that there are completions to reap, or the helper's CPU time.
    ended: Condvar,
}

struct RequestState {
    queued: VecDeque<QueuedRequest>,
    done: Vec<Completion>,
    /// True if the helper's CPU time is wanted; `cpu` then receives it.
    cpu_asked: bool,
    cpu: Option<ThreadCpu>,
    over: bool,
}

struct QueuedRequest(Io);

// SAFETY: the submitter of an I/O leaves its buffer alone until the completion was reaped, so the
// helper owns it until then.
unsafe impl Send for QueuedRequest {}

impl SharedQueue {
    /// Locks the state, even if the helper panicked: it only pushes and takes, so the state is
    /// consistent.
    fn lock(&self) -> MutexGuard<'_, RequestState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PosixAio {
    fn new(file: File, depth: u32) -> io::Result<PosixAio> {
        let depth = depth as usize;
        let state = RequestState {
            queued: VecDeque::with_capacity(depth),
            done: Vec::with_capacity(depth),
            cpu_asked: false,
            cpu: None,
            over: false,
        };
        let shared = Arc::new(SharedQueue {
            state: Mutex::new(state),
            work: Condvar::new(),
            ended: Condvar::new(),
        });
        let theirs = shared.clone();
        let helper = std::thread::Builder::new().name("iotax-posixaio".into());
        let helper = helper.spawn(move || serve(&file, &theirs))?;
        Ok(PosixAio { shared, helper: Some(helper), in_flight: 0 })
    }
}

/// Serves requests in the helper until the engine is dropped.
fn serve(file: &File, shared: &SharedQueue) {
    let mut state = shared.lock();
    while !state.over {
        if std::mem::take(&mut state.cpu_asked) {
            state.cpu = Some(ThreadCpu::of_thread());
            shared.ended.notify_one();
        }
        let Some(QueuedRequest(io)) = state.queued.pop_front() else {
            state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        drop(state);
        // SAFETY: the submitter keeps the buffer valid, and leaves it alone, until the completion
        // was reaped.
        let result = unsafe { issue(file, &io) };
        state = shared.lock();
        state.done.push(Completion { slot: io.slot, result });
        shared.ended.notify_one();
    }
}

/// Issues one I/O, and returns the bytes moved or an errno below zero.
///
/// # Safety
/// `io.buffer` is valid for `io.len` bytes and nobody else uses it.
unsafe fn issue(file: &File, io: &Io) -> i32 {
    let (fd, len, at) = (file.as_raw_fd(), io.len as usize, io.offset as libc::off_t);
    loop {
        let moved = match io.op {
            // SAFETY: given by the caller.
            Op::Read => unsafe { libc::pread(fd, io.buffer.cast(), len, at) },
            // SAFETY: given by the caller.
            Op::Write => unsafe { libc::pwrite(fd, io.buffer.cast(), len, at) },
            // SAFETY: the descriptor is the file's.
            Op::Fsync => unsafe { libc::fsync(fd) as isize },
            Op::Trim => unreachable!("only the sync engine trims"),
            // SAFETY: the descriptor is the file's.
            Op::Fdatasync => unsafe { libc::fdatasync(fd) as isize },
        };
        match io::Error::last_os_error().raw_os_error() {
            _ if moved >= 0 => return moved as i32,
            Some(libc::EINTR) => {}
            error => return -error.unwrap_or(libc::EIO),
        }
    }
}

impl Engine for PosixAio {
    unsafe fn submit_io(&mut self, io: &Io) {
        self.in_flight += 1;
        self.shared.lock().queued.push_back(QueuedRequest(*io));
        self.shared.work.notify_one();
    }

    fn reap_completions(
        &mut self,
        until_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        let mut state = self.shared.lock();
        while state.done.is_empty() {
            if self.helper.as_ref().is_none_or(JoinHandle::is_finished) {
                return Err(io::Error::other("the thread that does the I/O has ended"));
            }
            let left_ns = until_ns.map_or(TICK_NS, |until_ns| {
                until_ns.saturating_sub(clock::monotonic_ns()).min(TICK_NS)
            });
            if left_ns == 0 {
                break;
            }
            // Near its end the wait spins, because a sleep ends late.
            if left_ns <= clock::SPIN_NS {
                drop(state);
                std::hint::spin_loop();
                state = self.shared.lock();
                continue;
            }
            let left_ns = left_ns - clock::SPIN_NS;
            let waited = self.shared.ended.wait_timeout(state, Duration::from_nanos(left_ns));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.in_flight -= state.done.len();
        take_all(&mut state.done, done);
        Ok(())
    }

    fn helpers_cpu(&mut self) -> ThreadCpu {
        let mut state = self.shared.lock();
        state.cpu_asked = true;
        self.shared.work.notify_one();
        loop {
            if let Some(cpu) = state.cpu.take() {
                return cpu;
            }
            if self.helper.as_ref().is_none_or(JoinHandle::is_finished) {
                return ThreadCpu::default();
            }
            let waited = self.shared.ended.wait_timeout(state, Duration::from_nanos(TICK_NS));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Interval at which a waiting thread checks that the helper lives.
const TICK_NS: u64 = 1_000_000_000;

impl Drop for PosixAio {
    /// Discards the queued requests and ends the helper. Waits for its end only if no I/O is in
    /// flight: another may never come back, and the lane leaves its buffer mapped.
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.over = true;
        state.queued.clear();
        drop(state);
        self.shared.work.notify_one();
        if let (0, Some(helper)) = (self.in_flight, self.helper.take()) {
            let _ = helper.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posixaio(depth: u32) -> (tempfile::NamedTempFile, PosixAio) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; 64 << 10]).unwrap();
        let opened = File::options().read(true).write(true).open(file.path()).unwrap();
        (file, PosixAio::new(opened, depth).unwrap())
    }

    fn io(op: Op, slot: u32, buffer: &mut [u8]) -> Io {
        let len = if op.is_sync() { 0 } else { buffer.len() as u32 };
        Io { op, slot, len, offset: u64::from(slot) * 4096, buffer: buffer.as_mut_ptr() }
    }

    #[test]
    fn all_come_back_in_the_order_in_which_they_were_queued() {
        let (_file, mut engine) = posixaio(8);
        let mut memory = [[0u8; 4096]; 8];
        for _ in 0..20 {
            for (slot, buffer) in memory.iter_mut().enumerate() {
                // SAFETY: the buffer lives until all have been reaped below.
                unsafe { engine.submit_io(&io(Op::Read, slot as u32, buffer)) };
            }
            let mut done = Vec::new();
            while done.len() < 8 {
                engine.reap_completions(None, &mut done).unwrap();
            }
            assert!(
                done.iter()
                    .enumerate()
                    .all(|(at, one)| (one.slot, one.result) == (at as u32, 4096))
            );
        }
        assert!(memory.iter().flatten().all(|byte| *byte == 7));
        assert_eq!(engine.in_flight, 0);
    }

    #[test]
    fn syncs_come_back_and_what_is_refused_has_its_error() {
        let (_file, mut engine) = posixaio(4);
        let mut memory = [0u8; 4096];
        let mut beyond = io(Op::Read, 3, &mut memory);
        beyond.offset = 1 << 20;
        let mut odd = beyond;
        (odd.slot, odd.offset) = (2, u64::MAX);
        let ios = [io(Op::Write, 0, &mut memory), io(Op::Fsync, 1, &mut []), odd, beyond];
        // SAFETY: the memory lives until all have been reaped, one I/O is done at a time.
        ios.iter().for_each(|io| unsafe { engine.submit_io(io) });
        let mut done = Vec::new();
        while done.len() < 4 {
            engine.reap_completions(None, &mut done).unwrap();
        }
        let results: Vec<_> = done.iter().map(|one| one.result).collect();
        assert_eq!(results, [4096, 0, -libc::EINVAL, 0]);
    }

    #[test]
    fn a_wait_without_anything_in_flight_ends_at_its_time() {
        let (_file, mut engine) = posixaio(1);
        let (until_ns, mut done) = (clock::monotonic_ns() + 3_000_000, Vec::new());
        engine.reap_completions(Some(until_ns), &mut done).unwrap();
        assert!(done.is_empty() && clock::monotonic_ns() >= until_ns);
    }

    #[test]
    fn dropped_with_ios_in_flight_it_does_not_wait_for_them() {
        let (_file, mut engine) = posixaio(2);
        let shared = engine.shared.clone();
        // The engine believes that the first I/O never came back.
        engine.in_flight = 1;
        // The helper may have begun with it, and nobody waits for that.
        let memory = Box::leak(vec![0u8; 4096].into_boxed_slice());
        let held = shared.lock();
        let dropping = std::thread::scope(|scope| {
            let queued = QueuedRequest(io(Op::Read, 1, memory));
            let dropping = scope.spawn(move || drop(engine));
            let mut held = held;
            held.queued.push_back(queued);
            drop(held);
            dropping.join()
        });
        dropping.unwrap();
        let state = shared.lock();
        assert!(state.over && state.queued.is_empty());
    }

    #[test]
    fn the_cpu_of_the_helper_is_told() {
        let (_file, mut engine) = posixaio(1);
        let mut memory = vec![0u8; 32 << 10];
        let before = engine.helpers_cpu();
        let spent = |engine: &mut PosixAio| engine.helpers_cpu().since(before);
        while spent(&mut engine) == ThreadCpu::default() {
            // SAFETY: the buffer lives until the I/O has been reaped.
            unsafe { engine.submit_io(&io(Op::Read, 0, &mut memory)) };
            let mut done = Vec::new();
            engine.reap_completions(None, &mut done).unwrap();
        }
        assert!(spent(&mut engine).user_ns + spent(&mut engine).system_ns > 0);
    }
}

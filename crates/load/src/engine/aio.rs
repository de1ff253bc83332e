//! aio engine: the system calls of libaio, for kernels without io_uring and for targets whose I/Os
//! io_uring hands to worker threads. Without O_DIRECT the kernel does each I/O within the call that
//! submits it, so its real depth is one.
//!
//! Completions are read off the ring that the kernel maps into the process (include/linux/aio_abi.h
//! and fs/aio.c of Linux), without a system call, if that ring has the known layout. Otherwise
//! io_getevents returns them.

use super::family::EngineFamily;
use super::io::{Batch, Completion, Engine, Io, NO_MEMORY_NS, Op};
use super::name::EngineName;
use crate::clock;
use crate::lane::{Lane, Setup};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) const KIND: EngineFamily = EngineFamily {
    name: EngineName::Aio,
    word: "aio",
    depth: None,
    start: |setup: Setup| {
        let depth = setup.depth;
        Lane::boxed(setup, |file, _| Aio::new(file, depth))
    },
};

/// Control block of an I/O (`struct iocb` of the kernel's aio_abi.h), for either byte order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct ControlBlock {
    data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    rw_flags: u32,
    #[cfg(target_endian = "big")]
    key: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// Result of a control block (`struct io_event`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct AioEvent {
    data: u64,
    block: u64,
    result: i64,
    more: i64,
}

/// Header of the mapped ring, which the events follow.
#[repr(C)]
struct Header {
    id: u32,
    events: u32,
    /// Index of the next event to be read; the reader writes it.
    head: AtomicU32,
    /// Index at which the kernel puts the next event.
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    length: u32,
}

const MAGIC: u32 = 0xa10a_10a1;

const READ: u16 = 0;
const WRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDATASYNC: u16 = 3;

/// AIO context, as the address at which the kernel maps its completion ring. Dropping it destroys
/// the context, which waits for the I/Os in flight.
struct Context(libc::c_ulong);

impl Context {
    fn new(depth: u32) -> io::Result<Context> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes one context, into a variable of its size.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, depth, &mut context) };
        if made == 0 {
            return Ok(Context(context));
        }
        let error = io::Error::last_os_error();
        let hint = match error.raw_os_error() {
            Some(libc::EAGAIN) => "; hint: /proc/sys/fs/aio-max-nr bounds all of the machine's",
            Some(libc::ENOSYS) => "; hint: this kernel was built without CONFIG_AIO",
            _ => "",
        };
        Err(io::Error::new(error.kind(), format!("io_setup for {depth} I/Os: {error}{hint}")))
    }

    /// Returns the header of the mapped ring, if its layout is known.
    fn ring(&self) -> Option<&Header> {
        // SAFETY: the context is the address of the mapping, which begins with the header and lasts
        // until io_destroy, at the end of `self`. The fields that the kernel changes (head, tail)
        // are atomic.
        let header = unsafe { &*(self.0 as *const Header) };
        let known = header.magic == MAGIC
            && header.incompatible == 0
            && header.length as usize == size_of::<Header>()
            && header.events > 0;
        known.then_some(header)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is ours and is not used again.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

/// Checks that the kernel has the system calls of libaio, and room for one more context.
///
/// # Errors
/// The kernel's error, with a hint if it is a known one.
pub(super) fn is_here() -> io::Result<()> {
    Context::new(1).map(drop)
}

struct Aio {
    context: Context,
    file: File,
    mapped: bool,
    /// Control block of each slot. Pointers to them are used only until the kernel has taken the
    /// blocks.
    blocks: Vec<ControlBlock>,
    /// Slots whose I/Os the kernel has not taken yet.
    queued: Vec<u32>,
    /// Addresses of the control blocks of the queued slots, made anew for each call of io_submit.
    pointers: Vec<*const ControlBlock>,
    /// Completions of I/Os that the kernel refused when they were submitted; its ring has none for
    /// these.
    ended: Vec<Completion>,
    events: Vec<AioEvent>,
    in_flight: usize,
    batch: Batch,
}

impl Aio {
    fn new(file: File, depth: u32) -> io::Result<Aio> {
        let slots = depth as usize;
        let context = Context::new(depth)?;
        Ok(Aio {
            mapped: context.ring().is_some(),
            context,
            file,
            blocks: vec![ControlBlock::default(); slots],
            queued: Vec::with_capacity(slots),
            pointers: Vec::with_capacity(slots),
            ended: Vec::with_capacity(slots),
            events: vec![AioEvent::default(); slots],
            in_flight: 0,
            batch: Batch::new(),
        })
    }

    /// Submits the queued I/Os. If the kernel has no memory for one now, the rest stays queued
    /// while I/Os in flight can free some; with none in flight, it is tried again for
    /// [`NO_MEMORY_NS`]. An I/O that is refused for another reason, or for too long, has ended with
    /// that error.
    fn hand_over(&mut self) {
        let mut short_since_ns = None;
        while !self.queued.is_empty() {
            self.pointers.clear();
            for slot in &self.queued {
                self.pointers.push(&self.blocks[*slot as usize]);
            }
            let (number, first) = (self.pointers.len(), self.pointers.as_ptr());
            // SAFETY: `first` points to `number` addresses of blocks, each of which describes a
            // buffer that the caller of `submit_io` keeps valid until its completion was reaped.
            // The kernel copies the blocks.
            let taken =
                unsafe { libc::syscall(libc::SYS_io_submit, self.context.0, number, first) };
            if taken > 0 {
                self.queued.drain(..taken as usize);
                self.in_flight += taken as usize;
                continue;
            }
            let error = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
            match error {
                libc::EINTR => {}
                libc::EAGAIN if self.in_flight > 0 => return,
                libc::EAGAIN if !is_over(&mut short_since_ns) => std::thread::yield_now(),
                // The kernel refuses the first of them, and has taken none.
                _ => self.refuse(error),
            }
        }
    }

    #[cold]
    fn refuse(&mut self, error: i32) {
        let slot = self.queued.remove(0);
        let opcode = self.blocks[slot as usize].opcode;
        // Kernels before 4.18 sync no file by this interface.
        let result = match (error, opcode) {
            (libc::EINVAL, FSYNC) => result_of(self.file.sync_all()),
            (libc::EINVAL, FDATASYNC) => result_of(self.file.sync_data()),
            _ => -error,
        };
        self.ended.push(Completion { slot, result });
    }

    #[inline]
    fn waiting(&self) -> u32 {
        let Some(ring) = self.context.ring() else { return 0 };
        let (head, tail) = (ring.head.load(Ordering::Relaxed), ring.tail.load(Ordering::Acquire));
        if tail >= head { tail - head } else { ring.events - head + tail }
    }

    #[inline]
    fn read_off(&mut self, done: &mut Vec<Completion>) {
        let Some(ring) = self.context.ring() else { return };
        let mut head = ring.head.load(Ordering::Relaxed);
        // Acquire makes visible what the kernel wrote before it moved the tail.
        let tail = ring.tail.load(Ordering::Acquire);
        let mut taken = 0;
        while head != tail && head < ring.events {
            // SAFETY: after the header lie `events` events, `head` is below that, and the kernel
            // writes none that lies between head and tail.
            let event = unsafe {
                (ring as *const Header).add(1).cast::<AioEvent>().add(head as usize).read()
            };
            done.push(completion(&event));
            taken += 1;
            head = if head + 1 == ring.events { 0 } else { head + 1 };
        }
        // The kernel may now reuse what was read.
        ring.head.store(head, Ordering::Release);
        self.in_flight -= taken;
    }

    /// Asks the kernel for at least `least` completions and appends them to `done`. Waits for at
    /// most `time_ns` (`None`: without limit), less if a signal arrives.
    fn get_events(
        &mut self,
        least: libc::c_long,
        time_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        let time = time_ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        });
        let (context, room, events) = (self.context.0, self.events.len(), self.events.as_mut_ptr());
        let time = time.as_ref().map_or(std::ptr::null(), |time| time as *const libc::timespec);
        // SAFETY: there is room for as many events as are asked for; `time` is null or a timespec
        // that lives.
        let received =
            unsafe { libc::syscall(libc::SYS_io_getevents, context, least, room, events, time) };
        if received < 0 {
            return match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::EINTR) => Ok(()),
                error => Err(error),
            };
        }
        done.extend(self.events[..received as usize].iter().map(completion));
        self.in_flight -= received as usize;
        Ok(())
    }

    /// Waits for a completion until [`clock::SPIN_NS`] before `until_ns` (`None`: without limit),
    /// and appends what the kernel returns. After that time it only polls once.
    fn wait(&mut self, until_ns: Option<u64>, done: &mut Vec<Completion>) -> io::Result<()> {
        let Some(until_ns) = until_ns else { return self.get_events(1, None, done) };
        let left_ns = until_ns.saturating_sub(clock::monotonic_ns());
        match left_ns > clock::SPIN_NS {
            true => self.get_events(1, Some(left_ns - clock::SPIN_NS), done),
            // Near its end the wait spins.
            false if self.mapped => {
                std::hint::spin_loop();
                Ok(())
            }
            false => self.get_events(0, Some(0), done),
        }
    }
}

impl Engine for Aio {
    #[inline]
    unsafe fn submit_io(&mut self, io: &Io) {
        self.blocks[io.slot as usize] = ControlBlock {
            data: u64::from(io.slot),
            opcode: match io.op {
                Op::Read => READ,
                Op::Write => WRITE,
                Op::Fsync => FSYNC,
                Op::Fdatasync => FDATASYNC,
                Op::Trim => unreachable!("only the sync engine trims"),
            },
            file: self.file.as_raw_fd() as u32,
            buffer: io.buffer as u64,
            bytes: u64::from(io.len),
            offset: io.offset as i64,
            ..ControlBlock::default()
        };
        self.queued.push(io.slot);
        if self.queued.len() >= self.batch.most() as usize {
            self.hand_over();
            self.batch.handed_over(self.mapped && self.waiting() as usize == self.in_flight);
        }
    }

    fn missing_features(&self) -> Vec<&'static str> {
        if self.mapped { Vec::new() } else { vec!["the mapped completion ring"] }
    }

    #[inline]
    fn reap_completions(
        &mut self,
        until_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        loop {
            self.hand_over();
            done.append(&mut self.ended);
            if self.mapped {
                self.read_off(done);
            }
            if !done.is_empty()
                || until_ns.is_some_and(|until_ns| clock::monotonic_ns() >= until_ns)
            {
                return Ok(());
            }
            self.wait(until_ns, done)?;
            if !done.is_empty() {
                return Ok(());
            }
        }
    }
}

/// Returns true if more than [`NO_MEMORY_NS`] have passed since the first call with this
/// `since_ns`, which is then set.
#[cold]
fn is_over(since_ns: &mut Option<u64>) -> bool {
    let now_ns = clock::monotonic_ns();
    now_ns.saturating_sub(*since_ns.get_or_insert(now_ns)) > NO_MEMORY_NS
}

fn completion(event: &AioEvent) -> Completion {
    Completion { slot: event.data as u32, result: event.result as i32 }
}

fn result_of(synced: io::Result<()>) -> i32 {
    synced.map_or_else(|error| -error.raw_os_error().unwrap_or(libc::EIO), |()| 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_as_large_as_the_kernels() {
        assert_eq!(
            (size_of::<ControlBlock>(), size_of::<AioEvent>(), size_of::<Header>()),
            (64, 32, 32)
        );
    }

    fn aio(depth: u32) -> (tempfile::NamedTempFile, Aio) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; 64 << 10]).unwrap();
        let opened = File::options().read(true).write(true).open(file.path()).unwrap();
        (file, Aio::new(opened, depth).unwrap())
    }

    fn io(op: Op, slot: u32, buffer: &mut [u8]) -> Io {
        let len = if op.is_sync() { 0 } else { buffer.len() as u32 };
        Io { op, slot, len, offset: u64::from(slot) * 4096, buffer: buffer.as_mut_ptr() }
    }

    fn all(aio: &mut Aio, count: usize) -> Vec<Completion> {
        let mut done = Vec::new();
        while done.len() < count {
            aio.reap_completions(None, &mut done).unwrap();
        }
        done.sort_by_key(|completion| completion.slot);
        done
    }

    #[test]
    fn completions_are_read_off_the_ring_and_asked_for_alike() {
        for mapped in [true, false] {
            let (_file, mut aio) = aio(8);
            assert!(aio.mapped, "the ring of this kernel is not known");
            aio.mapped = mapped;
            let mut memory = [[0u8; 4096]; 8];
            // More rounds than the ring has room: it wraps.
            for _ in 0..64 {
                for (slot, buffer) in memory.iter_mut().enumerate() {
                    // SAFETY: the buffer lives until all have been reaped below.
                    unsafe { aio.submit_io(&io(Op::Read, slot as u32, buffer)) };
                }
                let done = all(&mut aio, 8);
                assert!(done.iter().all(|completion| completion.result == 4096), "{done:?}");
                assert_eq!(aio.in_flight, 0);
            }
            assert!(memory.iter().flatten().all(|byte| *byte == 7));
        }
    }

    #[test]
    fn syncs_come_back_and_what_is_refused_has_its_error() {
        let (_file, mut aio) = aio(4);
        let mut memory = [0u8; 4096];
        // SAFETY: as above.
        unsafe {
            aio.submit_io(&io(Op::Write, 0, &mut memory));
            aio.submit_io(&io(Op::Fsync, 1, &mut []));
            aio.submit_io(&io(Op::Fdatasync, 2, &mut []));
        }
        assert_eq!(all(&mut aio, 3).iter().map(|one| one.result).collect::<Vec<_>>(), [4096, 0, 0]);
        let mut beyond = io(Op::Read, 0, &mut memory);
        beyond.offset = 1 << 20;
        // SAFETY: as above.
        unsafe { aio.submit_io(&beyond) };
        assert_eq!(all(&mut aio, 1)[0].result, 0, "nothing is there");
        let only_reads = Aio::new(File::open("/proc/self/exe").unwrap(), 1);
        let mut aio = only_reads.unwrap();
        // SAFETY: as above.
        unsafe { aio.submit_io(&io(Op::Write, 0, &mut memory)) };
        assert_eq!(all(&mut aio, 1)[0].result, -libc::EBADF);
    }

    #[test]
    fn a_wait_without_anything_in_flight_ends_at_its_time() {
        for mapped in [true, false] {
            let (_file, mut aio) = aio(1);
            aio.mapped = mapped;
            let (until_ns, mut done) = (clock::monotonic_ns() + 300_000, Vec::new());
            aio.reap_completions(Some(until_ns), &mut done).unwrap();
            assert!(done.is_empty() && clock::monotonic_ns() >= until_ns);
        }
    }

    #[test]
    fn more_than_the_machine_has_is_refused_with_its_bound() {
        let most: u64 =
            std::fs::read_to_string("/proc/sys/fs/aio-max-nr").unwrap().trim().parse().unwrap();
        let Ok(depth) = u32::try_from(most + 1) else { return };
        let error = Context::new(depth).err().unwrap().to_string();
        assert!(error.contains("io_setup") && error.contains("aio-max-nr"), "{error}");
    }
}

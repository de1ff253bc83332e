//! io_uring for the engine: entries are written where the kernel reads them, completions are read
//! where it writes them, and both counters are moved once per batch. (include/uapi/linux/io_uring.h
//! of Linux; liburing's io_uring_setup(2) and io_uring_enter(2).)

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::io_uring::{
    IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringEnterFlags, IoringFeatureFlags, IoringRegisterOp,
    IoringSetupFlags, IoringSqFlags, io_uring_enter, io_uring_enter_arg, io_uring_getevents_arg,
    io_uring_params, io_uring_ptr, io_uring_register, io_uring_rsrc_update, io_uring_setup,
};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// I/O as the kernel reads it (`struct io_uring_sqe`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct SubmissionEntry {
    pub(super) opcode: u8,
    pub(super) flags: u8,
    pub(super) ioprio: u16,
    pub(super) fd: i32,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) len: u32,
    pub(super) op_flags: u32,
    pub(super) user_data: u64,
    /// Index of a registered buffer, personality, splice_fd_in, addr3: all of them are always 0.
    pub(super) rest: [u64; 3],
}

/// Completion as the kernel writes it (`struct io_uring_cqe`).
#[repr(C)]
#[derive(Clone, Copy)]
struct CompletionEntry {
    user_data: u64,
    result: i32,
    flags: u32,
}

const _: () = assert!(size_of::<SubmissionEntry>() == 64 && size_of::<CompletionEntry>() == 16);

impl SubmissionEntry {
    /// Creates an entry with these fields, and all others 0.
    #[inline]
    pub(super) fn new(opcode: u8, fd: i32, user_data: u64) -> SubmissionEntry {
        SubmissionEntry {
            opcode,
            flags: 0,
            ioprio: 0,
            fd,
            offset: 0,
            address: 0,
            len: 0,
            op_flags: 0,
            user_data,
            rest: [0; 3],
        }
    }
}

struct RingMapping {
    base: NonNull<u8>,
    length: usize,
}

impl RingMapping {
    fn map(ring: BorrowedFd<'_>, length: usize, at: u64) -> io::Result<RingMapping> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice aliases nothing of ours.
        let base =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), length, access, flags, ring, at)? };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(RingMapping { base, length })
    }

    /// Returns a pointer to `number` values of `T`, `offset` bytes into the mapping.
    ///
    /// # Errors
    /// When they would not lie within the mapping, whole and aligned: the kernel's layout is then
    /// not one that is known here.
    fn pointer_at_offset<T>(&self, offset: u32, number: u32) -> io::Result<NonNull<T>> {
        let offset = offset as usize;
        let end =
            size_of::<T>().checked_mul(number as usize).and_then(|bytes| bytes.checked_add(offset));
        let fits = end.is_some_and(|end| end <= self.length) && offset % align_of::<T>() == 0;
        if !fits {
            return Err(io::Error::other("the ring's layout is unknown"));
        }
        // SAFETY: `offset` lies within the mapping, as was just checked.
        Ok(unsafe { self.base.add(offset) }.cast())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // A registered ring belongs to its thread until that ends, and with it the registered file
        // and memory. So the ring is unregistered now.
        if let Some(number) = self.registered {
            let mut update = io_uring_rsrc_update::default();
            update.offset = number;
            // SAFETY: the kernel reads the one structure that it gets.
            let given_back = unsafe {
                io_uring_register(
                    &self.fd,
                    IoringRegisterOp::UnregisterRingFds,
                    (&raw mut update).cast(),
                    1,
                )
            };
            debug_assert!(given_back == Ok(1), "{given_back:?}");
        }
    }
}

impl Drop for RingMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever points into it is dropped with it.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.length) };
        debug_assert!(unmapped.is_ok());
    }
}

/// Queue of entries to the kernel. The head is the kernel's, the tail ours.
struct Submissions {
    head: NonNull<AtomicU32>,
    tail: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<SubmissionEntry>,
    mask: u32,
    /// Our tail, which the kernel sees at the next enter.
    written: u32,
    handed_over: u32,
}

/// Queue of completions from the kernel. The tail is the kernel's, the head ours.
struct Completions {
    head: NonNull<AtomicU32>,
    tail: NonNull<AtomicU32>,
    answers: NonNull<CompletionEntry>,
    mask: u32,
}

pub(super) struct Ring {
    submissions: Submissions,
    completions: Completions,
    timed_wait: bool,
    deferred: bool,
    /// Index of the ring among those that the thread has registered; `None` if registering was
    /// refused.
    registered: Option<u32>,
    // Dropped after the fields that point into them.
    _rings: RingMapping,
    _entries: RingMapping,
    fd: OwnedFd,
}

impl Ring {
    /// Creates a ring of at least `entries` entries, with the given flags.
    ///
    /// # Errors
    /// The error of the kernel, EINVAL for a flag that it does not know; also if the kernel is
    /// older than Linux 5.4, or the layout of its ring is unknown.
    pub(super) fn new(entries: u32, flags: IoringSetupFlags) -> io::Result<Ring> {
        let mut params = io_uring_params::default();
        params.flags = flags;
        // SAFETY: no flag names another descriptor.
        let fd = unsafe { io_uring_setup(entries, &mut params)? };
        if !params.features.contains(IoringFeatureFlags::SINGLE_MMAP) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this kernel's ring is older than Linux 5.4",
            ));
        }
        let (sq, cq) = (params.sq_off, params.cq_off);
        let of_submissions = sq.array as usize + params.sq_entries as usize * size_of::<u32>();
        let of_completions =
            cq.cqes as usize + params.cq_entries as usize * size_of::<CompletionEntry>();
        let rings =
            RingMapping::map(fd.as_fd(), of_submissions.max(of_completions), IORING_OFF_SQ_RING)?;
        let length = params.sq_entries as usize * size_of::<SubmissionEntry>();
        let entries = RingMapping::map(fd.as_fd(), length, IORING_OFF_SQES)?;
        let array = rings.pointer_at_offset::<u32>(sq.array, params.sq_entries)?;
        for at in 0..params.sq_entries {
            // SAFETY: `array` has that many elements, and the kernel reads none before it gets an
            // entry. Entry i always stays at index i.
            unsafe { array.add(at as usize).write(at) };
        }
        let submissions = Submissions {
            head: rings.pointer_at_offset(sq.head, 1)?,
            tail: rings.pointer_at_offset(sq.tail, 1)?,
            flags: rings.pointer_at_offset(sq.flags, 1)?,
            entries: entries.pointer_at_offset(0, params.sq_entries)?,
            mask: params.sq_entries - 1,
            written: 0,
            handed_over: 0,
        };
        let completions = Completions {
            head: rings.pointer_at_offset(cq.head, 1)?,
            tail: rings.pointer_at_offset(cq.tail, 1)?,
            answers: rings.pointer_at_offset(cq.cqes, params.cq_entries)?,
            mask: params.cq_entries - 1,
        };
        let timed_wait = params.features.contains(IoringFeatureFlags::EXT_ARG);
        let mut ring = Ring {
            submissions,
            completions,
            timed_wait,
            deferred: flags.contains(IoringSetupFlags::DEFER_TASKRUN),
            registered: None,
            _rings: rings,
            _entries: entries,
            fd,
        };
        ring.registered = ring.register_itself();
        Ok(ring)
    }

    /// Registers the ring with its thread, so that the kernel finds it without a lookup in the
    /// table of open files, and returns its index. `None` if the kernel refuses, as before Linux
    /// 5.18.
    fn register_itself(&self) -> Option<u32> {
        let mut update = io_uring_rsrc_update::default();
        (update.offset, update.data) =
            (u32::MAX, io_uring_ptr::new(self.fd.as_raw_fd() as usize as *mut _));
        // SAFETY: the kernel writes the ring's index into the one structure that it gets.
        let given = unsafe {
            io_uring_register(
                &self.fd,
                IoringRegisterOp::RegisterRingFds,
                (&raw mut update).cast(),
                1,
            )
        };
        (given == Ok(1)).then_some(update.offset)
    }

    /// Registers the file as number 0; returns `false` if the kernel refuses.
    pub(super) fn register_file(&self, file: &File) -> bool {
        let files: [RawFd; 1] = [file.as_raw_fd()];
        // SAFETY: the kernel reads one descriptor.
        unsafe {
            io_uring_register(&self.fd, IoringRegisterOp::RegisterFiles, files.as_ptr().cast(), 1)
        }
        .is_ok()
    }

    /// Registers a stretch of memory as buffer 0; returns `false` if the kernel refuses.
    ///
    /// # Safety
    /// The stretch stays mapped as long as the ring.
    pub(super) unsafe fn register_memory(&self, base: *mut u8, length: usize) -> bool {
        let whole = libc::iovec { iov_base: base.cast(), iov_len: length };
        // SAFETY: the kernel reads one iovec; the caller answers for what it names.
        unsafe {
            io_uring_register(
                &self.fd,
                IoringRegisterOp::RegisterBuffers,
                (&raw const whole).cast(),
                1,
            )
        }
        .is_ok()
    }

    /// Returns true if the kernel finds the ring without a lookup in the table of open files.
    pub(super) fn is_registered(&self) -> bool {
        self.registered.is_some()
    }

    /// Returns true if the kernel processes completions only within our own enter (DEFER_TASKRUN),
    /// and never interrupts the thread for them.
    pub(super) fn is_deferred(&self) -> bool {
        self.deferred
    }

    /// Returns true if waits can have a time limit (Linux 5.11).
    pub(super) fn can_wait_until(&self) -> bool {
        self.timed_wait
    }

    /// Queues an entry, which the next [`Ring::enter`] hands over.
    ///
    /// # Safety
    /// The file and memory that the entry names are valid until its completion was taken, and the
    /// ring has a free place: fewer entries are under way than it has places.
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, entry: &SubmissionEntry) {
        let place = self.submissions.written & self.submissions.mask;
        // SAFETY: the mask keeps it within the entries, and the kernel has taken the old entry in
        // this place: fewer entries than places are under way.
        unsafe { self.submissions.entries.add(place as usize).write(*entry) };
        self.submissions.written = self.submissions.written.wrapping_add(1);
    }

    /// Returns the number of entries that were not handed over yet.
    #[inline]
    fn queued(&self) -> u32 {
        self.submissions.written.wrapping_sub(self.submissions.handed_over)
    }

    /// Returns true if an enter has something to do: there are entries to hand over, or the kernel
    /// reports completions to post or completions that found no room.
    #[inline]
    pub(super) fn wants_enter(&self) -> bool {
        // SAFETY: the pointer leads into the mapping, which lives as long as self.
        let flags = unsafe { self.submissions.flags.as_ref() }.load(Ordering::Relaxed);
        self.queued() > 0
            || flags & (IoringSqFlags::TASKRUN | IoringSqFlags::CQ_OVERFLOW).bits() != 0
    }

    /// Hands over the queued entries and waits for `least` completions, but no longer than
    /// `at_most` (`None`: without limit).
    ///
    /// # Errors
    /// The error of the kernel; entries that it did not take are handed over again by the next
    /// call.
    #[inline]
    pub(super) fn enter(&mut self, least: u32, at_most: Option<libc::timespec>) -> io::Result<()> {
        let sq = &mut self.submissions;
        // SAFETY: as in `wants_enter`.
        unsafe { sq.tail.as_ref() }.store(sq.written, Ordering::Release);
        let queued = sq.written.wrapping_sub(sq.handed_over);
        // Without this flag completions are not posted if the kernel defers them to us.
        let mut flags = IoringEnterFlags::GETEVENTS;
        let fd = match self.registered {
            Some(number) => {
                flags |= IoringEnterFlags::REGISTERED_RING;
                // SAFETY: with that flag the number is one of this thread's registered rings and no
                // descriptor.
                unsafe { BorrowedFd::borrow_raw(number as RawFd) }
            }
            None => self.fd.as_fd(),
        };
        let entered = match at_most {
            None => {
                // SAFETY: whoever pushed answers for the entries.
                unsafe { io_uring_enter(fd, queued, least, flags) }
            }
            Some(time) => {
                let ts = io_uring_ptr::new((&raw const time).cast_mut().cast());
                let argument = io_uring_getevents_arg { ts, ..Default::default() };
                // SAFETY: as above; the time and the argument live until the call returns.
                unsafe {
                    io_uring_enter_arg(
                        fd,
                        queued,
                        least,
                        flags | IoringEnterFlags::EXT_ARG,
                        Some(&argument),
                    )
                }
            }
        };
        // The head shows what was taken, whatever the call returns: a wait that ends early has also
        // taken entries. SAFETY: as in `wants_enter`.
        sq.handed_over = unsafe { sq.head.as_ref() }.load(Ordering::Acquire);
        entered.map(|_| ()).map_err(io::Error::from)
    }

    #[inline]
    pub(super) fn waiting(&self) -> u32 {
        let cq = &self.completions;
        // SAFETY: as in `wants_enter`.
        let (head, tail) = unsafe { (cq.head.as_ref(), cq.tail.as_ref()) };
        tail.load(Ordering::Acquire).wrapping_sub(head.load(Ordering::Relaxed))
    }

    /// Takes all completions in the queue, and calls `each` with the user data of the entry and its
    /// result.
    #[inline(always)]
    pub(super) fn take_completions(&mut self, mut each: impl FnMut(u64, i32)) {
        let cq = &self.completions;
        // SAFETY: as in `wants_enter`.
        let (head, tail) = unsafe { (cq.head.as_ref(), cq.tail.as_ref()) };
        let (mut at, end) = (head.load(Ordering::Relaxed), tail.load(Ordering::Acquire));
        while at != end {
            // SAFETY: the mask keeps it within the answers, and the kernel has written all before
            // its tail.
            let answer = unsafe { cq.answers.add((at & cq.mask) as usize).read() };
            each(answer.user_data, answer.result);
            at = at.wrapping_add(1);
        }
        head.store(at, Ordering::Release);
    }
}

/// Returns true if the kernel has no io_uring, or allows it to nobody here. Only then may a test be
/// skipped.
#[cfg(test)]
pub(crate) fn is_lacking(error: &io::Error) -> bool {
    let lacking = matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM));
    if lacking {
        println!("skipped: needs io_uring ({error})");
    }
    lacking
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io_uring::IoringOp;

    fn ring(entries: u32) -> Option<Ring> {
        match Ring::new(entries, IoringSetupFlags::empty()) {
            Err(error) if is_lacking(&error) => None,
            ring => Some(ring.unwrap()),
        }
    }

    #[test]
    fn entries_come_back_each_once_also_where_the_counters_go_round() {
        let Some(mut ring) = ring(8) else { return };
        let mut expected = 0;
        for round in 0..50_u64 {
            let number = round % 8 + 1;
            for _ in 0..number {
                // SAFETY: it names nothing.
                unsafe {
                    ring.push(&SubmissionEntry::new(IoringOp::Nop as u8, -1, expected + 1000))
                };
                expected += 1;
            }
            assert_eq!(ring.queued(), number as u32);
            ring.enter(number as u32, None).unwrap();
            assert_eq!((ring.queued(), ring.waiting()), (0, number as u32));
            let mut taken = Vec::new();
            ring.take_completions(|user_data, result| taken.push((user_data, result)));
            let came: Vec<(u64, i32)> =
                (expected - number..expected).map(|at| (at + 1000, 0)).collect();
            assert_eq!(taken, came);
        }
    }

    #[test]
    fn a_wait_ends_and_loses_nothing() {
        let Some(mut ring) = ring(4) else { return };
        if !ring.can_wait_until() {
            println!("skipped: waits that end need Linux 5.11");
            return;
        }
        // SAFETY: it names nothing.
        unsafe { ring.push(&SubmissionEntry::new(IoringOp::Nop as u8, -1, 7)) };
        let time = libc::timespec { tv_sec: 0, tv_nsec: 2_000_000 };
        // The call first reports what was taken, and completions in the queue.
        ring.enter(2, Some(time)).unwrap();
        assert_eq!((ring.queued(), ring.waiting()), (0, 1));
        ring.take_completions(|user_data, _| assert_eq!(user_data, 7));
        let error = ring.enter(1, Some(time)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ETIME));
    }

    #[test]
    fn a_layout_that_does_not_fit_is_refused() {
        let Some(ring) = ring(4) else { return };
        let length = ring._entries.length as u32;
        assert!(ring._entries.pointer_at_offset::<SubmissionEntry>(0, 4).is_ok());
        for (offset, number) in [(0, 1000), (64, length), (length, 1), (4, 1)] {
            assert!(
                ring._entries.pointer_at_offset::<SubmissionEntry>(offset, number).is_err(),
                "{offset} {number}"
            );
        }
    }
}

//! sync engine: pread and pwrite, one I/O at a time per thread. It serves depth 1, trims, and
//! buffered I/O on targets for which io_uring needs worker threads.

use super::family::EngineFamily;
use super::io::{Completion, Engine, Io, Op, take_all};
use super::name::EngineName;
use super::trim::Trimmer;
use crate::lane::{Lane, Setup};
use rustix::io::Errno;
use std::fs::File;
use std::io;

pub(super) const KIND: EngineFamily = EngineFamily {
    name: EngineName::Sync,
    word: "sync",
    depth: Some(1),
    start: |setup: Setup| {
        let done = Vec::with_capacity(setup.depth as usize);
        Lane::boxed(setup, |file, _| Ok(Sync { trimmer: Trimmer::for_file(&file)?, file, done }))
    },
};

struct Sync {
    file: File,
    trimmer: Trimmer,
    done: Vec<Completion>,
}

impl Engine for Sync {
    #[inline]
    unsafe fn submit_io(&mut self, io: &Io) {
        let result = loop {
            // SAFETY: the caller keeps the buffer valid and ours until the completion is reaped.
            match unsafe { self.call(io) } {
                Err(Errno::INTR) => {}
                Ok(bytes) => break bytes as i32,
                Err(errno) => break -errno.raw_os_error(),
            }
        };
        let slot = io.slot;
        self.done.push(Completion { slot, result });
    }

    #[inline]
    fn reap_completions(
        &mut self,
        until_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        if let (true, Some(until_ns)) = (self.done.is_empty(), until_ns) {
            crate::clock::wait_until(until_ns);
        }
        take_all(&mut self.done, done);
        Ok(())
    }
}

impl Sync {
    /// Does one I/O by a system call, and returns the number of bytes moved.
    ///
    /// # Safety
    /// `io.buffer` is valid for `io.len` bytes and nobody else uses it.
    #[inline]
    unsafe fn call(&self, io: &Io) -> Result<usize, Errno> {
        let len = io.len as usize;
        match io.op {
            Op::Read => {
                // SAFETY: given by the caller.
                let data = unsafe { std::slice::from_raw_parts_mut(io.buffer, len) };
                rustix::io::pread(&self.file, data, io.offset)
            }
            Op::Write => {
                // SAFETY: given by the caller.
                let data = unsafe { std::slice::from_raw_parts(io.buffer, len) };
                rustix::io::pwrite(&self.file, data, io.offset)
            }
            Op::Fsync => rustix::fs::fsync(&self.file).map(|()| 0),
            Op::Fdatasync => rustix::fs::fdatasync(&self.file).map(|()| 0),
            Op::Trim => self.trimmer.trim(&self.file, io.offset, u64::from(io.len)).map(|()| len),
        }
    }
}

//! null engine: every I/O completes at once, without a system call. It measures the generator
//! itself.

use super::family::EngineFamily;
use super::io::{Completion, Engine, Io, take_all};
use super::name::EngineName;
use crate::lane::{Lane, Setup};
use std::io;

pub(super) const KIND: EngineFamily = EngineFamily {
    name: EngineName::Null,
    word: "null",
    depth: None,
    start: |setup: Setup| {
        let submitted = Vec::with_capacity(setup.depth as usize);
        Lane::boxed(setup, |_, _| Ok(Null { submitted }))
    },
};

struct Null {
    submitted: Vec<Completion>,
}

impl Engine for Null {
    #[inline]
    unsafe fn submit_io(&mut self, io: &Io) {
        let (slot, result) = (io.slot, io.len as i32);
        self.submitted.push(Completion { slot, result });
    }

    #[inline]
    fn reap_completions(
        &mut self,
        until_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        if let (true, Some(until_ns)) = (self.submitted.is_empty(), until_ns) {
            crate::clock::wait_until(until_ns);
        }
        take_all(&mut self.submitted, done);
        Ok(())
    }
}

//! Services of the kernel for programs: system calls, pipes, switches between processes, processes
//! created and ended.

use super::crew::prepare;
use super::small::Small;
use super::work::{SHORTEST_SLICE_NS, Work, unit_refused_error};
use crate::{Argument, Definition, ProbeError, ProbeSpec, ProbeUnit};
use iotax_load::{Histogram, clock};
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};

pub(super) static SYSCALL: Definition = Definition {
    name: "syscall",
    argument: Argument::None,
    unit: ProbeUnit::Count("call groups"),
    subject: "system calls",
    about: "Calls dup, close, getpid, getuid and getppid, one after the other.",
    relative: "UnixBench syscall, with umask in place of getppid, which would change iotax's own",
    program: None,
    shortest_slice_ns: SHORTEST_SLICE_NS,
    needs_peer: false,
    prepare: |spec| prepare(spec, syscall),
};

pub(super) static PIPE: Definition = Definition {
    name: "pipe",
    argument: Argument::None,
    unit: ProbeUnit::Count("transfers"),
    subject: "pipe throughput",
    about: "Writes 512 bytes into a pipe and reads them back, in one process.",
    relative: "UnixBench pipe",
    program: None,
    shortest_slice_ns: SHORTEST_SLICE_NS,
    needs_peer: false,
    prepare: |spec| prepare(spec, pipe_to_itself),
};

pub(super) static SWITCH: Definition = Definition {
    name: "switch",
    argument: Argument::None,
    unit: ProbeUnit::Count("round trips"),
    subject: "context switches",
    about: "Sends 4 bytes to another process on the same processor and back: two switches.",
    relative: "UnixBench context1; not pinned, one processor or two decide the figure",
    program: None,
    shortest_slice_ns: SHORTEST_SLICE_NS,
    needs_peer: false,
    prepare: |spec| prepare(spec, switch),
};

pub(super) static FORK: Definition = Definition {
    name: "fork",
    argument: Argument::None,
    unit: ProbeUnit::Count("processes"),
    subject: "process creation",
    about: "Forks a process that has little memory, and waits until the child has ended.",
    relative: "UnixBench spawn, which forks a larger process",
    program: None,
    shortest_slice_ns: SHORTEST_SLICE_NS,
    needs_peer: false,
    prepare: |spec| prepare(spec, |_| small_work(0)),
};

pub(super) static EXEC: Definition = Definition {
    name: "exec",
    argument: Argument::None,
    unit: ProbeUnit::Count("programs"),
    subject: "programs started",
    about: "Forks a process, starts a program without libraries in the child, and waits until it has ended.",
    relative: "UnixBench execl, which starts a program with libraries, and forks none",
    program: None,
    shortest_slice_ns: SHORTEST_SLICE_NS,
    needs_peer: false,
    prepare: |spec| prepare(spec, |_| small_work(1)),
};

struct Syscall(File);

fn syscall(_: &ProbeSpec) -> Result<Box<dyn Work>, ProbeError> {
    let null = File::open("/dev/null")
        .or_else(|_| File::open("/"))
        .map_err(|error| unit_refused_error("open /", error))?;
    Ok(Box::new(Syscall(null)))
}

impl Work for Syscall {
    fn run_batch(&mut self, units: u64, _: &mut Histogram) -> Result<(), ProbeError> {
        for _ in 0..units {
            drop(rustix::io::dup(&self.0).map_err(|error| unit_refused_error("dup", error))?);
            black_box(rustix::process::getpid());
            black_box(rustix::process::getuid());
            black_box(rustix::process::getppid());
        }
        Ok(())
    }
}

struct Pipe {
    reader: File,
    writer: File,
}

fn pipe_to_itself(_: &ProbeSpec) -> Result<Box<dyn Work>, ProbeError> {
    let (reader, writer) =
        rustix::pipe::pipe().map_err(|error| unit_refused_error("make a pipe", error))?;
    Ok(Box::new(Pipe { reader: reader.into(), writer: writer.into() }))
}

impl Work for Pipe {
    fn run_batch(&mut self, units: u64, _: &mut Histogram) -> Result<(), ProbeError> {
        let mut bytes = [7; 512];
        for _ in 0..units {
            let done =
                self.writer.write_all(&bytes).and_then(|()| self.reader.read_exact(&mut bytes));
            done.map_err(|error| unit_refused_error("use a pipe", error))?;
        }
        Ok(())
    }
}

struct Switch(Small);

fn switch(_: &ProbeSpec) -> Result<Box<dyn Work>, ProbeError> {
    Ok(Box::new(Switch(Small::start("echo")?)))
}

impl Work for Switch {
    fn run_batch(&mut self, units: u64, times: &mut Histogram) -> Result<(), ProbeError> {
        let (mut back, mut before) = ([0; 4], clock::monotonic_ns());
        for _ in 0..units {
            self.0.ask_process(&[1, 2, 3, 4], &mut back)?;
            let now = clock::monotonic_ns();
            times.record(now - before);
            before = now;
        }
        Ok(())
    }
}

/// Work that the small process does on request.
struct SmallWork {
    small: Small,
    what: u64,
}

fn small_work(what: u64) -> Result<Box<dyn Work>, ProbeError> {
    Ok(Box::new(SmallWork { small: Small::start("serve")?, what }))
}

impl Work for SmallWork {
    fn run_batch(&mut self, units: u64, _: &mut Histogram) -> Result<(), ProbeError> {
        let order: Vec<u8> =
            [self.what, units].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut done = [0; 8];
        self.small.ask_process(&order, &mut done)?;
        match u64::from_ne_bytes(done) {
            done if done == units => Ok(()),
            done => Err(ProbeError::Failed(format!(
                "the kernel refused to create a process, after {done} of {units}; hint: check the limits on processes (ulimit -u, pids.max of the control group)"
            ))),
        }
    }
}

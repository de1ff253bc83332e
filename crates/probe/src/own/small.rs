//! Small process (small/main.rs) that this crate contains: it runs from memory, without a file, and
//! ends when its pipes do.

use super::work::unit_refused_error;
use crate::ProbeError;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/small"));

pub(super) struct Small {
    child: Child,
    orders: ChildStdin,
    answers: ChildStdout,
}

impl Small {
    /// Starts the process with this argument, `serve` or `echo`. It runs on the processor of the
    /// calling thread.
    ///
    /// # Errors
    /// When the system does not run programs from memory, or the process was not built for this
    /// architecture.
    pub(super) fn start(word: &str) -> Result<Small, ProbeError> {
        if PROGRAM.is_empty() {
            return Err(ProbeError::Unfit("this probe requires x86-64 or arm64".into()));
        }
        let held = program()?;
        let path = format!("/proc/self/fd/{}", held.as_raw_fd());
        let mut command = Command::new(path);
        command.arg(word).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| {
            unit_refused_error(
                "run the helper process from memory (requires /proc, and vm.memfd_noexec below 2)",
                error,
            )
        })?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(orders), Some(answers)) => Ok(Small { child, orders, answers }),
            _ => Err(ProbeError::Failed("the helper process has no pipes".into())),
        }
    }

    /// Sends an order, and waits until `answer` is filled.
    ///
    /// # Errors
    /// When the process is gone.
    pub(super) fn ask_process(
        &mut self,
        order: &[u8],
        answer: &mut [u8],
    ) -> Result<(), ProbeError> {
        let asked = self.orders.write_all(order).and_then(|()| self.answers.read_exact(answer));
        asked.map_err(|error| unit_refused_error("talk to the helper process", error))
    }
}

/// Writes the program to memory and opens it as a file.
fn program() -> Result<File, ProbeError> {
    let name = "iotax-small";
    // A kernel before 6.3 does not know the flag, and permits execution.
    let made = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::EXEC)
        .or_else(|_| memfd_create(name, MemfdFlags::CLOEXEC));
    let mut file =
        File::from(made.map_err(|error| unit_refused_error("make a file in memory", error))?);
    file.write_all(PROGRAM).map_err(|error| unit_refused_error("write a file in memory", error))?;
    // A file that is open for writing cannot be run.
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
        .map_err(|error| unit_refused_error("open /proc/self/fd", error))
}

impl Drop for Small {
    fn drop(&mut self) {
        // The process may be in the middle of an order, but it has nothing that could be lost.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

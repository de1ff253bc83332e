//! Threads that serve I/O, other than the load's: of the kernel's RAID, of a daemon, or of QEMU.
//! They are looked up once a stack is up, and their CPU time is read before and after every slice.

use iotax_facts::slice::ThreadId;
use serde::{Deserialize, Serialize};
use std::fs;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingThread {
    pub id: ThreadId,
    /// Name in reports, which threads of the same kind share: `md127_raid5`, `vhost`, `reactor`.
    pub name: String,
    /// True if it polls: it computes all the time, whether there is work or not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub polls: bool,
    /// True if it does only a part of the work, and the threads that hand it I/O do the rest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_part: bool,
    /// True if it runs a virtual CPU of a guest: its time is the guest's cost on the host, not an
    /// engine's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_vcpu: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_kernel: bool,
}

impl ServingThread {
    fn new(id: ThreadId, name: String) -> ServingThread {
        ServingThread { id, name, polls: false, in_part: false, is_vcpu: false, is_kernel: false }
    }
}

/// Prefix of the names of SPDK's reactors in the kernel, before their number.
const REACTOR: &str = "reactor_";

/// Returns all threads of a process; empty when it is gone.
pub fn of_process(pid: u32) -> Vec<ServingThread> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let thread = |entry: fs::DirEntry| {
        let tid = entry.file_name().to_str()?.parse().ok()?;
        Some(ServingThread::new(ThreadId { pid, tid }, comm(&entry)?))
    };
    let mut all: Vec<ServingThread> = tasks.filter_map(thread).collect();
    all.sort_by_key(|thread| thread.id.tid);
    all
}

/// Returns the threads of the kernel for whose names `is_wanted` is true.
pub fn of_kernel(is_wanted: impl Fn(&str) -> bool) -> Vec<ServingThread> {
    let thread = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let name = comm(&entry).filter(|name| is_wanted(name))?;
        // Only threads of the kernel have no command line; anybody can take the name.
        let is_kernels = fs::read(entry.path().join("cmdline")).is_ok_and(|words| words.is_empty());
        let thread = ServingThread::new(ThreadId { pid, tid: pid }, name);
        is_kernels.then_some(ServingThread { is_kernel: true, ..thread })
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(thread).collect()
}

/// Returns the kernel's threads of an md array (`md127`): one, and another while it syncs. They do
/// only a part of the work; the threads that read or write do the rest.
pub fn of_array(device: &str) -> Vec<ServingThread> {
    let own =
        of_kernel(|thread| thread.strip_prefix(device).is_some_and(|rest| rest.starts_with('_')));
    own.into_iter().map(|thread| ServingThread { in_part: true, ..thread }).collect()
}

/// Returns the threads that serve a guest: all threads of its QEMU, its virtual CPUs marked, and
/// the kernel's vhost threads.
pub fn of_qemu(pid: u32) -> Vec<ServingThread> {
    let vhost = format!("vhost-{pid}");
    let is_vcpu = |name: &str| name.starts_with("CPU ") || name.starts_with("ALL CPUs");
    let named =
        of_process(pid).into_iter().chain(of_kernel(|name| name == vhost)).map(|mut thread| {
            if is_vcpu(&thread.name) {
                thread.is_vcpu = true;
            } else if thread.name == vhost {
                thread.name = "vhost".to_owned();
            } else if thread.id.tid == pid {
                thread.name = "QEMU's main loop".to_owned();
            } else if let Some(io) = thread.name.strip_prefix("IO ") {
                // `IO iothread0`
                thread.name = io.trim_end_matches(|sign: char| sign.is_ascii_digit()).to_owned();
            }
            thread
        });
    named.collect()
}

/// Returns the reactors of an SPDK target, each of which polls on a core. For a program without
/// reactors, returns all of its threads.
pub fn of_target(pid: u32) -> Vec<ServingThread> {
    let all = of_process(pid);
    let reactor = |thread: &ServingThread| thread.name.starts_with(REACTOR);
    if !all.iter().any(reactor) {
        return all;
    }
    let reactors = all.into_iter().filter(reactor);
    reactors
        .map(|thread| ServingThread { name: "reactor".to_owned(), polls: true, ..thread })
        .collect()
}

fn comm(of: &fs::DirEntry) -> Option<String> {
    Some(fs::read_to_string(of.path().join("comm")).ok()?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn threads_are_known_by_their_names() {
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let started =
            thread::Builder::new().name("CPU 0/TCG".into()).spawn(move || wait.recv()).unwrap();
        let me = std::process::id();
        let has = |all: &[ServingThread], name: &str| all.iter().any(|thread| thread.name == name);
        // The name is set by the new thread itself.
        while !has(&of_process(me), "CPU 0/TCG") {
            thread::yield_now();
        }
        let served = of_qemu(me);
        let vcpus: Vec<_> = served.iter().filter(|thread| thread.is_vcpu).collect();
        assert!(
            matches!(vcpus[..], [vcpu] if vcpu.name == "CPU 0/TCG")
                && has(&served, "QEMU's main loop"),
            "{served:?}"
        );
        // The other tests start and end threads meanwhile.
        let target = of_target(me);
        assert!(has(&target, "CPU 0/TCG") && !has(&target, "reactor"), "no reactors: {target:?}");
        drop(done);
        let _ = started.join();
        assert!(of_process(u32::MAX).is_empty());
    }

    #[test]
    fn a_program_that_takes_the_name_of_a_thread_of_the_kernel_is_none() {
        let own = fs::read_to_string("/proc/self/comm").unwrap();
        assert!(of_kernel(|name| name == own.trim_end()).is_empty());
    }
}

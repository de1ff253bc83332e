//! Worker threads of io_uring. The kernel hands them what a file cannot do without waiting,
//! including every sync. They are threads of this process and named after the thread that
//! submitted, but their CPU time does not count as that thread's. (io_uring/io-wq.c of Linux, since
//! 5.12; before that they were kernel threads, whose submitter nobody can determine.)

use crate::cpu::ThreadCpu;
use std::collections::BTreeMap;
use std::io;

/// Target of the link /proc/self/ns/pid in the initial pid namespace, fixed by the kernel.
const INITIAL_NAMESPACE: &str = "pid:[4026531836]";

/// First part of a worker's thread name; the number of the submitting thread follows.
const NAME: &str = "iou-wrk";

/// CPU time so far of each thread of this process, in nanoseconds, by thread number; `None` if the
/// thread is not one of the workers looked for.
type Threads = BTreeMap<u32, Option<u64>>;

#[derive(Debug, Default)]
pub(super) struct Workers {
    /// Thread name of the workers; `None` outside the initial pid namespace, whose thread number is
    /// in the name and unknown there.
    name: Option<String>,
    known: Threads,
    /// CPU time of the workers that have ended, as far as it was seen.
    ended_ns: u64,
}

impl Workers {
    /// Returns a record of the calling thread's workers, in which none is known yet.
    pub(super) fn of_this_thread() -> Workers {
        let namespace = std::fs::read_link("/proc/self/ns/pid");
        let initial = namespace.is_ok_and(|link| link.as_os_str() == INITIAL_NAMESPACE);
        let thread = rustix::thread::gettid().as_raw_nonzero();
        let name = initial.then(|| format!("{NAME}-{thread}"));
        Workers { name, ..Workers::default() }
    }

    /// Returns the workers' CPU time since they began, all of it as system time. What a worker used
    /// between the last look and its end is missing. Zero if they cannot be distinguished from
    /// those of other threads.
    pub(super) fn cpu(&mut self) -> ThreadCpu {
        if self.name.is_some() {
            self.look_for_workers();
        }
        let alive_ns: u64 = self.known.values().flatten().sum();
        ThreadCpu { user_ns: 0, system_ns: self.ended_ns + alive_ns }
    }

    /// Looks for workers, and returns true if there are more than at the last look. If they cannot
    /// be distinguished, workers of any thread count.
    pub(super) fn any_new(&mut self) -> bool {
        let of_us = |known: &Threads| known.values().flatten().count();
        let before = of_us(&self.known);
        self.look_for_workers();
        of_us(&self.known) > before
    }

    fn look_for_workers(&mut self) {
        let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return };
        let numbers =
            threads.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut now = Threads::new();
        for thread in numbers {
            let is_worker = match self.known.get(&thread) {
                Some(known) => known.is_some(),
                None => self.is_worker(thread),
            };
            now.insert(thread, is_worker.then(|| run_ns(thread).unwrap_or(0)));
        }
        let gone = self.known.iter().filter(|(thread, _)| !now.contains_key(thread));
        self.ended_ns += gone.filter_map(|(_, ns)| *ns).sum::<u64>();
        self.known = now;
    }

    fn is_worker(&self, thread: u32) -> bool {
        let name =
            std::fs::read_to_string(format!("/proc/self/task/{thread}/comm")).unwrap_or_default();
        match &self.name {
            Some(own) => name.trim() == own,
            None => name.starts_with(NAME),
        }
    }
}

/// Reads a thread's time on a processor in nanoseconds: the first figure of schedstat.
fn run_ns(thread: u32) -> io::Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat"))?;
    let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::io::{Engine, Io, Op};
    use crate::engine::uring::Uring;
    use std::io::Write;

    #[test]
    fn what_workers_compute_is_seen_by_the_thread_that_submitted_alone() {
        let mut file = tempfile::tempfile().unwrap();
        let memory = (std::ptr::NonNull::<u8>::dangling().as_ptr(), usize::MAX);
        let mut engine = match Uring::new(file.try_clone().unwrap(), 1, memory) {
            Ok(engine) => engine,
            Err(error) if crate::engine::ring::is_lacking(&error) => return,
            Err(error) => panic!("{error}"),
        };
        let mut workers = Workers::of_this_thread();
        assert!(!workers.any_new(), "nothing was submitted in this thread");
        assert_eq!(engine.helpers_cpu(), ThreadCpu::default());
        let mut done = Vec::new();
        for _ in 0..20 {
            file.write_all(&[1; 65536]).unwrap();
            let sync =
                Io { op: Op::Fsync, slot: 0, len: 0, offset: 0, buffer: std::ptr::null_mut() };
            // SAFETY: a sync has no buffer.
            unsafe { engine.submit_io(&sync) };
            engine.reap_completions(None, &mut done).unwrap();
        }
        assert!(done.iter().all(|one| one.result == 0) && done.len() == 20);
        if workers.name.is_none() {
            println!("skipped: in another pid namespace nobody can tell whose the workers are");
            return;
        }
        assert!(workers.any_new(), "syncs are handed to a worker");
        assert!(engine.helpers_cpu().system_ns > 0);
        let other = std::thread::spawn(|| Workers::of_this_thread().cpu());
        assert_eq!(other.join().unwrap(), ThreadCpu::default());
    }
}

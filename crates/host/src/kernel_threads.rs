//! CPU time of the kernel's own threads (work queues, RAID, soft interrupts), by their clocks.

use super::probe::Probe;
use iotax_sys::cputime;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Flag of a kernel thread in the ninth field of /proc/PID/stat: `PF_KTHREAD` of Linux
/// (include/linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;
/// The list of threads is read again after this many times the duration of the last reading.
const LOOK_ONE_IN: u32 = 20;

/// Sum of the CPU time of the kernel's threads, with what it takes to go on counting.
#[derive(Debug, Default)]
pub struct KernelThreads {
    /// Processes at the last lookup, and whether each is a kernel thread.
    seen: BTreeMap<u32, bool>,
    /// CPU time in nanoseconds of each kernel thread at its last reading. All are read, since work
    /// queues hand their work from thread to thread.
    last_ns: BTreeMap<u32, u64>,
    sum_ns: u64,
    looked: Option<(Instant, Duration)>,
}

impl KernelThreads {
    /// Looks up the threads again if 20 times as long has passed as the last lookup took.
    pub fn refresh_threads(&mut self, probe: &Probe) {
        let now = Instant::now();
        if self.looked.is_some_and(|(at, took)| now.duration_since(at) < took * LOOK_ONE_IN) {
            return;
        }
        let pids: Vec<u32> =
            probe.folder_names("/proc").iter().filter_map(|name| name.parse().ok()).collect();
        let stat = |pid: u32| probe.read_trimmed(format!("/proc/{pid}/stat"));
        let is_kernels = |pid: u32| {
            self.seen
                .get(&pid)
                .copied()
                .unwrap_or_else(|| stat(pid).is_some_and(|stat| is_kernel(&stat)))
        };
        self.seen = pids.into_iter().map(|pid| (pid, is_kernels(pid))).collect();
        let threads = self.seen.iter().filter(|(_, is_kernels)| **is_kernels);
        self.last_ns =
            threads.filter_map(|(pid, _)| Some((*pid, cputime::process_ns(*pid)?))).collect();
        self.looked = Some((now, now.elapsed()));
    }

    /// Returns a sum that grows by the threads' CPU time in nanoseconds, and by one with each
    /// reading. `None` if no thread is visible, as in a container.
    pub fn sum_ns(&mut self) -> Option<u64> {
        for (pid, last_ns) in &mut self.last_ns {
            if let Some(ns) = cputime::process_ns(*pid) {
                self.sum_ns += ns.saturating_sub(*last_ns);
                *last_ns = ns;
            }
        }
        self.sum_ns += 1;
        (!self.last_ns.is_empty()).then_some(self.sum_ns)
    }
}

fn is_kernel(stat: &str) -> bool {
    // The name, in parentheses, may contain anything.
    let flags =
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(6)?.parse().ok());
    flags.is_some_and(|flags: u64| flags & KERNEL_THREAD != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::GuestProbe;
    use std::path::Path;

    #[test]
    fn flags_tell_the_kernels_threads_whatever_their_names() {
        assert!(is_kernel("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0"));
        assert!(!is_kernel("9 (a) S 0 0 0 0 -1 2129984 0) S 1 9 9 0 -1 4194560 0 0"));
        assert!(!is_kernel(""));
    }

    #[test]
    fn the_sum_grows_where_threads_are_visible() {
        let probe = Probe::this_machine(Path::new("/"), GuestProbe::NOT_ASKED);
        let mut threads = KernelThreads::default();
        assert_eq!(threads.sum_ns(), None, "before the first look");
        threads.refresh_threads(&probe);
        if let Some(first) = threads.sum_ns() {
            assert!(threads.sum_ns() > Some(first));
        }
    }
}

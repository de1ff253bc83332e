//! Gate at which the threads of a slice wait for each other, to begin together.

use crate::clock;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Time before a slice's start at which its threads wake: longer than what they read before they
/// begin takes.
const NEAR_NS: u64 = 150_000;

/// Lets the threads of a slice begin together, and stops all when one finds the target dead.
pub(crate) struct StartGate {
    arrived: Barrier,
    opened: Barrier,
    begin: Option<BeginTime>,
    start_ns: AtomicU64,
    /// True if a thread has found the target dead, or cannot go on.
    pub(crate) abort: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BeginTime {
    pub(crate) at_ns: u64,
    /// Latest time at which the intended start still holds; if a thread arrives later, the slice
    /// begins at once.
    pub(crate) latest_ns: u64,
}

impl StartGate {
    pub(crate) fn new(threads: usize, begin: Option<BeginTime>) -> StartGate {
        StartGate {
            begin,
            arrived: Barrier::new(threads),
            opened: Barrier::new(threads),
            start_ns: AtomicU64::new(0),
            abort: AtomicBool::new(false),
        }
    }

    /// Sleeps until [`NEAR_NS`] before the intended start; returns at once if there is none.
    pub(crate) fn approach(&self) {
        if let Some(begin) = self.begin {
            clock::sleep_until(begin.at_ns.saturating_sub(NEAR_NS));
        }
    }

    /// Waits for all threads and then for their common start, and returns its time.
    pub(crate) fn pass(&self) -> u64 {
        if self.arrived.wait().is_leader() {
            let now_ns = clock::monotonic_ns();
            let start_ns = self
                .begin
                .filter(|begin| now_ns <= begin.latest_ns)
                .map_or(now_ns, |begin| begin.at_ns);
            self.start_ns.store(start_ns, Ordering::Release);
        }
        self.opened.wait();
        let start_ns = self.start_ns.load(Ordering::Acquire);
        clock::wait_until(start_ns);
        start_ns
    }
}

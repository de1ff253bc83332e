//! CPU time of the threads that serve the I/O of a stack, apart from the load's own: a daemon, QEMU,
//! the kernel's RAID.

use super::visit_workers::Bench;
use anyhow::Result;
use iotax_drivers::threads::ServingThread;
use iotax_facts::place::Place;
use iotax_model::record::ThreadId;
use iotax_units::exit::Failed;
use iotax_wire::message::{Response, WireRequest};
use iotax_wire::peer::QUICK_LIMIT;
use std::collections::BTreeMap;

/// CPU time of a thread that serves I/O, at one point in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServedTime {
    at_ns: u64,
    ns: u64,
    polls: bool,
    is_vcpu: bool,
    is_kernel: bool,
}

impl ServedTime {
    pub(super) fn is_of_program(&self) -> bool {
        !self.is_vcpu && !self.is_kernel
    }
}

/// Which of the threads that serve a stack are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServedBy {
    /// All threads except virtual CPUs.
    Engine,
    Program,
    /// All threads including virtual CPUs: with the load in the guest, this is all that the stack
    /// takes of the host.
    Guest,
}

/// CPU time, in nanoseconds, of threads that serve one stack alone. `None`: there are no such
/// threads, or they serve others too.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServedApart {
    /// Threads other than the virtual CPUs of the stack's guest.
    pub engine_ns: Option<f64>,
    /// Threads of programs; 0 if there are none.
    pub programs_ns: Option<f64>,
    /// All threads of the stack's guest, if the load is in one.
    pub guest_ns: Option<f64>,
}

impl Bench<'_> {
    /// Returns the CPU time so far of each thread that serves a stack's I/O. Threads that have
    /// ended are not reported.
    pub(super) fn serving_times(
        &mut self,
        worker: usize,
    ) -> Result<BTreeMap<(Place, ThreadId), ServedTime>> {
        let mut all = BTreeMap::new();
        for (place, threads) in &self.ready[worker].serving {
            let asked = WireRequest::ThreadTimes {
                threads: threads.iter().map(|thread| thread.id).collect(),
            };
            let reached = self.places.get(place)?;
            let (at_ns, times) = match reached.send_request(asked, QUICK_LIMIT)? {
                Response::ThreadTimes { at_ns, ns } => (at_ns, ns),
                other => {
                    return Err(
                        Failed::from(reached.peer.unexpected("thread_times", &other)).into()
                    );
                }
            };
            let known = threads.iter().zip(times).filter_map(|(thread, ns)| Some((thread, ns?)));
            all.extend(known.map(|(thread, ns)| {
                let ServingThread { polls, is_vcpu, is_kernel, .. } = *thread;
                ((place.clone(), thread.id), ServedTime { at_ns, ns, polls, is_vcpu, is_kernel })
            }));
        }
        Ok(all)
    }

    pub(super) fn serving_of_all(
        &mut self,
    ) -> Result<Vec<BTreeMap<(Place, ThreadId), ServedTime>>> {
        (0..self.ready.len()).map(|worker| self.serving_times(worker)).collect()
    }
}

/// Returns, for each worker, the nanoseconds of CPU time that threads serving it alone took during
/// a series; `None` where no thread reports it, or some of them serve others too. `lasted_ns` has
/// the length of each worker's slices together.
pub(super) fn served_apart(
    before: &[BTreeMap<(Place, ThreadId), ServedTime>],
    after: &[BTreeMap<(Place, ThreadId), ServedTime>],
    lasted_ns: &[u64],
    which: ServedBy,
) -> Vec<Option<f64>> {
    let alone = |worker: usize| {
        let is_shared = |thread| {
            before.iter().enumerate().any(|(at, all)| at != worker && all.contains_key(thread))
        };
        !before[worker].keys().any(is_shared)
    };
    let all = before.iter().zip(after).zip(lasted_ns).enumerate();
    all.map(|(worker, ((from, to), ns))| served_ns(from, to, *ns, which).filter(|_| alone(worker)))
        .collect()
}

/// Returns the nanoseconds of CPU time of the threads for a slice that lasted `lasted_ns`. A thread
/// that polls is counted for its share of that time, since it also polls while a slice is prepared.
/// `None`: no thread reports it.
pub(super) fn served_ns<K: Ord>(
    before: &BTreeMap<K, ServedTime>,
    after: &BTreeMap<K, ServedTime>,
    lasted_ns: u64,
    which: ServedBy,
) -> Option<f64> {
    let of = |(thread, to): (&K, &ServedTime)| {
        let from = before.get(thread)?;
        let (ns, passed) =
            (to.ns.saturating_sub(from.ns) as f64, to.at_ns.saturating_sub(from.at_ns));
        let share = if to.polls { lasted_ns as f64 / passed.max(1) as f64 } else { 1.0 };
        Some(ns * share)
    };
    let is_wanted = |to: &ServedTime| match which {
        ServedBy::Engine => !to.is_vcpu,
        ServedBy::Program => to.is_of_program(),
        ServedBy::Guest => true,
    };
    let wanted = after.iter().filter(|(_, to)| is_wanted(to));
    let all: Vec<f64> = wanted.filter_map(of).collect();
    (!all.is_empty()).then(|| all.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_polls_counts_for_the_slice_and_no_wait_before_it() {
        let of = |all: &[(u32, u64, u64, bool)]| -> BTreeMap<u32, ServedTime> {
            let served = |(at_ns, ns, polls)| ServedTime {
                at_ns,
                ns,
                polls,
                is_vcpu: false,
                is_kernel: false,
            };
            all.iter().map(|(id, at_ns, ns, polls)| (*id, served((*at_ns, *ns, *polls)))).collect()
        };
        // Thread 1 polls for the whole 1000 between the looks, 2 works for 200; the slice lasted
        // 600. 3 is new, 4 has ended.
        let before = of(&[(1, 0, 0, true), (2, 0, 50, false), (4, 0, 9, false)]);
        let after = of(&[(1, 1000, 1000, true), (2, 1000, 250, false), (3, 1000, 70, false)]);
        assert_eq!(served_ns(&before, &after, 600, ServedBy::Engine), Some(600.0 + 200.0));
        assert_eq!(served_ns(&of(&[]), &after, 600, ServedBy::Engine), None);
        let vcpu = |ns| {
            BTreeMap::from([(
                7,
                ServedTime { at_ns: ns, ns, polls: false, is_vcpu: true, is_kernel: false },
            )])
        };
        assert_eq!(served_ns(&vcpu(1), &vcpu(9), 600, ServedBy::Engine), None);
        assert_eq!(served_ns(&vcpu(1), &vcpu(9), 600, ServedBy::Guest), Some(8.0));
    }
}

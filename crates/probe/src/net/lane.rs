//! Resident thread with one end of a flow: it waits for orders, does its part of a slice, and
//! returns its results.

use super::flow::{Flow, FlowOrder, FlowShare, FlowStop};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Stack size of a thread in bytes; its buffers are on the heap.
const STACK: usize = 256 << 10;

/// Thread of one end of a flow. Dropping it ends the thread, once a running slice has ended or is
/// given up.
pub(super) struct Lane {
    /// Number of the flow in its session.
    pub(super) index: u32,
    orders: Option<Sender<FlowOrder>>,
    shares: Receiver<Result<FlowShare, FlowStop>>,
    thread: Option<JoinHandle<()>>,
}

impl Lane {
    /// Starts the thread, on a processor if one is given.
    ///
    /// # Errors
    /// When the thread cannot be started, or not on that processor.
    pub(super) fn start(index: u32, mut flow: Flow, cpu: Option<u32>) -> io::Result<Lane> {
        let (orders, asked) = channel::<FlowOrder>();
        let (answer, shares) = channel();
        let (seat_result, seated) = channel();
        let body = move || {
            let sat = cpu.map_or(Ok(()), sit);
            let may_work = sat.is_ok();
            if seat_result.send(sat).is_err() || !may_work {
                return;
            }
            while let Ok(order) = asked.recv() {
                if answer.send(flow.run_order(&order)).is_err() {
                    return;
                }
            }
        };
        let thread =
            std::thread::Builder::new().name("probe-net".into()).stack_size(STACK).spawn(body)?;
        let lane = Lane { index, orders: Some(orders), shares, thread: Some(thread) };
        seated.recv().map_err(|_| io::Error::other("the thread ended at once"))??;
        Ok(lane)
    }

    pub(super) fn order(&self, order: FlowOrder) {
        // A thread that has ended returns no share, which reports it.
        let _ = self.orders.as_ref().map(|orders| orders.send(order));
    }

    /// Returns the results of the slice; `None` if they do not come within the given time.
    ///
    /// # Errors
    /// The reason why the slice did not finish.
    pub(super) fn wait_for_share(&self, within: Duration) -> Option<Result<FlowShare, FlowStop>> {
        match self.shares.recv_timeout(within) {
            Ok(share) => Some(share),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(FlowStop::System(
                "run a slice",
                io::Error::other("the thread ended by a panic"),
            ))),
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        drop(self.orders.take());
        // A thread that panicked has reported that.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn sit(cpu: u32) -> io::Result<()> {
    let mut set = CpuSet::new();
    if (cpu as usize) < CpuSet::MAX_CPU {
        set.set(cpu as usize);
    }
    sched_setaffinity(None, &set).map_err(|error| {
        let words = format!(
            "processor {cpu} does not exist, or this process may not use it ({error}); hint: remove cpus_allowed, or name others"
        );
        io::Error::new(io::ErrorKind::InvalidInput, words)
    })
}

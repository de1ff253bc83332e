//! What a worker is asked and what it answers: targets, slices, results, errors.

use crate::transient::Transient;
use crate::{Histogram, Hold};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// What a worker issues I/O to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// File or block device.
    pub path: PathBuf,
    /// Bytes that may be touched from the start (a file may carry our marker after them);
    /// `None`: all.
    pub bytes: Option<u64>,
    /// Whether writes were permitted; a writing job on `false` is refused.
    pub writable: bool,
    /// Completions held back (the delay layer).
    #[serde(default)]
    pub hold: Hold,
}

/// How a slice ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SliceBound {
    /// After a window of so many nanoseconds after the discarded start.
    Time {
        /// Length of the window.
        ns: u64,
    },
    /// After so many bytes (all targets, threads and directions together) were issued; nothing is
    /// discarded, the window runs from the first submission to the last acknowledgement. The
    /// bytes are shared out evenly among the threads of all targets, in whole blocks: what is left
    /// over is rounded up to one of the smallest blocks.
    Bytes {
        /// Bytes to issue.
        bytes: u64,
    },
}

/// One slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceSpec {
    /// Its end.
    pub bound: SliceBound,
    /// At least so many nanoseconds at the start are discarded (time-bound slices only); the
    /// worker takes the larger of this and twice its last time to drain.
    pub min_discard_ns: u64,
    /// Flush (fsync) every target after the last acknowledgement and report how long it took.
    pub flush: bool,
    /// CLOCK_MONOTONIC of the place at which all threads begin together, for workers in several
    /// places that begin at one time; `None`: at once. A worker that is late by no more than half
    /// of the discarded start (a fifth with a rate) catches up: its window is where it would have
    /// been. A slice by bytes begins when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_ns: Option<u64>,
}

impl SliceSpec {
    /// A slice of that bound that begins at once.
    pub fn now(bound: SliceBound, min_discard_ns: u64, flush: bool) -> SliceSpec {
        SliceSpec { bound, min_discard_ns, flush, begin_ns: None }
    }
}

/// What one direction did inside the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// Completions.
    pub ios: u64,
    /// Bytes completed.
    pub bytes: u64,
    /// Latencies, nanoseconds from just before an I/O is handed to the engine (with `rate_iops`:
    /// from its intended start; with stamps a batch: from the look at the queue before) until it
    /// was reaped and, in the delay layer, released. Of I/Os that ended in the window and took no
    /// longer than the discarded start, and of those that began in it and took longer, whenever
    /// they ended. With `rate_iops` also of those that were to start in it and never did: how long
    /// they had waited when the queue was empty.
    pub latency: Histogram,
}

/// What a slice measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SliceResult {
    /// I/Os and bytes of each of several targets, in their order; empty of one.
    pub targets: Vec<(u64, u64)>,
    /// CLOCK_MONOTONIC of the place when the window began.
    pub window_start_ns: u64,
    /// Length of the window: acknowledged time.
    pub window_ns: u64,
    /// Reads.
    pub read: Direction,
    /// Writes.
    pub write: Direction,
    /// Trims.
    pub trim: Direction,
    /// fsync and fdatasync calls that the job asked for, with their latencies.
    pub sync_latency: Histogram,
    /// Time between two looks at the queue of a thread, of the looks that found completions,
    /// nanoseconds: by so much at most a latency may be too long, since what had ended lay there.
    /// Empty where no thread has more than one I/O in flight: it waits for that one.
    pub reap_gap: Histogram,
    /// Reads, writes and trims in flight, summed up over the nanoseconds of the window and all
    /// threads: divided by the window their mean.
    pub in_flight_ns: u64,
    /// Times from issue to end of the I/Os that ended in the window, summed up, with those that
    /// failed.
    pub served_ns: u64,
    /// With `rate_iops`: time from the issue itself to the end, of the jobs that have a rate;
    /// `latency` of reads and writes begins when they were meant to be issued. Empty in a closed
    /// loop, where that is the same.
    pub service: Histogram,
    /// Reads, writes and trims completed outside the window (start and drain).
    pub discarded_ios: u64,
    /// Time discarded at the start.
    pub discarded_ns: u64,
    /// From the end of the window until the queue was empty; 0 in a slice by bytes, whose window
    /// ends then.
    pub drain_ns: u64,
    /// The final flush, if one was asked for (by the slice, or by a job with `end_fsync`):
    /// durable time = window_ns + flush_ns. Several targets are flushed at once: until the last of
    /// them is. `None` also when one failed, which is an error.
    pub flush_ns: Option<u64>,
    /// CPU time of the generator's threads in user mode over the whole slice, discarded start,
    /// drain and final flush included.
    pub cpu_user_ns: u64,
    /// The same in the kernel.
    pub cpu_system_ns: u64,
    /// I/Os, syncs and flushes that failed or came back short, inside the window or not.
    pub errors: u64,
    /// The first of them in words; with several targets, after the path of the one that it is of.
    pub first_error: Option<String>,
}

/// How long a slice of a series is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortLength {
    /// The window begins with the first completions so many nanoseconds after the start,
    pub discard_ns: u64,
    /// and ends with the first ones so many nanoseconds later.
    pub window_ns: u64,
}

/// Times of the machine since it booted that only grow, such as those of its processors by kind,
/// nanoseconds.
pub type MachineTimes = [u64; 6];

/// Reads them.
pub type ReadMachine = Arc<dyn Fn() -> Option<MachineTimes> + Send + Sync>;

/// What a series is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesSpec {
    /// Whose slices follow each other: places in the list of workers.
    pub order: Vec<usize>,
    /// Lengths of the slices of each worker.
    pub lengths: Vec<ShortLength>,
    /// When each slice of `order` begins, CLOCK_MONOTONIC of the place; one that is late begins at
    /// once. Empty: each begins after the one before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begins_ns: Vec<u64>,
    /// Width of the bins of [`Transient`], nanoseconds.
    pub bin_ns: u64,
    /// Whether each worker flushes its targets after the last slice, in the order in which they
    /// had their first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush: bool,
}

/// What one slice counted; five numbers in this order where it is stored or sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(usize, u64, u64, u64, u64)", into = "(usize, u64, u64, u64, u64)")]
pub struct ShortSlice {
    /// Place of its worker in the list.
    pub worker: usize,
    /// CLOCK_MONOTONIC of the place when it began.
    pub start_ns: u64,
    /// Length of the window, nanoseconds: of several threads their mean, as each has its own.
    pub window_ns: u64,
    /// I/Os that completed in the windows of all threads.
    pub ios: u64,
    /// From the start until all queues were empty, nanoseconds.
    pub took_ns: u64,
}

impl From<(usize, u64, u64, u64, u64)> for ShortSlice {
    fn from(
        (worker, start_ns, window_ns, ios, took_ns): (usize, u64, u64, u64, u64),
    ) -> ShortSlice {
        ShortSlice { worker, start_ns, window_ns, ios, took_ns }
    }
}

impl From<ShortSlice> for (usize, u64, u64, u64, u64) {
    fn from(slice: ShortSlice) -> (usize, u64, u64, u64, u64) {
        (slice.worker, slice.start_ns, slice.window_ns, slice.ios, slice.took_ns)
    }
}

/// What a series counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesResult {
    /// In the order in which they ran.
    pub slices: Vec<ShortSlice>,
    /// Of each worker, all its slices together: the windows and what was discarded are sums, the
    /// start is that of the first.
    pub sums: Vec<SliceResult>,
    /// How the rate of each worker began after a switch.
    pub transients: Vec<Transient>,
    /// By how much the machine's times grew during the slices of each worker; `None`: they were not
    /// read.
    pub machine: Vec<Option<MachineTimes>>,
}

/// Why a worker could not be prepared or a slice not run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The job and the target do not go together.
    #[error("{0}")]
    Unfit(String),
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    System {
        /// open, read, ...
        action: &'static str,
        /// The target.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A worker thread died, or is stuck in an I/O that does not come back. The worker is of no
    /// more use.
    #[error("a load thread stopped: {0}")]
    Thread(String),
    /// The target did nothing but fail, so the slice was ended early. The worker can be asked
    /// again.
    #[error(
        "the target only fails: {errors} I/Os failed, the first: {first}; hint: look at the kernel log of that machine"
    )]
    Failing {
        /// I/Os that failed in this slice.
        errors: u64,
        /// The first of them in words.
        first: String,
    },
}

impl SliceResult {
    /// By how much mean service time times rate and the mean number in flight differ (Little's
    /// law), a share of the latter; `None`: nothing was in flight. What began before the window or
    /// ended after it makes them differ by some I/Os of each thread.
    pub fn littles_law_error(&self) -> Option<f64> {
        (self.in_flight_ns > 0)
            .then(|| (self.served_ns as f64 / self.in_flight_ns as f64 - 1.0).abs())
    }

    /// Reads, writes and trims.
    pub fn directions(&self) -> [&Direction; 3] {
        [&self.read, &self.write, &self.trim]
    }

    /// With what another thread or worker did in the same window: all but windows, flushes and
    /// targets.
    pub fn add(&mut self, other: &SliceResult) {
        self.read.add(&other.read);
        self.write.add(&other.write);
        self.trim.add(&other.trim);
        self.sync_latency.merge(&other.sync_latency);
        self.reap_gap.merge(&other.reap_gap);
        self.service.merge(&other.service);
        self.in_flight_ns += other.in_flight_ns;
        self.served_ns += other.served_ns;
        self.discarded_ios += other.discarded_ios;
        self.discarded_ns = self.discarded_ns.max(other.discarded_ns);
        self.drain_ns = self.drain_ns.max(other.drain_ns);
        self.cpu_user_ns += other.cpu_user_ns;
        self.cpu_system_ns += other.cpu_system_ns;
        self.errors += other.errors;
        self.first_error = self.first_error.take().or_else(|| other.first_error.clone());
    }
}

impl Direction {
    /// With what another thread or worker did in the same window.
    fn add(&mut self, other: &Direction) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
    }
}

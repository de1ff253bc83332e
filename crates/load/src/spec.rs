//! Requests to a worker and its answers: targets, slices, results, errors.

use crate::transient::Transient;
use crate::{Histogram, Hold};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// File or block device that a worker issues I/O to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// Path of the file or block device.
    pub path: PathBuf,
    /// First byte that may be touched.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: u64,
    /// Bytes from there that may be touched (a file may carry our marker after them); `None` means
    /// all.
    pub bytes: Option<u64>,
    /// True if writing is permitted; a job that writes is refused otherwise.
    pub writable: bool,
    /// Delay added to each completion (the delay layer).
    #[serde(default)]
    pub hold: Hold,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Condition that ends a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SliceBound {
    /// Ends after a window of `ns` nanoseconds, which follows the discarded start.
    Time {
        /// Length of the window in nanoseconds.
        ns: u64,
    },
    /// Ends after `bytes` bytes were issued, over all targets, threads and directions. Nothing is
    /// discarded: the window runs from the first submission to the last acknowledgement. The
    /// threads of all targets share the bytes evenly, in whole blocks. The remainder is rounded up
    /// to one of the smallest blocks.
    Bytes {
        /// Number of bytes to issue.
        bytes: u64,
    },
}

/// Parameters of one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceSpec {
    /// Condition that ends the slice.
    pub bound: SliceBound,
    /// Minimum time discarded at the start, in nanoseconds (time-bound slices only). The worker
    /// takes the larger of this and twice its last time to drain.
    pub min_discard_ns: u64,
    /// True if every target is flushed (fsync) after the last acknowledgement; the result has the
    /// time it took.
    pub flush: bool,
    /// CLOCK_MONOTONIC time, in the place of the load, at which all threads begin together. It lets
    /// workers in several places begin at one time. `None` means at once. A worker that is late by
    /// no more than half of the discarded start (a fifth with a rate) catches up: its window is
    /// where it would have been. One that is later, or late in a slice by bytes, begins at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_ns: Option<u64>,
}

impl SliceSpec {
    /// Returns a slice with the given bound that begins at once.
    pub fn starting_now(bound: SliceBound, min_discard_ns: u64, flush: bool) -> SliceSpec {
        SliceSpec { bound, min_discard_ns, flush, begin_ns: None }
    }
}

/// I/Os, bytes and latencies of one direction inside the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// Number of completed I/Os.
    pub ios: u64,
    /// Bytes of the completed I/Os.
    pub bytes: u64,
    /// Latencies in nanoseconds. A latency begins just before the I/O is handed to the engine (with
    /// `rate_iops`: at its intended start; with a stamp per batch: at the look at the queue
    /// before). It ends when the I/O was reaped and, in the delay layer, released. The histogram
    /// has the I/Os that ended in the window and took no longer than the discarded start, and those
    /// that began in the window and took longer, whenever they ended. With `rate_iops` it also has
    /// the I/Os that were to start in the window and never did, with the time that they had waited
    /// when the queue was empty.
    pub latency: Histogram,
}

/// Measurements of one slice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SliceResult {
    /// I/Os and bytes of each target, in the order of the targets; empty if there is only one.
    pub targets: Vec<(u64, u64)>,
    /// CLOCK_MONOTONIC time, in the place of the load, at which the window began.
    pub window_start_ns: u64,
    /// Length of the window, which is the acknowledged time.
    pub window_ns: u64,
    /// Counts and latencies of reads.
    pub read: Direction,
    /// Counts and latencies of writes.
    pub write: Direction,
    /// Counts and latencies of trims.
    pub trim: Direction,
    /// Latencies of the fsync and fdatasync calls that the job asked for.
    pub sync_latency: Histogram,
    /// Time between two looks at a thread's queue, in nanoseconds, for looks that found
    /// completions. A latency may be too long by at most this much, since a finished I/O lay in the
    /// queue. Empty where no thread has more than one I/O in flight: it waits for that one.
    pub reap_gap: Histogram,
    /// Reads, writes and trims in flight, summed over the nanoseconds of the window and all
    /// threads. Divided by the window, this is their mean number.
    pub in_flight_ns: u64,
    /// Sum of the times from issue to end, over all reads, writes and trims that ended in the
    /// window, failed ones included.
    pub served_ns: u64,
    /// Time from the actual issue to the end, for jobs with `rate_iops`. Their `latency` of reads
    /// and writes begins at the intended issue. Empty in a closed loop, where both are equal.
    pub service: Histogram,
    /// Reads, writes and trims completed outside the window (start and drain).
    pub discarded_ios: u64,
    /// Time discarded at the start.
    pub discarded_ns: u64,
    /// Time from the end of the window until the queue was empty; 0 in a slice by bytes, whose
    /// window ends then.
    pub drain_ns: u64,
    /// Time of the final flush, if the slice or a job with `end_fsync` asked for one: durable time
    /// = window_ns + flush_ns. Several targets are flushed at once, and the time runs until the
    /// last of them is done. `None` also if a flush failed, which is an error.
    pub flush_ns: Option<u64>,
    /// CPU time of the generator's threads in user mode over the whole slice, discarded start,
    /// drain and final flush included.
    pub cpu_user_ns: u64,
    /// CPU time of these threads in the kernel, over the same span.
    pub cpu_system_ns: u64,
    /// I/Os, syncs and flushes that failed or moved too few bytes, inside the window or not.
    pub errors: u64,
    /// First of these errors in words; with several targets, the path of its target comes first.
    pub first_error: Option<String>,
}

/// Length of one slice of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortLength {
    /// Time from the start, in nanoseconds, after which the window begins with the next
    /// completions.
    pub discard_ns: u64,
    /// Time from the beginning of the window, in nanoseconds, after which it ends with the next
    /// completions.
    pub window_ns: u64,
}

/// Times of the machine since boot that only grow, such as its processor times by kind, in
/// nanoseconds.
pub type MachineTimes = [u64; 6];

/// Function that reads the machine's times; `None` if they cannot be read.
pub type ReadMachine = Arc<dyn Fn() -> Option<MachineTimes> + Send + Sync>;

/// Parameters of a series of slices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesSpec {
    /// Worker of each slice, in the order of the slices, as index into the list of workers.
    pub order: Vec<usize>,
    /// Length of the slices of each worker, in the order of the list of workers.
    pub lengths: Vec<ShortLength>,
    /// CLOCK_MONOTONIC time, in the place of the load, at which each slice of `order` begins. A
    /// late slice begins at once. Empty: each slice begins after the one before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begins_ns: Vec<u64>,
    /// Width of the bins of [`Transient`], in nanoseconds.
    pub bin_ns: u64,
    /// True if each worker flushes its targets after the last slice, in the order of the workers'
    /// first slices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush: bool,
}

/// Counts of one slice of a series. It is stored and sent as five numbers in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(usize, u64, u64, u64, u64)", into = "(usize, u64, u64, u64, u64)")]
pub struct ShortSlice {
    /// Index of the slice's worker in the list of workers.
    pub worker: usize,
    /// CLOCK_MONOTONIC time, in the place of the load, at which the slice began.
    pub start_ns: u64,
    /// Length of the window in nanoseconds. Each thread has its own window: with several threads
    /// this is the mean.
    pub window_ns: u64,
    /// I/Os that completed in the windows of all threads.
    pub ios: u64,
    /// Time from the start until all queues were empty, in nanoseconds.
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

/// Results of a series of slices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesResult {
    /// Slices in the order in which they ran.
    pub slices: Vec<ShortSlice>,
    /// Results of each worker, summed over its slices: windows and discarded times are sums, too.
    /// The start is that of its first slice.
    pub sums: Vec<SliceResult>,
    /// Rate of each worker just after the start of its slices.
    pub transients: Vec<Transient>,
    /// Growth of the machine's times during the slices of each worker, in sum; `None` if they were
    /// not read.
    pub machine: Vec<Option<MachineTimes>>,
}

/// Reason why a worker could not be prepared or a slice could not run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A target, job or slice is invalid, or they do not go together.
    #[error("{0}")]
    Unfit(String),
    /// The system refused a call on the target.
    #[error("cannot {action} {}: {source}", path.display())]
    System {
        /// Failed action: open, read, ...
        action: &'static str,
        /// Path of the target.
        path: PathBuf,
        /// Error that the system returned.
        source: std::io::Error,
    },
    /// A worker thread died, is stuck in an I/O that does not come back, or its engine failed. The
    /// worker is no longer usable.
    #[error("a load thread stopped: {0}")]
    Thread(String),
    /// The target only failed, so the slice was ended early. The worker can run another slice.
    #[error(
        "the target only fails: {errors} I/Os failed, the first: {first}; hint: look at the kernel log of that machine"
    )]
    Failing {
        /// I/Os that failed in this slice.
        errors: u64,
        /// First of these failures in words.
        first: String,
    },
}

impl SliceResult {
    /// Returns how far mean service time times rate deviates from the mean number of I/Os in flight
    /// (Little's law), as a share of that number, without sign; `None` if nothing was in flight.
    /// I/Os that began before the window or ended after it make the two differ by some I/Os of each
    /// thread.
    pub fn littles_law_error(&self) -> Option<f64> {
        (self.in_flight_ns > 0)
            .then(|| (self.served_ns as f64 / self.in_flight_ns as f64 - 1.0).abs())
    }

    /// Returns the counts of reads, writes and trims, in this order.
    pub fn directions(&self) -> [&Direction; 3] {
        [&self.read, &self.write, &self.trim]
    }

    /// Returns `ns` times the share that the windows have in the whole time of a worker's slices:
    /// windows, discarded starts and drains.
    pub fn share_of_windows(&self, ns: u64) -> u64 {
        let all_ns = self.window_ns + self.discarded_ns + self.drain_ns;
        (ns as f64 * self.window_ns as f64 / all_ns.max(1) as f64) as u64
    }

    /// Adds the results of another thread or worker in the same window, except windows, flushes and
    /// targets. The longer discarded start and drain count, and the first error stays.
    pub fn add(&mut self, other: &SliceResult) {
        self.read.add_counts(&other.read);
        self.write.add_counts(&other.write);
        self.trim.add_counts(&other.trim);
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
    /// Adds the counts of another thread or worker in the same window.
    fn add_counts(&mut self, other: &Direction) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
    }
}

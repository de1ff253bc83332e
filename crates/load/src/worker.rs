//! A resident worker: prepare, run a slice, rest, run a slice, end.

use crate::{Chosen, EngineName, Histogram, Hold, Job};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a worker issues I/O to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// File or block device.
    pub path: PathBuf,
    /// Bytes that may be touched from the start (a file may carry our marker behind them);
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
pub enum Bound {
    /// After a window of so many nanoseconds behind the discarded start.
    Time {
        /// Length of the window.
        ns: u64,
    },
    /// After so many bytes (all threads and directions together) were issued; nothing is
    /// discarded, the window runs from the first submission to the last acknowledgement.
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
    pub bound: Bound,
    /// At least so many nanoseconds at the start are discarded (time-bound slices only); the
    /// worker takes the larger of this and twice its last time to drain.
    pub min_discard_ns: u64,
    /// Flush (fsync) after the last acknowledgement and report how long it took.
    pub flush: bool,
}

/// What one direction did inside the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// Completions.
    pub ios: u64,
    /// Bytes completed.
    pub bytes: u64,
    /// Latency of each of them, nanoseconds from submission to release.
    pub latency: Histogram,
}

/// What a slice measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SliceResult {
    /// CLOCK_MONOTONIC of the place when the window began.
    pub window_start_ns: u64,
    /// Length of the window: acknowledged time.
    pub window_ns: u64,
    /// Reads.
    pub read: Direction,
    /// Writes.
    pub write: Direction,
    /// fsync and fdatasync calls that the job asked for, with their latencies.
    pub sync_latency: Histogram,
    /// Completions outside the window (start and drain).
    pub discarded_ios: u64,
    /// Time discarded at the start.
    pub discarded_ns: u64,
    /// From the end of the window until the queue was empty.
    pub drain_ns: u64,
    /// The final flush, if one was asked for: durable time = window_ns + flush_ns.
    pub flush_ns: Option<u64>,
    /// CPU time of the generator's threads in user mode over the whole slice.
    pub cpu_user_ns: u64,
    /// The same in the kernel.
    pub cpu_system_ns: u64,
    /// I/Os that failed or came back short.
    pub errors: u64,
    /// The first of them in words.
    pub first_error: Option<String>,
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
    /// A worker thread died.
    #[error("a load thread stopped: {0}")]
    Thread(String),
}

/// Threads, memory and queue, resident on one target.
pub struct Worker {
    chosen: Chosen,
}

impl Worker {
    /// Opens the target, allocates buffers, starts the threads and leaves them waiting.
    ///
    /// # Errors
    /// [`LoadError::Unfit`] when block size, alignment, region or permission do not fit the
    /// target; [`LoadError::System`] when it cannot be opened.
    pub fn prepare(
        _target: &TargetSpec,
        _jobs: &[Job],
        _engine: Option<EngineName>,
    ) -> Result<Worker, LoadError> {
        Err(LoadError::Unfit("not built yet".into()))
    }

    /// The engine in use and why.
    pub fn engine(&self) -> &Chosen {
        &self.chosen
    }

    /// Runs one slice and leaves the queue empty.
    ///
    /// # Errors
    /// [`LoadError::Thread`] when a load thread died. I/O errors are counted, not returned.
    pub fn slice(&mut self, _spec: &SliceSpec) -> Result<SliceResult, LoadError> {
        Err(LoadError::Thread("not built yet".into()))
    }
}

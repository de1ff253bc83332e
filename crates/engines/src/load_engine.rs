//! A load engine, which is prepared once for a target, or for several, and then runs slices. It
//! leaves out what it does not know.

use iotax_facts::Engine;
use iotax_host::Missing;
use iotax_load::{Job, LoadError, SliceResult, SliceSpec, TargetSpec, VerifiedWorker, Worker};
use iotax_probe::Exchange;
use iotax_units::exit::{self, Failed};
use std::ops::ControlFlow;

/// Prepared engine. Dropping it ends it.
pub trait LoadEngine {
    /// Returns the name for the record: `null`, `sync`, `uring`, `fio 3.33`.
    fn name(&self) -> String;
    /// Returns a clause that says why this engine was chosen.
    fn choice_reason(&self) -> String;
    /// Returns the exact command of a slice, for engines that are programs.
    fn slice_command(&self) -> Option<Vec<String>> {
        None
    }
    /// Runs one slice and waits until no I/O is in flight. I/O errors are counted in the result.
    ///
    /// # Errors
    /// If the engine fails or has died.
    fn run_slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, EngineError>;
    /// Returns the worker of our own generator, which may take part in a series, or `None` for
    /// another engine.
    fn own_worker(&self) -> Option<&Worker> {
        None
    }
    /// Returns what a network probe observed in its last slice beside the result; `None` for other
    /// engines.
    fn probe_exchange(&self) -> Option<Exchange> {
        None
    }
    /// Returns what checks of the data that the engine wrote have found: in the reads of its load
    /// and, with `read`, in reading all of it back now. `progress` gets the share that is read back
    /// and may stop that.
    ///
    /// # Errors
    /// [`EngineError::Unfit`] for an engine that does not verify. Fails too if the engine died.
    fn verify_writes(
        &mut self,
        _read: bool,
        _progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> Result<VerifiedWorker, EngineError> {
        Err(EngineError::Unfit(format!(
            "the engine {} does not verify what it writes",
            self.name()
        )))
    }
}

/// Prepares an engine of the kind for targets, each of which gets every job at the same time. The
/// last argument is an existing worker, whose threads it shares if it can.
type Prepare = fn(
    &[TargetSpec],
    &[Job],
    Option<Engine>,
    Option<&Worker>,
) -> Result<Box<dyn LoadEngine>, EngineError>;

pub struct EngineKind {
    /// Needs of the engine, as ids in `host::needs`, on the machine where it runs.
    pub needs: &'static [&'static str],
    /// Shortest window, in nanoseconds, that the engine measures well enough: in a shorter one its
    /// clock's step is above 0.1 %, or its start outweighs the window. Slices are made at least as
    /// long.
    pub shortest_slice_ns: u64,
    /// True if `engine = "..."` means this kind, or if no engine is named and this is the default.
    pub answers: fn(Option<Engine>) -> bool,
    pub prepare: Prepare,
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("{} is not installed; hint: {}", .0.what, .0.command)]
    Missing(Missing),
    /// Reason why an engine cannot do what it should: run a job on a target, or verify what it
    /// wrote.
    #[error("{0}")]
    Unfit(String),
    #[error("fio failed ({status}): {words}")]
    Fio { status: String, words: String },
    #[error("cannot read fio's output: {0}")]
    Output(String),
    /// Reason why a probe failed: its program, or the other end, did not do what it should.
    #[error("{0}")]
    Probe(String),
    #[error("cannot {action}: {source}")]
    System { action: String, source: std::io::Error },
}

impl EngineError {
    /// Returns the exit code that the error leads to.
    pub fn code(&self) -> u8 {
        match self {
            EngineError::Load(LoadError::Unfit(_)) | EngineError::Unfit(_) => exit::BAD_INPUT,
            EngineError::Load(LoadError::System { action: "open", source, .. }) => {
                exit::of_io("", source).code
            }
            EngineError::Missing(_) => exit::UNMET_NEED,
            _ => exit::MEASUREMENT_FAILED,
        }
    }
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Failed {
        match &error {
            EngineError::Load(LoadError::System { action: "open", path, source }) => {
                exit::of_io(format!("cannot open {}", path.display()), source)
            }
            _ => Failed { code: error.code(), message: error.to_string() },
        }
    }
}

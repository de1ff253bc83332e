//! The family of load engines: our own workers, and the installed fio. An engine is prepared once
//! on a target, or on several at once, and then runs slices; what it does not know it does not make
//! up.

pub mod fio;
pub mod native;
pub mod probe;

pub use fio::Fio;
pub use native::Native;

use iotax_facts::Engine;
use iotax_host::Missing;
use iotax_load::{Job, LoadError, SliceResult, SliceSpec, TargetSpec, VerifiedWorker, Worker};
use iotax_probe::net::Exchange;
use iotax_units::exit::{self, Failed};
use std::ops::ControlFlow;

/// A prepared engine. Dropping it ends it.
pub trait LoadEngine {
    /// For the record: `null`, `sync`, `uring`, `fio 3.33`.
    fn name(&self) -> String;
    /// Why this one, a clause.
    fn why(&self) -> String;
    /// The exact command of a slice, for engines that are programs.
    fn command(&self) -> Option<Vec<String>> {
        None
    }
    /// Runs one slice and leaves the queue empty.
    ///
    /// # Errors
    /// When the engine died. I/O errors are counted in the result.
    fn slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, EngineError>;
    /// The worker of our own generator that it is, which may take part in a series; `None`: it is
    /// another engine.
    fn worker(&self) -> Option<&Worker> {
        None
    }
    /// What a network probe saw beside the result of its last slice.
    fn exchange(&self) -> Option<Exchange> {
        None
    }
    /// Tells what was found of what it wrote; with `read`, of all of it, read back now. `tell` gets
    /// the share that is done and says whether anybody wants the rest.
    ///
    /// # Errors
    /// [`EngineError::Unfit`] of an engine that does not verify; when the engine died.
    fn verify(
        &mut self,
        _read: bool,
        _tell: &mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> Result<VerifiedWorker, EngineError> {
        Err(EngineError::Unfit(format!(
            "the engine {} does not verify what it writes",
            self.name()
        )))
    }
}

/// Makes an engine ready on a target, or on several that get every job at once; beside a worker
/// that is there already, if it can.
type Prepare = fn(
    &[TargetSpec],
    &[Job],
    Option<Engine>,
    Option<&Worker>,
) -> Result<Box<dyn LoadEngine>, EngineError>;

/// A member of the family.
pub struct EngineKind {
    /// Ids in `host::needs`, on the machine where it runs.
    pub needs: &'static [&'static str],
    /// Windows shorter than this are not known well enough: its clock's step is above 0.1 % of
    /// them, or its start-up dwarfs them. Slices are made as long.
    pub shortest_slice_ns: u64,
    /// Whether it is meant by `engine = "..."`, or by no word at all.
    pub answers: fn(Option<Engine>) -> bool,
    pub prepare: Prepare,
}

pub const ALL: &[&EngineKind] = &[&native::KIND, &fio::KIND];

/// Why an engine could not be prepared or a slice not run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Of our own generator.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A program is not installed.
    #[error("{} is not installed; hint: {}", .0.what, .0.command)]
    Missing(Missing),
    /// The job cannot be run by this engine on this target.
    #[error("{0}")]
    Unfit(String),
    #[error("fio failed ({status}): {words}")]
    Fio {
        /// Exit status or signal in words.
        status: String,
        /// The end of what it wrote.
        words: String,
    },
    /// fio's output is not what it should be.
    #[error("cannot read fio's output: {0}")]
    Output(String),
    /// A probe, or the other end of one, did not do what it should.
    #[error("{0}")]
    Probe(String),
    #[error("cannot {action}: {source}")]
    System { action: String, source: std::io::Error },
}

impl EngineError {
    /// The exit code it leads to.
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

/// Makes the engine that was named, or chooses one of ours.
///
/// # Errors
/// What does not fit, is missing, or was refused.
pub fn prepare(
    targets: &[TargetSpec],
    jobs: &[Job],
    engine: Option<Engine>,
    beside: Option<&Worker>,
) -> Result<Box<dyn LoadEngine>, EngineError> {
    (kind_of(engine).prepare)(targets, jobs, engine, beside)
}

/// The member that answers to a word, or to none.
pub fn kind_of(engine: Option<Engine>) -> &'static EngineKind {
    ALL.iter().find(|kind| (kind.answers)(engine)).unwrap_or(&&native::KIND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_has_one_member() {
        let native = iotax_load::engine::ALL.iter().map(|kind| Some(Engine::Native(kind.name)));
        for engine in native.chain([None, Some(Engine::Fio)]) {
            assert_eq!(ALL.iter().filter(|kind| (kind.answers)(engine)).count(), 1, "{engine:?}");
        }
    }
}

//! The kinds of load engines: our own workers, and the installed fio.

use crate::load_engine::{EngineError, EngineKind, LoadEngine};
use crate::{fio, native};
use iotax_facts::Engine;
use iotax_load::{Job, TargetSpec, Worker};

pub const ALL: &[&EngineKind] = &[&native::KIND, &fio::KIND];

/// Prepares the engine that was named, or one of our own if none was. An engine of our own shares
/// the threads of the worker `beside`, if it can.
///
/// # Errors
/// If a target or a job does not suit the engine, a program is missing, or the system refuses.
pub fn prepare(
    targets: &[TargetSpec],
    jobs: &[Job],
    engine: Option<Engine>,
    beside: Option<&Worker>,
) -> Result<Box<dyn LoadEngine>, EngineError> {
    (kind_of(engine).prepare)(targets, jobs, engine, beside)
}

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

//! Uses our own load generator as an engine. It refuses what crates/load refuses.

use crate::load_engine::{EngineError, EngineKind, LoadEngine};
use iotax_facts::Engine;
use iotax_load::{Job, SliceResult, SliceSpec, TargetSpec, VerifiedWorker, Worker};
use std::ops::ControlFlow;

pub(super) static KIND: EngineKind = EngineKind {
    needs: &[],
    shortest_slice_ns: 1_000_000,
    answers: |engine| !matches!(engine, Some(Engine::Fio)),
    prepare,
};

/// Engine that runs a worker of crates/load.
pub struct Native(Worker);

fn prepare(
    targets: &[TargetSpec],
    jobs: &[Job],
    engine: Option<Engine>,
    beside: Option<&Worker>,
) -> Result<Box<dyn LoadEngine>, EngineError> {
    let named = match engine {
        Some(Engine::Native(name)) => Some(name),
        Some(Engine::Fio) | None => None,
    };
    Ok(Box::new(Native(Worker::prepare_beside(beside, targets, jobs, named)?)))
}

impl LoadEngine for Native {
    fn name(&self) -> String {
        self.0.engine().name.to_string()
    }

    fn choice_reason(&self) -> String {
        self.0.engine().why.clone()
    }

    fn own_worker(&self) -> Option<&Worker> {
        Some(&self.0)
    }

    fn run_slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, EngineError> {
        Ok(self.0.measure_slice(spec)?)
    }

    fn verify_writes(
        &mut self,
        read: bool,
        progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> Result<VerifiedWorker, EngineError> {
        Ok(self.0.verify(read, progress)?)
    }
}

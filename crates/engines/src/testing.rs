//! A machine and engine for tests of the wire: answers at once, or as badly as a test wants.

use crate::load_engine::{EngineError, LoadEngine};
use crate::serving::{Handler, ProgressLine};
use anyhow::{Result, bail};
use iotax_drivers::disk_key::DiskKey;
use iotax_facts::Engine;
use iotax_facts::slice::{CpuTimes, QuiesceGate};
use iotax_host::facts::Facts;
use iotax_load::{Job, SliceBound, SliceResult, SliceSpec, TargetSpec, VerifiedWorker};
use iotax_units::exit::Failed;
use serde_json::Value;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Obeys `step` payloads: `{"sleep_ms":N}`, `{"panic":"words"}`, `{"fail":"words"}`, `{"bytes":N}`,
/// `{"work_ms":N}`, which reports its progress and can be stopped.
#[derive(Default)]
pub struct FakeHandler {
    pub alive: Arc<AtomicUsize>,
    /// Targets that were permitted.
    pub permitted: Arc<AtomicUsize>,
    /// Time that it takes to clean up what it keeps.
    pub ends_in: Duration,
    line: ProgressLine,
}

impl Drop for FakeHandler {
    fn drop(&mut self) {
        std::thread::sleep(self.ends_in);
    }
}

/// A worker that counts itself and reports its window as asked for.
struct FakeEngine(Arc<AtomicUsize>);

impl Drop for FakeEngine {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl LoadEngine for FakeEngine {
    fn name(&self) -> String {
        "fake".into()
    }

    fn choice_reason(&self) -> String {
        "a test".into()
    }

    fn run_slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, EngineError> {
        let SliceBound::Time { ns } = spec.bound else {
            return Err(EngineError::Unfit("no bytes here".into()));
        };
        let mut result = SliceResult {
            window_ns: ns,
            flush_ns: spec.flush.then_some(5),
            ..SliceResult::default()
        };
        result.read.ios = 100;
        (1..=100).for_each(|i| result.read.latency.record(i * 1000));
        Ok(result)
    }

    /// Takes an hour, if somebody wants all of it.
    fn verify_writes(
        &mut self,
        read: bool,
        tell: &mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> Result<VerifiedWorker, EngineError> {
        let blocks: u32 = if read { 3_600_000 } else { 0 };
        for done in 0..blocks {
            if tell(f64::from(done) / f64::from(blocks)).is_break() {
                return Ok(VerifiedWorker { took_ns: done.into(), ..VerifiedWorker::default() });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(VerifiedWorker { whole: true, ..VerifiedWorker::default() })
    }
}

impl Handler for FakeHandler {
    #[allow(clippy::needless_update, reason = "facts grow")]
    fn gather_facts(&mut self, _devices: &[PathBuf], _programs: &[String]) -> Result<Facts> {
        Ok(Facts { hostname: Some("fake".into()), ..Facts::default() })
    }

    fn attach_progress_line(&mut self, line: ProgressLine) {
        self.line = line;
    }

    fn handle_step(&mut self, payload: Value) -> Result<Value> {
        for ms in 0..payload["work_ms"].as_u64().unwrap_or(0) {
            if self.line.report(ms.into()).is_break() {
                bail!("stopped");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some(ms) = payload["sleep_ms"].as_u64() {
            std::thread::sleep(Duration::from_millis(ms));
        }
        if let Some(words) = payload["panic"].as_str() {
            panic!("{words}");
        }
        if let Some(words) = payload["fail"].as_str() {
            bail!(Failed::need(words));
        }
        match payload["bytes"].as_u64() {
            Some(bytes) => Ok(Value::String("x".repeat(bytes as usize))),
            None => Ok(payload),
        }
    }

    fn inspect_path(&mut self, path: &Path) -> Result<Value> {
        Ok(serde_json::json!({ "path": path }))
    }

    fn ask_guard(&mut self, payload: Value) -> Result<Value> {
        Ok(payload)
    }

    fn permit_write(&mut self, target: &TargetSpec) -> Result<()> {
        if !target.writable {
            bail!(Failed::input("no consent for it"));
        }
        self.permitted.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn find_block_device(&mut self, key: &DiskKey) -> Result<PathBuf> {
        Ok(Path::new("/dev/disk").join(key.value()))
    }

    fn await_quiet(&mut self, _paths: &[PathBuf], limit: Duration) -> Result<QuiesceGate> {
        Ok(QuiesceGate { waited_ns: limit.as_nanos() as u64, ..QuiesceGate::NOTHING_OWED })
    }

    fn cpu_times(&mut self) -> Result<CpuTimes> {
        Ok(CpuTimes { idle_ns: 9, ..CpuTimes::default() })
    }

    fn prepare_load_worker(
        &mut self,
        _targets: &[TargetSpec],
        _jobs: &[Job],
        _engine: Option<Engine>,
        _beside: Option<&iotax_load::Worker>,
    ) -> Result<Box<dyn LoadEngine>> {
        self.alive.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(FakeEngine(self.alive.clone())))
    }
}

/// Makes a target for fakes.
pub fn target(writable: bool) -> TargetSpec {
    TargetSpec {
        path: "/dev/fake".into(),
        offset: 0,
        bytes: None,
        writable,
        hold: iotax_load::Hold::default(),
    }
}

pub fn spec() -> SliceSpec {
    SliceSpec {
        bound: SliceBound::Time { ns: 10_000_000 },
        min_discard_ns: 0,
        flush: true,
        begin_ns: None,
    }
}

//! Uses a probe as an engine: it reports units of work where other engines report I/Os.

use crate::load_engine::{EngineError, LoadEngine};
use iotax_load::{SliceResult, SliceSpec};
use iotax_probe::{Exchange, Probe, ProbeError, ProbeSpec};

struct Probed {
    probe: Box<dyn Probe>,
    why: String,
}

pub fn prepare(spec: &ProbeSpec) -> Result<Box<dyn LoadEngine>, EngineError> {
    let probe = iotax_probe::prepare(spec)?;
    // A path that the kernel does not report is measured all the same.
    let path = spec.peer.and_then(|peer| iotax_probe::net::path::facts(peer.ip()).ok());
    let why =
        path.map_or_else(|| "the probe that was asked for".to_owned(), |path| format!("to {path}"));
    Ok(Box::new(Probed { probe, why }))
}

impl LoadEngine for Probed {
    fn name(&self) -> String {
        self.probe.name()
    }

    fn choice_reason(&self) -> String {
        self.why.clone()
    }

    fn slice_command(&self) -> Option<Vec<String>> {
        self.probe.slice_command()
    }

    fn probe_exchange(&self) -> Option<Exchange> {
        self.probe.last_exchange()
    }

    fn run_slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, EngineError> {
        Ok(self.probe.run_probe_slice(spec)?)
    }
}

impl From<ProbeError> for EngineError {
    fn from(error: ProbeError) -> EngineError {
        match error {
            ProbeError::Load(error) => EngineError::Load(error),
            ProbeError::System { action, source } => EngineError::System { action, source },
            ProbeError::Failed(why) => EngineError::Probe(why),
            ProbeError::Unfit(_) | ProbeError::Missing { .. } => {
                EngineError::Unfit(error.to_string())
            }
        }
    }
}

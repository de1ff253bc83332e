//! A probe as an engine: it gives units of work where others give I/Os.

use super::{EngineError, LoadEngine};
use iotax_load::{SliceResult, SliceSpec};
use iotax_probe::net::Exchange;
use iotax_probe::{Probe, ProbeError, ProbeSpec};

struct Probed(Box<dyn Probe>);

/// Makes a probe ready in this place.
///
/// # Errors
/// As the probe says.
pub fn prepare(spec: &ProbeSpec) -> Result<Box<dyn LoadEngine>, EngineError> {
    Ok(Box::new(Probed(iotax_probe::prepare(spec)?)))
}

impl LoadEngine for Probed {
    fn name(&self) -> String {
        self.0.name()
    }

    fn why(&self) -> String {
        "the probe that was asked for".into()
    }

    fn command(&self) -> Option<Vec<String>> {
        self.0.command()
    }

    fn exchange(&self) -> Option<Exchange> {
        self.0.exchange()
    }

    fn slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, EngineError> {
        Ok(self.0.slice(spec)?)
    }
}

impl From<ProbeError> for EngineError {
    fn from(error: ProbeError) -> EngineError {
        match error {
            ProbeError::Load(error) => EngineError::Load(error),
            ProbeError::System { action, source } => EngineError::System { action, source },
            ProbeError::Failed(why) => EngineError::Probe(why),
            ProbeError::Unfit(_) | ProbeError::Missing { .. } => EngineError::Unfit(error.to_string()),
        }
    }
}

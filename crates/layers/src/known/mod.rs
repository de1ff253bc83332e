//! Layers of known cost, which check the measuring itself: null (A against A), delay, and another
//! load generator.

use super::{ExposedDevice, Layer, PlanContext, required_word};
use anyhow::{Error, Result, anyhow};
use iotax_load::Hold;
use iotax_model::layer::{LayerHelp, delay, engine, microseconds_as_ns, null, percent_as_ppm};
use iotax_model::scenario::error::Fault;
use iotax_model::scenario::values::parse_engine;
use iotax_model::stack::LayerSpec;

pub const ALL: &[&dyn Layer] = &[&Null, &Delay, &EngineLayer];

/// Layer that adds nothing: the device above it is the device below it.
pub struct Null;

impl Layer for Null {
    fn help(&self) -> &'static LayerHelp {
        &null::HELP
    }

    fn plan(
        &self,
        _: &LayerSpec,
        below: &ExposedDevice,
        _: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        Ok(below.clone())
    }
}

/// Layer of known cost: the load generator holds each completion back, for a fixed time, for a
/// percentage of the time that the I/O took, or both.
pub struct Delay;

impl Layer for Delay {
    fn help(&self) -> &'static LayerHelp {
        &delay::HELP
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        _: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let hold = hold_of(spec)?;
        let mut exposed = below.clone();
        exposed.hold.ns += hold.ns;
        exposed.hold.share_ppm += hold.share_ppm;
        Ok(exposed)
    }
}

/// Another load generator on the same target, which shows the generators' own cost.
pub struct EngineLayer;

impl Layer for EngineLayer {
    fn help(&self) -> &'static LayerHelp {
        &engine::HELP
    }

    fn needs(&self, spec: &LayerSpec) -> Vec<&'static str> {
        if spec.option("name") == Some("fio") { vec!["fio"] } else { Vec::new() }
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        _: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let engine = parse_engine(required_word(spec, "name")?)
            .map_err(|fault| option_error(spec, fault))?;
        Ok(ExposedDevice { engine, ..below.clone() })
    }
}

fn hold_of(spec: &LayerSpec) -> Result<Hold> {
    let us = spec.option("us").map_or(Ok(0), microseconds_as_ns);
    let percent = spec.option("percent").map_or(Ok(0), percent_as_ppm);
    Ok(Hold {
        ns: us.map_err(|fault| option_error(spec, fault))?,
        share_ppm: percent.map_err(|fault| option_error(spec, fault))?,
    })
}

fn option_error(spec: &LayerSpec, fault: Fault) -> Error {
    anyhow!("{}: {}", spec.origin, fault.why)
}

//! Layers of known cost, to measure the ruler: null (A against A), delay, and another load generator.

use super::{Exposed, Layer, PlanContext, option};
use crate::scenario::LayerSpec;
use crate::scenario::values::parse_engine;
use anyhow::{Result, anyhow};
use iotax_load::Hold;

/// Nothing at all: what is above it is what is below it.
pub struct Null;

impl Layer for Null {
    fn name(&self) -> &'static str {
        "null"
    }

    fn plan(&self, _: &LayerSpec, below: &Exposed, _: &mut PlanContext) -> Result<Exposed> {
        Ok(below.clone())
    }
}

/// The worker holds each completion back: a stack of known cost.
pub struct Delay;

impl Layer for Delay {
    fn name(&self) -> &'static str {
        "delay"
    }

    fn plan(&self, spec: &LayerSpec, below: &Exposed, _: &mut PlanContext) -> Result<Exposed> {
        let hold = hold_of(spec)?;
        let mut exposed = below.clone();
        exposed.hold.ns += hold.ns;
        exposed.hold.share_ppm += hold.share_ppm;
        Ok(exposed)
    }
}

/// Another load generator on the same target: what the generators charge.
pub struct EngineLayer;

impl Layer for EngineLayer {
    fn name(&self) -> &'static str {
        "engine"
    }

    fn needs(&self, spec: &LayerSpec) -> Vec<&'static str> {
        if option(spec, "name") == Some("fio") { vec!["fio"] } else { Vec::new() }
    }

    fn plan(&self, spec: &LayerSpec, below: &Exposed, _: &mut PlanContext) -> Result<Exposed> {
        let word = option(spec, "name").unwrap_or_default();
        let engine = parse_engine(word).map_err(|fault| anyhow!("{}: {}", spec.origin, fault.why))?;
        Ok(Exposed { engine, ..below.clone() })
    }
}

fn hold_of(spec: &LayerSpec) -> Result<Hold> {
    let number = |name: &str| -> Result<f64> {
        let word = option(spec, name).unwrap_or("0");
        word.trim_end_matches(['%', ' '])
            .parse()
            .map_err(|_| anyhow!("{}: {name} = \"{word}\" is not a number", spec.origin))
    };
    Ok(Hold {
        ns: (number("us")? * 1e3).round() as u64,
        share_ppm: (number("percent")? * 1e4).round() as u32,
    })
}

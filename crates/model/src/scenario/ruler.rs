//! Comparisons that check iotax itself, its ruler, instead of a stack: the same stack twice, or the
//! baseline again under another generator (`fio_on_baseline`). The run's verdicts leave such a
//! stack out. A load that fio cannot issue as iotax does is refused.

use super::Scenario;
use super::error::Fault;
use super::stacks::StackCell;
use crate::layer::engine;
use crate::stack::LayerRole;
use crate::stack::{LayerSpec, LoadIssuer, Stack};
use iotax_load::Job;

pub const KEY: &str = "fio_on_baseline";

impl Scenario {
    /// Returns the generator of a stack that is the baseline with a generator on top; `None` for
    /// any other stack.
    pub fn generator_on_baseline(&self, stack: usize) -> Option<&str> {
        let (base, stack) = (self.stacks.get(self.baseline)?, self.stacks.get(stack)?);
        let (last, below) = stack.layers.split_last()?;
        let is_it = last.has_role(LayerRole::Generator)
            && below == base.layers
            && stack.medium == base.medium;
        is_it.then(|| last.option("name").unwrap_or("another generator"))
    }

    /// Returns true if two stacks differ only in layers that do nothing (`null`). A difference that
    /// is measured between them is iotax's own error.
    pub fn is_same(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.stacks[one], &self.stacks[other]);
        let keys = |stack: &Stack| {
            stack
                .layers
                .iter()
                .filter(|layer| !layer.has_role(LayerRole::Null))
                .map(LayerSpec::key)
                .collect::<Vec<_>>()
        };
        one.medium == other.medium && one.state == other.state && keys(one) == keys(other)
    }

    /// Returns the index of the stack that `fio_on_baseline` added. It has its rows and a separate
    /// line, but no part in the headline, in the family of verdicts, or in the choice of the
    /// slowest stack. `None` if there is no such stack, or if it and the baseline are all that is
    /// compared.
    pub fn ruler(&self) -> Option<usize> {
        let is_it = |at: &usize| self.generator_on_baseline(*at) == Some("fio");
        let asked = self.measure.fio_on_baseline && self.stacks.len() > 2;
        (0..self.stacks.len()).find(is_it).filter(|_| asked)
    }
}

pub(super) struct RulerContext<'a> {
    pub bill: bool,
    pub trials: bool,
    pub jobs: Vec<&'a Job>,
}

/// Returns the baseline under fio, not yet named. `beside` is the rest of the scenario.
///
/// # Errors
/// The scenario is a bill or of durability trials, or fio cannot load this baseline or issue one of
/// the jobs.
pub(super) fn fio_on(baseline: &Stack, beside: RulerContext) -> Result<StackCell, Fault> {
    let generator = |layer: &LayerSpec| {
        layer.has_role(LayerRole::Generator) || layer.has_role(LayerRole::Delay)
    };
    let refused = match () {
        () if beside.trials => Some((
            "durability trials have a load of their own, which fio does not issue",
            "leave it out: trials measure no generator",
        )),
        () if beside.bill => Some((
            "a bill has a line for each layer, and fio on the baseline is not a layer",
            "compare the stacks without a bill",
        )),
        () if baseline.guests() * baseline.far_clients() > 1
            || baseline.medium.agent() == LoadIssuer::Fio
            || baseline.layers.iter().any(generator) =>
        {
            Some((
                "fio can load neither several guests or clients at one time nor a baseline that is itself of a generator",
                "leave it out, or take another baseline",
            ))
        }
        () => beside.jobs.into_iter().find_map(beyond_fio),
    };
    match refused {
        Some((why, hint)) => Err(Fault::hint(why, hint)),
        None => {
            let layers = baseline.layers.iter().cloned().chain([fio()]).collect();
            Ok(StackCell { medium: baseline.medium.clone(), layers })
        }
    }
}

fn beyond_fio(job: &Job) -> Option<(&'static str, &'static str)> {
    match () {
        () if job.verify => Some((
            "a load is verified by stamps that iotax puts on what is written, and fio knows none of them",
            "leave it out, or leave out verify",
        )),
        () if job.rw.trims() => Some((
            "a load trims, which fio is not asked to here",
            "leave it out, or take another rw",
        )),
        () => None,
    }
}

fn fio() -> LayerSpec {
    LayerSpec {
        name: engine::HELP.name.into(),
        options: [("name".to_owned(), "fio".to_owned())].into(),
        place: None,
        far: Vec::new(),
        copies: 1,
        tool: None,
        origin: KEY.into(),
    }
}

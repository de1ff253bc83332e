//! Loads that only the installed fio can run. Stacks on which it could not, or whose engine is
//! another one by a layer, are refused here before anything is made.

use super::error::Fault;
use super::{Engine, Workload};
use crate::stack::{LayerRole, Stack};

/// Checks that fio may run on every stack where a load needs it.
///
/// # Errors
/// Returns the first stack with a layer that makes another engine load it, or that holds
/// completions back.
pub(super) fn check_fio_loads(stacks: &[Stack], workloads: &[Workload]) -> Result<(), Fault> {
    let Some(load) = workloads.iter().find(|load| !load.fio_keys().is_empty()) else {
        return Ok(());
    };
    let other = |stack: &&Stack| {
        stack.layers.iter().any(|layer| {
            let word = layer.option("name").filter(|_| layer.has_role(LayerRole::Generator));
            let engine = word.map(super::values::parse_engine);
            layer.has_role(LayerRole::Delay) || matches!(engine, Some(Ok(Some(Engine::Native(_)))))
        })
    };
    match stacks.iter().find(other) {
        Some(stack) => Err(Fault::hint(
            format!(
                "\"{}\" is run by the installed fio, which cannot load {}: it has a layer of iotax's own engines",
                load.name, stack.text
            ),
            "leave out the layer, or the keys that plan lists under fio",
        )),
        None => Ok(()),
    }
}

//! What layers made.

use iotax_facts::machine::Device;
use iotax_facts::place::Place;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a layer made, as it really is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerReport {
    /// Stacks that have it below them.
    pub stacks: Vec<String>,
    pub layer: String,
    /// Which part of it, where it has several: `target`, `host`.
    pub part: String,
    pub place: Place,
    /// As recorded; `None`: it is no device.
    pub device: Option<Device>,
    /// As its own tools tell it.
    pub settings: BTreeMap<String, String>,
    pub sentence: String,
}

//! Properties of the layers as they were built, by their tools and the kernel.

use iotax_facts::machine::Device;
use iotax_facts::place::Place;
use serde::Serialize;
use std::collections::BTreeMap;

/// Actual properties of what a layer made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerReport {
    pub stacks: Vec<String>,
    pub layer: String,
    /// Part of the layer, if it has several: `target` or `host`; otherwise empty.
    pub part: String,
    pub place: Place,
    /// Device as recorded; `None`: the layer makes no device.
    pub device: Option<Device>,
    pub settings: BTreeMap<String, String>,
    pub sentence: String,
}

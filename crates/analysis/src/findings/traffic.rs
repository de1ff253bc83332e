//! I/O that a load issued beside what block devices on its way completed.

use iotax_model::record::{DeviceCounts, IssuedIo};
use serde::Serialize;

/// One stack under one load, all visits together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrafficReport {
    /// Name of the stack.
    pub stack: String,
    /// Name of the workload.
    pub workload: String,
    /// What its slices issued, inside and outside of their windows.
    pub issued: IssuedIo,
    /// The lowest devices of each place, those of the load first.
    pub levels: Vec<TrafficLevel>,
    /// Where the two do not agree, as sentences.
    pub differences: Vec<String>,
    /// All of it in a sentence.
    pub sentence: String,
}

/// The devices of one place that have no other device below them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrafficLevel {
    /// The place.
    pub place: String,
    /// Their kernel names.
    pub devices: Vec<String>,
    /// What they completed during the slices, together.
    pub seen: DeviceCounts,
    /// What other programs did to them in as much time, estimated between the slices.
    pub others: DeviceCounts,
}

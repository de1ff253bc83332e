//! I/O that a load issued, and I/O that the block devices below it completed.

use iotax_model::record::{DeviceCounts, IssuedIo};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrafficReport {
    pub stack: String,
    pub workload: String,
    /// I/O that the stack's slices issued, inside and outside of their windows.
    pub issued: IssuedIo,
    /// The lowest devices of each place, the place of the load first.
    pub levels: Vec<TrafficLevel>,
    pub differences: Vec<String>,
    pub sentence: String,
}

/// The devices of one place that have no other device below them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrafficLevel {
    pub place: String,
    pub devices: Vec<String>,
    /// Sum of what the devices completed during the slices.
    pub seen: DeviceCounts,
    /// I/O of other programs on them in the same length of time, estimated from the time between
    /// the slices.
    pub others: DeviceCounts,
}

//! Figures of probes of the processors, the memory and the network: the rate of their work, or the
//! mean time of what they measure.

use super::{PickedFigure, QuantityDefinition};
use crate::findings::fleet::FleetQuantity;

pub const RATE: QuantityDefinition = QuantityDefinition {
    quantity: FleetQuantity::ProbeRate,
    key: "probe_rate",
    more_is_better: true,
    word: |unit| if unit == "B/s" { "throughput" } else { "rate" },
    difference: |by, _| by.in_speed(),
    pick: |load, row| match (&load.probe, load.rate_unit) {
        (None, _) | (_, "ns") => Vec::new(),
        (Some(_), "B/s") => PickedFigure::of_stack(&row.bytes_per_s),
        (Some(_), _) => PickedFigure::of_stack(&row.iops),
    },
};

pub const TIME: QuantityDefinition = QuantityDefinition {
    quantity: FleetQuantity::ProbeTime,
    key: "probe_time",
    more_is_better: false,
    word: |_| "mean time",
    difference: |by, _| by.in_level("mean time"),
    // The row's `iops` are the mean time.
    pick: |load, row| match (&load.probe, load.rate_unit) {
        (Some(_), "ns") => PickedFigure::of_stack(&row.iops),
        _ => Vec::new(),
    },
};

//! Rates of loads: IOPS or throughput, and that of writes with the flush.

use super::{PickedFigure, QuantityDefinition};
use crate::findings::fleet::FleetQuantity;

pub const RATE: QuantityDefinition = QuantityDefinition {
    quantity: FleetQuantity::Rate,
    key: "rate",
    more_is_better: true,
    word: |unit| if unit == "B/s" { "throughput" } else { "IOPS" },
    difference: |by, _| by.in_speed(),
    pick: |load, row| match (&load.probe, load.rate_unit) {
        (Some(_), _) => Vec::new(),
        (None, "B/s") => PickedFigure::of_stack(&row.bytes_per_s),
        (None, _) => PickedFigure::of_stack(&row.iops),
    },
};

pub const DURABLE_RATE: QuantityDefinition = QuantityDefinition {
    quantity: FleetQuantity::DurableRate,
    key: "durable_rate",
    more_is_better: true,
    word: |_| "durable throughput",
    difference: |by, _| by.in_speed(),
    pick: |_, row| row.durable_bytes_per_s.as_ref().map_or_else(Vec::new, PickedFigure::of_stack),
};

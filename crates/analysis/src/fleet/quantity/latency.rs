//! Tail latency, and CPU time per I/O.

use super::{PickedFigure, QuantityDefinition};
use crate::findings::fleet::FleetQuantity;

pub const P99: QuantityDefinition = QuantityDefinition {
    quantity: FleetQuantity::LatencyP99,
    key: "latency_p99",
    more_is_better: false,
    word: |_| "p99",
    difference: |by, key| {
        let direction = key.direction.as_ref().map(|one| format!("{one} "));
        by.in_level(&format!("{}p99 latency", direction.unwrap_or_default()))
    },
    pick: |_, row| {
        let is_mix = row.latency.len() > 1;
        // A tail without an interval cannot be compared.
        let known = row.latency.iter().filter(|one| one.p99.bounds().is_some());
        known
            .map(|one| PickedFigure {
                against: None,
                direction: is_mix.then(|| one.direction.to_owned()),
                figure: one.p99.clone(),
            })
            .collect()
    },
};

pub const CPU_PER_IO: QuantityDefinition = QuantityDefinition {
    quantity: FleetQuantity::CpuPerIo,
    key: "cpu_per_io",
    more_is_better: false,
    word: |_| "CPU per I/O",
    difference: |by, _| by.in_use("CPU per I/O"),
    // The work of a probe is no I/O.
    pick: |load, row| match load.probe {
        None => PickedFigure::of_stack(&row.cpu),
        Some(_) => Vec::new(),
    },
};

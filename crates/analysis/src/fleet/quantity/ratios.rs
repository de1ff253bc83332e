//! Rates of stacks against the baseline in the same rounds; of a probe of times, its speed.

use super::{PickedFigure, QuantityDefinition};
use crate::findings::fleet::FleetQuantity;
use crate::findings::{Quantity, StackRow, WorkloadFindings};

pub const RATE: QuantityDefinition = QuantityDefinition {
    quantity: FleetQuantity::RateRatio,
    key: "rate_ratio",
    more_is_better: true,
    word: |_| "rate",
    difference: |by, key| by.in_level(&key.to_words("1")),
    pick: |load, row| pick_ratios(load, row, false),
};

pub const DURABLE_RATE: QuantityDefinition = QuantityDefinition {
    quantity: FleetQuantity::DurableRatio,
    key: "durable_ratio",
    more_is_better: true,
    word: |_| "durable rate",
    difference: |by, key| by.in_level(&key.to_words("1")),
    pick: |load, row| pick_ratios(load, row, true),
};

fn pick_ratios(load: &WorkloadFindings, row: &StackRow, is_durable: bool) -> Vec<PickedFigure> {
    let own = load.comparisons.iter().filter(|one| one.stack == row.stack);
    own.filter(|one| (one.of_write == Some(Quantity::Durable)) == is_durable)
        .map(|one| PickedFigure {
            against: Some(one.against.clone()),
            direction: None,
            figure: one.rate.ratio.clone(),
        })
        .collect()
}

//! Figures that hosts are compared by: their names, words, and how they are taken from a run. A new
//! one is a variant of [`FleetQuantity`], its definition in a file, and an entry in [`ALL`].

mod difference;
mod latency;
mod probes;
mod rates;
mod ratios;

pub(super) use difference::{Difference, percent_words};

use crate::findings::fleet::{FigureKey, FleetQuantity};
use crate::findings::{MeasuredFigure, StackRow, WorkloadFindings};

/// Words of a quantity, and how it is taken from the findings of one run.
pub struct QuantityDefinition {
    pub quantity: FleetQuantity,
    /// Name in stored files: `rate_ratio`.
    pub key: &'static str,
    pub more_is_better: bool,
    /// Returns the name of the figure for the unit of its values: `IOPS`.
    pub word: fn(&str) -> &'static str,
    /// Returns how hosts differ: `uses 78 % less CPU per I/O than the other 11 hosts`.
    pub difference: fn(&Difference, &FigureKey) -> String,
    /// Takes the figures of a stack.
    pub pick: fn(&WorkloadFindings, &StackRow) -> Vec<PickedFigure>,
}

/// A figure of a stack with its baseline or direction.
pub struct PickedFigure {
    pub against: Option<String>,
    pub direction: Option<String>,
    pub figure: MeasuredFigure,
}

impl PickedFigure {
    fn of_stack(figure: &MeasuredFigure) -> Vec<PickedFigure> {
        vec![PickedFigure { against: None, direction: None, figure: figure.clone() }]
    }
}

/// All definitions, in the order of the variants; an answer prefers the first.
pub const ALL: [&QuantityDefinition; 8] = [
    &rates::RATE,
    &rates::DURABLE_RATE,
    &probes::RATE,
    &probes::TIME,
    &ratios::RATE,
    &ratios::DURABLE_RATE,
    &latency::P99,
    &latency::CPU_PER_IO,
];

impl FleetQuantity {
    pub fn definition(self) -> &'static QuantityDefinition {
        ALL[self as usize]
    }

    /// Returns the name in stored files: `rate_ratio`.
    pub fn key(self) -> &'static str {
        self.definition().key
    }

    pub fn from_key(key: &str) -> Option<FleetQuantity> {
        ALL.into_iter().find(|one| one.key == key).map(|one| one.quantity)
    }

    pub fn more_is_better(self) -> bool {
        self.definition().more_is_better
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quantity_is_at_its_place_under_the_name_that_is_stored() {
        for (at, one) in ALL.into_iter().enumerate() {
            assert_eq!(one.quantity as usize, at, "{}", one.key);
            assert_eq!(serde_json::to_string(&one.quantity).unwrap(), format!("\"{}\"", one.key));
            assert_eq!(FleetQuantity::from_key(one.key), Some(one.quantity));
        }
    }

    #[test]
    fn each_quantity_says_how_hosts_differ() {
        let words = |quantity: FleetQuantity, sizes: &[f64]| {
            let key = FigureKey {
                workload: "w".into(),
                stack: "loop".into(),
                quantity,
                against: Some("file".into()),
                direction: (quantity == FleetQuantity::LatencyP99).then(|| "read".into()),
            };
            let by = Difference::new(sizes.iter().map(|ratio| ratio.ln()), "the other 9 hosts");
            (quantity.definition().difference)(&by, &key)
        };
        for (quantity, sizes, expected) in [
            (FleetQuantity::Rate, &[0.62][..], "is 38 % slower than the other 9 hosts"),
            (FleetQuantity::Rate, &[2.5], "is 2.5 times as fast as the other 9 hosts"),
            (FleetQuantity::DurableRate, &[1.034], "is 3.4 % faster than the other 9 hosts"),
            (
                FleetQuantity::ProbeRate,
                &[0.7, 0.62],
                "are 30 to 38 % slower than the other 9 hosts",
            ),
            (
                FleetQuantity::ProbeTime,
                &[1.4],
                "has a mean time 40 % higher than the other 9 hosts",
            ),
            (
                FleetQuantity::RateRatio,
                &[0.88],
                "has a rate of loop against file 12 % lower than the other 9 hosts",
            ),
            (
                FleetQuantity::DurableRatio,
                &[1.5, 1.6],
                "have a durable rate of loop against file 50 to 60 % higher than the other 9 hosts",
            ),
            (
                FleetQuantity::LatencyP99,
                &[2.1, 11.2],
                "have a read p99 latency 2.1 to 11 times that of the other 9 hosts",
            ),
            (FleetQuantity::CpuPerIo, &[0.22], "uses 78 % less CPU per I/O than the other 9 hosts"),
            (
                FleetQuantity::CpuPerIo,
                &[2.0, 2.0],
                "use 2.0 times the CPU per I/O of the other 9 hosts",
            ),
        ] {
            assert_eq!(words(quantity, sizes), expected);
        }
    }
}

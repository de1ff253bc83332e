//! How the figures that hosts are compared by are taken from a run. A new one is a variant of
//! [`FleetQuantity`] with its words, and an entry in [`ALL`].

use crate::findings::fleet::FleetQuantity;
use crate::findings::{MeasuredFigure, Quantity, StackRow, WorkloadFindings};

/// A figure of a stack with its baseline or direction.
pub struct PickedFigure {
    pub against: Option<String>,
    pub direction: Option<String>,
    pub figure: MeasuredFigure,
}

/// Takes a figure from the findings of one run.
pub struct FigureKind {
    pub quantity: FleetQuantity,
    pub pick: fn(&WorkloadFindings, &StackRow) -> Vec<PickedFigure>,
}

/// All kinds; the first is the one that an answer prefers.
pub const ALL: &[FigureKind] = &[
    FigureKind { quantity: FleetQuantity::Rate, pick: pick_rate },
    FigureKind { quantity: FleetQuantity::DurableRate, pick: pick_durable_rate },
    FigureKind {
        quantity: FleetQuantity::RateRatio,
        pick: |load, row| pick_ratios(load, row, |of| of != Some(Quantity::Durable)),
    },
    FigureKind {
        quantity: FleetQuantity::DurableRatio,
        pick: |load, row| pick_ratios(load, row, |of| of == Some(Quantity::Durable)),
    },
    FigureKind { quantity: FleetQuantity::LatencyP99, pick: pick_p99 },
    FigureKind { quantity: FleetQuantity::CpuPerIo, pick: |_, row| single_figure(row.cpu.clone()) },
];

fn single_figure(figure: MeasuredFigure) -> Vec<PickedFigure> {
    vec![PickedFigure { against: None, direction: None, figure }]
}

fn pick_rate(load: &WorkloadFindings, row: &StackRow) -> Vec<PickedFigure> {
    single_figure(if load.rate_unit == "B/s" { row.bytes_per_s.clone() } else { row.iops.clone() })
}

fn pick_durable_rate(_: &WorkloadFindings, row: &StackRow) -> Vec<PickedFigure> {
    row.durable_bytes_per_s.clone().map(single_figure).unwrap_or_default()
}

fn pick_ratios(
    load: &WorkloadFindings,
    row: &StackRow,
    is_asked: fn(Option<Quantity>) -> bool,
) -> Vec<PickedFigure> {
    let own = load.comparisons.iter().filter(|one| one.stack == row.stack);
    let ratio = own.filter(|one| is_asked(one.of_write)).map(|one| PickedFigure {
        against: Some(one.against.clone()),
        direction: None,
        figure: one.rate.ratio.clone(),
    });
    ratio.collect()
}

fn pick_p99(_: &WorkloadFindings, row: &StackRow) -> Vec<PickedFigure> {
    let several = row.latency.len() > 1;
    // A tail without an interval cannot be compared.
    let known = row.latency.iter().filter(|one| one.p99.bounds().is_some());
    let p99 = known.map(|one| PickedFigure {
        against: None,
        direction: several.then(|| one.direction.to_owned()),
        figure: one.p99.clone(),
    });
    p99.collect()
}

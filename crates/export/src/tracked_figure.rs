//! The figures that are worth following from run to run: what the formats of benchmark trackers and
//! of monitoring have in common.

use iotax_analysis::Findings;
use iotax_analysis::findings::{MeasuredFigure, StackRow, WorkloadFindings};
use iotax_units::harmless::escape_line;

/// A known figure of one stack under one load, in base units: 1/s, B/s, seconds or a ratio.
pub struct TrackedFigure {
    pub load: String,
    pub stack: String,
    pub quantity: TrackedQuantity,
    /// `read` or `write`; empty for all I/Os.
    pub direction: &'static str,
    pub value: f64,
    /// Bounds of the 95 % interval; `None` if too little was measured for one.
    pub bounds: Option<(f64, f64)>,
    /// Number of rounds, or of what else the figure is from.
    pub n: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrackedQuantity {
    Iops,
    Throughput,
    /// Rate over that of the baseline.
    RateRatio,
    MeanLatency,
    P50Latency,
    P99Latency,
    P999Latency,
    CpuPerIo,
}

impl TrackedQuantity {
    pub const ALL: [TrackedQuantity; 8] = [
        TrackedQuantity::Iops,
        TrackedQuantity::Throughput,
        TrackedQuantity::RateRatio,
        TrackedQuantity::MeanLatency,
        TrackedQuantity::P50Latency,
        TrackedQuantity::P99Latency,
        TrackedQuantity::P999Latency,
        TrackedQuantity::CpuPerIo,
    ];

    /// Returns the name in words and the unit.
    pub fn name_and_unit(self) -> (&'static str, &'static str) {
        match self {
            TrackedQuantity::Iops => ("iops", "1/s"),
            TrackedQuantity::Throughput => ("throughput", "B/s"),
            TrackedQuantity::RateRatio => ("rate over baseline", "ratio"),
            TrackedQuantity::MeanLatency => ("mean latency", "s"),
            TrackedQuantity::P50Latency => ("p50 latency", "s"),
            TrackedQuantity::P99Latency => ("p99 latency", "s"),
            TrackedQuantity::P999Latency => ("p99.9 latency", "s"),
            TrackedQuantity::CpuPerIo => ("cpu per io", "s"),
        }
    }

    pub fn more_is_better(self) -> bool {
        matches!(
            self,
            TrackedQuantity::Iops | TrackedQuantity::Throughput | TrackedQuantity::RateRatio
        )
    }
}

/// Returns the known figures of a run; those that failed or are missing are left out, since these
/// formats have no place for a reason.
pub fn tracked_figures(findings: &Findings) -> Vec<TrackedFigure> {
    let loads = findings.workloads.iter().filter(|load| load.probe.is_none());
    loads.flat_map(|load| load_figures(load).collect::<Vec<_>>()).collect()
}

/// A figure before it is known to have a value: stack, quantity, direction.
type FigureOfStack<'a> = (&'a str, TrackedQuantity, &'static str, &'a MeasuredFigure);

fn load_figures(load: &WorkloadFindings) -> impl Iterator<Item = TrackedFigure> {
    let ratios = load.comparisons.iter().map(|one| {
        (one.stack.as_str(), TrackedQuantity::RateRatio, one.write_word(), &one.rate.ratio)
    });
    // A write has an acknowledged and a durable ratio; the durable one is what a user gets.
    let ratios = ratios.filter(|(_, _, word, _)| *word != "acknowledged");
    let ratios = ratios.map(|(stack, quantity, _, figure)| (stack, quantity, "", figure));
    let all = load.rows.iter().flat_map(row_figures).chain(ratios);
    all.filter_map(|one| tracked_figure(&load.subject, one))
}

fn row_figures(row: &StackRow) -> Vec<FigureOfStack<'_>> {
    let stack = row.stack.as_str();
    let mut all = vec![
        (stack, TrackedQuantity::Iops, "", &row.iops),
        (stack, TrackedQuantity::Throughput, "", &row.bytes_per_s),
        (stack, TrackedQuantity::CpuPerIo, "", &row.cpu),
    ];
    for one in &row.directions {
        all.push((stack, TrackedQuantity::Iops, one.direction, &one.iops));
        all.push((stack, TrackedQuantity::Throughput, one.direction, &one.bytes_per_s));
    }
    for one in &row.latency {
        let way = one.direction;
        all.push((stack, TrackedQuantity::MeanLatency, way, &one.mean));
        all.push((stack, TrackedQuantity::P50Latency, way, &one.p50));
        all.push((stack, TrackedQuantity::P99Latency, way, &one.p99));
        all.push((stack, TrackedQuantity::P999Latency, way, &one.p999));
    }
    all
}

fn tracked_figure(load: &str, one: FigureOfStack) -> Option<TrackedFigure> {
    let (stack, quantity, direction, figure) = one;
    let MeasuredFigure::Known { value, unit, n, .. } = figure else { return None };
    let scale = if *unit == "ns" { 1e-9 } else { 1.0 };
    Some(TrackedFigure {
        load: escape_line(load),
        stack: escape_line(stack),
        quantity,
        direction,
        value: value * scale,
        bounds: figure.bounds().map(|(low, high)| (low * scale, high * scale)),
        n: *n,
    })
}

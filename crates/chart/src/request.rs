//! What a chart is asked for.

use iotax_analysis::findings::{MeasuredFigure, StackRow, WorkloadFindings};
use iotax_analysis::{Findings, RunData};

/// Figure that a chart is of, where its kind has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChartQuantity {
    #[default]
    Rate,
    /// Mean latency.
    Latency,
    /// CPU time per I/O.
    Cpu,
}

impl ChartQuantity {
    /// Returns the word for `--in`.
    pub fn word(self) -> &'static str {
        match self {
            ChartQuantity::Rate => "rate",
            ChartQuantity::Latency => "us",
            ChartQuantity::Cpu => "cpu",
        }
    }
}

/// A run, and which part of it is drawn.
#[derive(Clone, Copy)]
pub struct ChartRequest<'a> {
    pub run: &'a RunData,
    pub findings: &'a Findings,
    /// Number of the load from 1, or of the sweep, course or table where the chart is of those;
    /// `None`: the first one that has data, or all where one chart can show them.
    pub load: Option<usize>,
    pub quantity: ChartQuantity,
}

impl<'a> ChartRequest<'a> {
    /// Returns the first load for which `part` returns something, or the one that was asked for.
    pub(crate) fn first_load<T>(
        &self,
        part: impl Fn(&'a WorkloadFindings) -> Option<T>,
    ) -> Option<(&'a WorkloadFindings, T)> {
        let mut loads = self.asked(&self.findings.workloads);
        loads.find_map(|load| Some((load, part(load)?)))
    }

    /// Returns all elements of a list, or the one with the number that was asked for.
    pub(crate) fn asked<T>(&self, all: &'a [T]) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let number = self.load;
        let numbered = all.iter().enumerate();
        numbered.filter(move |(at, _)| number.is_none_or(|n| n == at + 1)).map(|(_, one)| one)
    }

    /// Returns the largest negligible difference in percent.
    pub(crate) fn zone(&self) -> f64 {
        100.0 * self.findings.run.zone
    }
}

/// Returns what the rates of a load count: `IOPS`, or for a probe its own word.
pub(crate) fn counted_word(load: &WorkloadFindings) -> &str {
    let probe = load.probe.as_ref().filter(|_| load.rate_unit == "1/s");
    probe.map_or("IOPS", |probe| probe.head.as_str())
}

/// Returns the rate of a row in the unit of its load.
pub(crate) fn rate_of_row<'a>(load: &WorkloadFindings, row: &'a StackRow) -> &'a MeasuredFigure {
    if load.rate_unit == "B/s" { &row.bytes_per_s } else { &row.iops }
}

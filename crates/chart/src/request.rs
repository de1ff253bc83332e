//! What a chart is asked for, and the choice of its kind.

use crate::drawing::ChartDrawing;
use crate::{ALL, ChartKind};
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

/// Reason why a chart cannot be drawn.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    #[error("no kind of chart is called \"{name}\"; known are {}", kind_names(ALL))]
    UnknownKind { name: String },
    #[error("this run has no data for the chart \"{name}\"{part}; it has {has}")]
    NoData { name: &'static str, part: String, has: String },
    #[error("--in {word}: the chart \"{name}\" has one figure only; leave it out, or take {other}")]
    OneQuantity { word: &'static str, name: &'static str, other: String },
    #[error("this run has no data for any chart{part}: {reason}")]
    Nothing { part: String, reason: String },
}

fn kind_names(kinds: &[&ChartKind]) -> String {
    kinds.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

/// Returns the kinds that a run has data for, the best one first.
pub fn kinds_of_run(request: &ChartRequest) -> Vec<&'static ChartKind> {
    let has_data =
        |kind: &&&ChartKind| kind.offers(request.quantity) && (kind.draw)(request).is_some();
    ALL.iter().filter(has_data).copied().collect()
}

/// Draws a chart of the kind with this name, or of the best kind for the run.
///
/// # Errors
/// No kind has this name, or the run has no data for it; the error lists the kinds that it has.
pub fn chart(
    request: &ChartRequest,
    name: Option<&str>,
) -> Result<(&'static ChartKind, ChartDrawing), ChartError> {
    let Some(name) = name else {
        let of_kind = |kind: &&'static ChartKind| Some((*kind, kind.drawing(request)?));
        return ALL.iter().find_map(of_kind).ok_or_else(|| nothing(request));
    };
    let kind = ALL.iter().copied().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| ChartError::UnknownKind { name: name.to_owned() })?;
    if !kind.offers(request.quantity) {
        let other: Vec<&ChartKind> = ALL.iter().filter(|one| one.has_quantities).copied().collect();
        let other = kind_names(&other).replace(", ", " or ");
        let word = request.quantity.word();
        return Err(ChartError::OneQuantity { word, name: kind.name, other });
    }
    let drawing = kind.drawing(request).ok_or_else(|| match kinds_of_run(request).as_slice() {
        [] => nothing(request),
        some => {
            ChartError::NoData { name: kind.name, part: asked_part(request), has: kind_names(some) }
        }
    })?;
    Ok((kind, drawing))
}

fn asked_part(request: &ChartRequest) -> String {
    let load = request.load.map(|load| format!(" with --load {load}")).unwrap_or_default();
    match request.quantity {
        ChartQuantity::Rate => load,
        other => format!("{load} with --in {}", other.word()),
    }
}

fn nothing(request: &ChartRequest) -> ChartError {
    let loads = &request.findings.workloads;
    let reason = match request.load {
        Some(load) if load == 0 || load > loads.len() => {
            let numbered = loads.iter().enumerate();
            let names: Vec<String> =
                numbered.map(|(at, one)| format!("{} {}", at + 1, one.name)).collect();
            format!("its loads are {}", names.join(", "))
        }
        _ => format!(
            "it is {}, and has no figure that a chart shows; hint: iotax report has all of it",
            request.findings.run.state
        ),
    };
    ChartError::Nothing { part: asked_part(request), reason }
}

impl ChartKind {
    fn offers(&self, quantity: ChartQuantity) -> bool {
        self.has_quantities || quantity == ChartQuantity::Rate
    }

    /// Draws the chart with a caption; `None` if the run has no data for it.
    fn drawing(&self, request: &ChartRequest) -> Option<ChartDrawing> {
        if !self.offers(request.quantity) {
            return None;
        }
        let mut drawing = (self.draw)(request)?;
        drawing.notes.push(caption(request.findings));
        Some(drawing)
    }
}

/// Returns the line below each chart: which run it is of, and whether its figures stand for more.
fn caption(findings: &Findings) -> String {
    let run = &findings.run;
    let name = run.name.as_ref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
    let state = if run.is_complete() { String::new() } else { format!(", {}", run.state) };
    let at = iotax_units::show_minute(&run.at);
    let emulated = match findings.emulated.is_empty() {
        true => "",
        false => "; emulated, not representative",
    };
    format!("iotax run {}{name}, {at} UTC{state}{emulated}", run.id)
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

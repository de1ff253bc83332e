//! JSON of benchmark trackers: github-action-benchmark's, which has a file for figures of which
//! more is better and one for those of which less is, and Bencher's metric format.
//!
//! * <https://github.com/benchmark-action/github-action-benchmark>: `customBiggerIsBetter`,
//!   `customSmallerIsBetter`
//! * <https://bencher.dev/docs/reference/bencher-metric-format/>

use crate::exporter::{ExportedRun, Exporter};
use crate::tracked_figure::{TrackedFigure, tracked_figures};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{Result, Write};

pub const BIGGER: Exporter =
    Exporter { name: "github-bigger", endings: &["bigger.json"], write: write_bigger };
pub const SMALLER: Exporter =
    Exporter { name: "github-smaller", endings: &["smaller.json"], write: write_smaller };
pub const BENCHER: Exporter =
    Exporter { name: "bencher", endings: &["bencher.json"], write: write_bencher };

/// A line of github-action-benchmark.
#[derive(Serialize)]
struct GithubLine {
    name: String,
    unit: &'static str,
    value: f64,
    /// Distance from the value to the farther bound of the 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

fn write_bigger(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    write_github(runs, true, out)
}

fn write_smaller(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    write_github(runs, false, out)
}

fn write_github(runs: &[ExportedRun], more_is_better: bool, out: &mut dyn Write) -> Result<()> {
    let lines = |run: &ExportedRun| {
        let figures = tracked_figures(&run.findings).into_iter();
        let figures = figures.filter(|one| one.quantity.more_is_better() == more_is_better);
        figures.map(|one| github_line(&run.findings.run.id, &one)).collect::<Vec<_>>()
    };
    write_json(&runs.iter().flat_map(lines).collect::<Vec<_>>(), out)
}

fn github_line(run: &str, one: &TrackedFigure) -> GithubLine {
    let (quantity, unit) = one.quantity.name_and_unit();
    let farther = one.bounds.map(|(low, high)| (one.value - low).max(high - one.value));
    GithubLine {
        name: format!("{}: {}: {}", one.load, one.stack, metric_name(quantity, one.direction)),
        unit,
        value: one.value,
        range: farther.map(|distance| format!("\u{b1} {distance}")),
        extra: format!("run {run}, n = {}", one.n),
    }
}

fn metric_name(quantity: &str, direction: &str) -> String {
    if direction.is_empty() { quantity.to_owned() } else { format!("{direction} {quantity}") }
}

/// A figure as Bencher takes it.
#[derive(Serialize)]
struct BencherMetric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// Writes the figures by load and stack. Of several runs with the same ones, each has its id in the
/// name, since a name may stand only once.
fn write_bencher(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    let mut all: BTreeMap<String, BTreeMap<String, BencherMetric>> = BTreeMap::new();
    for run in runs {
        for one in tracked_figures(&run.findings) {
            let of_run = match runs.len() {
                1 => String::new(),
                _ => format!("{}: ", run.findings.run.id),
            };
            let name = format!("{of_run}{}: {}", one.load, one.stack);
            let (quantity, unit) = one.quantity.name_and_unit();
            let measure = format!("{}, {unit}", metric_name(quantity, one.direction));
            let metric = BencherMetric {
                value: one.value,
                lower_value: one.bounds.map(|(low, _)| low),
                upper_value: one.bounds.map(|(_, high)| high),
            };
            all.entry(name).or_default().insert(measure, metric);
        }
    }
    write_json(&all, out)
}

fn write_json(value: &impl Serialize, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

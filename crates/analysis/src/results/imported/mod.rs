//! Contents of an imported run: figures as others printed them, one row per system and load. A
//! comparison of systems has a verdict only if the runs of both show their spread. Percentiles are
//! printed ones or from merged histograms, and never averaged.

pub(crate) mod group;
pub(crate) mod others;
pub(crate) mod settings;
#[cfg(test)]
mod tests;
mod warnings;
pub(crate) mod words;

use crate::compare::remedy::settle_words;
use crate::findings::imported::{
    ImportedComparison, ImportedFigure, ImportedFindings, ImportedPercentile, ImportedRow,
    ImportedSource, ImportedWorkload,
};
use crate::findings::{Interval, MeasuredFigure, SampleUnit};
use group::{LoadResults, SystemGroup, SystemRuns, loads, rounding, system_ratio};
use iotax_load::Histogram;
use iotax_model::record::imported::ImportedResult;
use iotax_stats::{Concludes, Refusal, Verdict};
use iotax_store::RunData;
use iotax_units::{count_noun, show_names};
use std::collections::HashMap;
pub(crate) use warnings::warnings;

/// Returns the findings of an imported run; `None` for a measured one.
pub(crate) fn imported(run: &RunData) -> Option<ImportedFindings> {
    let import = run.start.imported.as_ref()?;
    let zone = run.start.scenario.measure.equivalence;
    let baseline = import.baseline.as_deref();
    let systems = run.imported.first().map_or("", |result| result.system.as_str());
    let base = baseline.unwrap_or(systems);
    Some(ImportedFindings {
        files: run.imported_files.clone(),
        workloads: loads(&run.imported)
            .iter()
            .map(|loaded| workload(run, loaded, base, zone))
            .collect(),
        others: others::others(&run.imported, base, zone),
    })
}

fn workload(run: &RunData, loaded: &LoadResults, base: &str, zone: f64) -> ImportedWorkload {
    let baseline = loaded.systems.iter().find(|group| group.system == base);
    let rows: Vec<ImportedRow> = loaded
        .systems
        .iter()
        .map(|group| imported_row(run, loaded, group, baseline, zone))
        .collect();
    let compared =
        rows.iter().filter_map(|row| Some((row.system.as_str(), row.comparison.as_ref()?)));
    let sentences = comparison_sentences(&compared.collect::<Vec<_>>());
    ImportedWorkload {
        subject: words::subject(loaded.load, loaded.way, loaded.part),
        rows,
        sentences,
    }
}

fn imported_row(
    run: &RunData,
    loaded: &LoadResults,
    group: &SystemGroup,
    baseline: Option<&SystemGroup>,
    zone: f64,
) -> ImportedRow {
    let known = |metric: &str, unit: &'static str| {
        imported_figure(&SystemRuns::from_group(group, metric), group, metric, unit)
    };
    let against = baseline.filter(|base| base.system != group.system);
    ImportedRow {
        system: group.system.to_owned(),
        baseline: baseline.is_some_and(|base| base.system == group.system),
        iops: known("iops", "1/s"),
        bytes_per_s: known("bandwidth", "B/s"),
        mean: known("latency.mean", "ns"),
        percentiles: percentiles(run, group),
        comparison: against.and_then(|base| of_rates(loaded, base, group, zone)),
        runs: group.results.len() as u64,
        sources: sources(&group.results),
    }
}

fn imported_figure(
    runs: &SystemRuns,
    group: &SystemGroup,
    metric: &str,
    unit: &'static str,
) -> ImportedFigure {
    let figure = match runs.mean() {
        None => {
            let sample = group.results.first().and_then(|result| result.sample(metric));
            MeasuredFigure::missing(
                sample
                    .and_then(|sample| sample.missing.as_deref())
                    .unwrap_or("the output does not report it"),
            )
        }
        Some(value) => figure_of_runs(value, unit, runs),
    };
    ImportedFigure { figure, rounded: runs.rounded() }
}

fn figure_of_runs(value: f64, unit: &'static str, runs: &SystemRuns) -> MeasuredFigure {
    let n = runs.len() as u64;
    match runs.interval() {
        Some((low, high)) => {
            let interval = Interval::from_bounds(low, high);
            MeasuredFigure::known_value(value, unit, (n, SampleUnit::Runs), interval)
        }
        None => MeasuredFigure::bare(value, unit, (n, SampleUnit::Runs), spread_unknown(n)),
    }
}

fn spread_unknown(runs: u64) -> String {
    match runs {
        1 => "one run: no spread is known".to_owned(),
        runs => format!("{runs} runs: an interval needs 4"),
    }
}

/// Compares the IOPS of two systems if both report them, else their bandwidths; `None` if one of
/// them reports neither.
fn of_rates(
    loaded: &LoadResults,
    base: &SystemGroup,
    other: &SystemGroup,
    zone: f64,
) -> Option<ImportedComparison> {
    [("iops", "IOPS"), ("bandwidth", "bandwidth")].into_iter().find_map(|(metric, word)| {
        let runs = [base, other].map(|group| SystemRuns::from_group(group, metric));
        comparison(&runs, base.system, words::quantity(loaded.load, loaded.way, word), zone)
    })
}

fn comparison(
    [base, other]: &[SystemRuns; 2],
    against: &str,
    quantity: String,
    zone: f64,
) -> Option<ImportedComparison> {
    let (value, change) = system_ratio(base, other)?;
    let n = base.len().min(other.len()) as u64;
    let (ratio, verdict) = match change {
        Ok(found) => {
            let interval = Interval::from_bounds(found.low, found.high);
            let ratio = MeasuredFigure::known_value(value, "1", (n, SampleUnit::Runs), interval);
            (ratio, found.verdict(zone))
        }
        Err(reason) => (
            MeasuredFigure::bare(value, "1", (n, SampleUnit::Runs), &reason),
            Verdict::from_refusal(reason),
        ),
    };
    Some(ImportedComparison {
        against: against.to_owned(),
        quantity,
        ratio,
        rounding: rounding(base, other),
        verdict,
    })
}

/// Most names that a sentence lists.
const MOST_NAMES: usize = 6;

/// Returns a sentence for each comparison with a conclusion; the others share a sentence per
/// reason.
fn comparison_sentences(compared: &[(&str, &ImportedComparison)]) -> Vec<String> {
    let mut all = Vec::new();
    let mut open: Vec<(String, Vec<&str>, &ImportedComparison)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (system, one) in compared {
        let said = one.verdict.sentence(&one.quantity);
        match one.verdict.change() {
            None if !one.verdict.is_resolved() => match known.get(&said) {
                Some(at) => open[*at].1.push(system),
                None => {
                    known.insert(said.clone(), open.len());
                    open.push((said, vec![system], one));
                }
            },
            _ => all.push(format!(
                "{system} against {}: {said}{}",
                one.against,
                remedy(&one.verdict)
            )),
        }
    }
    all.extend(open.iter().map(|(said, systems, one)| {
        let names = match systems.len().checked_sub(MOST_NAMES) {
            None | Some(0) => show_names(systems),
            Some(more) => format!("{} and {more} more", systems[..MOST_NAMES].join(", ")),
        };
        format!("{names} against {}: {said}{}", one.against, remedy(&one.verdict))
    }));
    all
}

/// Returns a clause on what would settle the verdict, empty if nothing would. Imported runs cannot
/// be made longer here, so it never advises that.
pub(crate) fn remedy(verdict: &Verdict) -> String {
    let words = verdict.reason().and_then(|reason| match reason {
        Refusal::NoSpread { .. } => reason.remedy(),
        Refusal::TooWide { .. } | Refusal::Drift => Some("repeat each more often, in turns"),
        _ => None,
    });
    words.map(settle_words).unwrap_or_default()
}

fn percentiles(run: &RunData, group: &SystemGroup) -> Vec<ImportedPercentile> {
    const ASKED: [f64; 3] = [50.0, 99.0, 99.9];
    let printed = printed_percentiles(group);
    let percents = || -> Vec<f64> {
        let known: Vec<f64> = printed.iter().map(|one| one.percent).collect();
        if known.is_empty() { ASKED.to_vec() } else { known }
    };
    if group.results.len() == 1 && !printed.is_empty() {
        return printed;
    }
    match merged_histogram(run, group) {
        None => printed,
        Some(merged) => percents()
            .into_iter()
            .filter_map(|percent| {
                let ns = merged.percentile(percent / 100.0)? as f64;
                Some(ImportedPercentile { percent, least_ns: ns, most_ns: ns, from: "histograms" })
            })
            .collect(),
    }
}

fn printed_percentiles(group: &SystemGroup) -> Vec<ImportedPercentile> {
    let Some((first, others)) = group.results.split_first() else { return Vec::new() };
    let in_all = first.percentiles.iter().filter_map(|one| {
        let mut ends = (one.ns, one.ns);
        for other in others {
            let ns = other.percentiles.iter().find(|other| other.percent == one.percent)?.ns;
            ends = (ends.0.min(ns), ends.1.max(ns));
        }
        Some(ImportedPercentile {
            percent: one.percent,
            least_ns: ends.0,
            most_ns: ends.1,
            from: "printed",
        })
    });
    in_all.collect()
}

/// Merges the histograms; `None` unless every run has one.
fn merged_histogram(run: &RunData, group: &SystemGroup) -> Option<Histogram> {
    let mut all = Histogram::new();
    for result in &group.results {
        all.merge(&run.histograms.read_at(result.sample("latency")?.histogram?)?);
    }
    Some(all)
}

fn sources(results: &[&ImportedResult]) -> Vec<ImportedSource> {
    let of = |result: &&ImportedResult| ImportedSource {
        file: result.file,
        line: result.line,
        tool: tool(result),
    };
    results.iter().map(of).collect()
}

fn tool(result: &ImportedResult) -> String {
    [Some(&result.tool), result.version.as_ref()]
        .into_iter()
        .flatten()
        .cloned()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns what a run of others' figures has in place of a headline: the largest certain difference
/// and the number of comparisons with a conclusion.
pub(crate) fn no_headline(found: &ImportedFindings) -> String {
    let of_loads = found.workloads.iter().flat_map(|one| &one.rows);
    let of_loads = of_loads.filter_map(|row| Some((&row.system, row.comparison.as_ref()?)));
    let of_others = found.others.iter().flat_map(|one| &one.rows);
    let of_others = of_others.filter_map(|row| Some((&row.system, row.comparison.as_ref()?)));
    let all: Vec<(&String, &ImportedComparison)> = of_loads.chain(of_others).collect();
    let resolved = || all.iter().filter(|(_, one)| one.verdict.is_resolved());
    let size = |one: &ImportedComparison| one.ratio.value().map_or(0.0, |ratio| ratio.ln().abs());
    let largest = resolved().max_by(|(_, one), (_, other)| size(one).total_cmp(&size(other)));
    let Some((system, one)) = largest else {
        return match all.len() as u64 {
            0 => "imported figures, of which none are compared".to_owned(),
            many => format!(
                "imported figures; none of {} is resolved",
                count_noun(many, "comparison", "comparisons")
            ),
        };
    };
    let said = one.verdict.sentence(&one.quantity);
    let (resolved, all) = (resolved().count(), all.len());
    let verb = if resolved == 1 { "is" } else { "are" };
    let counted = match all {
        1 => String::new(),
        _ => format!("; {resolved} of {all} comparisons {verb} resolved"),
    };
    format!("imported figures: {system} against {}: {said}{counted}", one.against)
}

/// Returns the causes that the figures do not exclude.
pub(crate) fn not_excluded(found: &ImportedFindings) -> Vec<String> {
    let compared = found
        .workloads
        .iter()
        .flat_map(|one| &one.rows)
        .filter(|row| row.comparison.is_some())
        .count();
    let mut lines = vec![
        "what the outputs do not report: the machines and their settings, what else ran, whether the load had become steady".to_owned(),
        "slips of those who ran and copied the outputs: `iotax audit` recomputes the figures".to_owned(),
    ];
    if compared > 0 {
        lines.push("what changed between the systems' runs: nothing paired them".to_owned());
    }
    if compared > 1 {
        lines.push(format!("chance over all {compared} comparisons together: each interval holds by itself in 95 of 100 cases"));
    }
    lines
}

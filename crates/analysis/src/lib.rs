//! Turns a loaded run into findings, without side effects. A partial run is read like a whole one,
//! and its findings say so. A figure that is missing or failed has the reason.
//!
//! Modules, in the order of the data; none uses one that follows, but for the refusals of
//! `validity` that `gather` asks for:
//!
//! * `gather`: slices to rounds, sides and pairs.
//! * `ceilings`: limits of the hardware and limits that are set.
//! * `validity`: causes of an unfair comparison.
//! * `compare`: a stack's own figures, its comparisons and their verdicts.
//! * `bill`: prefix after prefix. `arrays`: states and rebuilds.
//! * [`results`]: sweeps, service levels, durability, limits, published and imported figures.
//! * [`against`]: two runs. [`history`]: one stack over many runs. [`fleet`]: one scenario on many
//!   hosts.
//! * [`findings`](mod@findings): the types of all results; nothing to compute.
#![forbid(unsafe_code)]

pub mod against;
mod arrays;
mod bill;
mod ceilings;
mod compare;
pub mod findings;
pub mod fleet;
mod gather;
pub mod history;
pub mod results;
#[cfg(test)]
mod tests;
#[cfg(any(test, feature = "testing"))]
#[path = "testing/twin.rs"]
pub mod twin;
mod validity;

pub use compare::headline::EMULATED;
pub use compare::verdicts::simultaneous_comparisons;
pub use findings::Findings;
pub use gather::{precondition, subject::comparison_subject};
pub use iotax_store::RunData;

use arrays::{clusters, states};
use bill::{layers, lines};
use ceilings::efficiency;
use compare::judged::{self, JudgedPairs, WorkloadEstimates};
use compare::{baseline, charges, directions, drives, headline, rows};
use findings::article::ArticleFindings;
use findings::{ProbeReport, WorkloadFindings};
use gather::{reading::WorkloadView, subject};
use iotax_model::scenario::ArticleTable;
use results::article::{self, ArticleRun};
use results::{
    crowd, durability, identity, imported, limits, over_time, published, ratios, slo, sweep, trace,
    verification, warnings,
};
use validity::{caveats, conservation, generator, neighbours};

/// Returns all findings of a run, from which reports are rendered.
pub fn findings(run: &RunData) -> Findings {
    let readings = WorkloadView::all_of_run(run);
    let levels = slo::count_levels(&readings, &run.start.scenario.measure.slo);
    let mut workloads = Vec::new();
    let mut estimates = Vec::new();
    for reading in &readings {
        let (found, its_own) = of_workload(reading, levels);
        workloads.push(found);
        estimates.push(its_own);
    }
    judged::settle_verdicts(run, &mut workloads, estimates);
    workloads.iter_mut().flat_map(|workload| &mut workload.arrays).for_each(states::reword);
    for (at, workload) in workloads.iter_mut().enumerate() {
        workload.efficiency = efficiency::efficiencies(&readings, at, &workload.rows);
        workload.round_trips = efficiency::trips(&readings, at, &workload.charges);
    }
    let durability = durability::durability(run);
    let limits = limits::limits(run);
    let others =
        readings.iter().filter_map(neighbours::busy).map(|(_, part)| part).reduce(f64::max);
    let has_layers = run.start.scenario.stacks.iter().any(|stack| !stack.layers.is_empty());
    let compared = headline::headline(&workloads, others).map_err(|why| match why.as_str() {
        headline::ONE_STACK if has_layers => format!("{why}; --bill measures each of its layers"),
        _ => why,
    });
    let said = match (&durability, &limits) {
        (Some(found), _) => durability::headline(found),
        (_, Some(found)) => limits::headline(found),
        _ => match workloads.iter().find_map(|load| load.trace.as_ref()) {
            Some(trace) => Ok(trace.sentence.clone()),
            None => compared.as_ref().map(|one| one.sentence.clone()).map_err(Clone::clone),
        },
    };
    let verification = verification::verification(run);
    let imported = imported::imported(run);
    let said = match &imported {
        Some(found) => Err(imported::no_headline(found)),
        None => said,
    };
    let (headline, no_headline) =
        match (said, verification.as_ref().and_then(|found| found.alarm())) {
            // The cost of a stack that returns wrong data is secondary.
            (Ok(sentence), Some(alarm)) => (Some(format!("{alarm}. {sentence}")), None),
            (Err(_), Some(alarm)) => (Some(alarm), None),
            (Ok(sentence), None) => (Some(sentence), None),
            (Err(reason), None) => (None, Some(reason)),
        };
    Findings {
        run: identity::identity(run),
        headline,
        no_headline,
        headline_of: compared.ok().map(|one| (one.stack, one.quantity)),
        ruler: headline::ruler(&workloads),
        emulated: identity::emulated_places(run),
        not_excluded: match (&durability, &limits, &imported) {
            (Some(found), _, _) => durability::not_shown(run, found),
            (_, Some(found), _) => limits::not_excluded(found),
            (_, _, Some(found)) => imported::not_excluded(found),
            _ => caveats::not_excluded(&readings, &workloads),
        },
        imported,
        durability,
        limits,
        verification,
        warnings: warnings::warnings(run, &readings, &workloads),
        joint_bills: lines::joint(&run.start.scenario.workloads, &workloads),
        apart: run.apart.clone(),
        preconditioned: precondition::reports(run),
        places: run.places.iter().map(identity::place_report).collect(),
        layers: layers::layers(run),
        traffic: conservation::reports(&readings),
        drives: results::drives::groups(run, &workloads),
        sweeps: sweep::sweeps(&readings, &workloads),
        published: published::published(run, &readings, &workloads),
        tables: ratios::tables(run, &readings, &workloads),
        articles: article::articles(
            &[ArticleRun { run, readings: &readings, workloads: &workloads }],
            &run.start.scenario.articles,
        ),
        workloads,
    }
}

/// Returns tables in the form of an article with the figures of several runs.
pub fn article_tables(
    runs: &[(&RunData, &Findings)],
    tables: &[ArticleTable],
) -> Vec<ArticleFindings> {
    let readings: Vec<Vec<WorkloadView>> =
        runs.iter().map(|(run, _)| WorkloadView::all_of_run(run)).collect();
    let all = runs.iter().zip(&readings);
    let runs: Vec<ArticleRun> = all
        .map(|((run, found), readings)| ArticleRun { run, readings, workloads: &found.workloads })
        .collect();
    article::articles(&runs, tables)
}

fn of_workload(reading: &WorkloadView, levels: usize) -> (WorkloadFindings, WorkloadEstimates) {
    let scenario = &reading.run.start.scenario;
    let is_loaded = |at: &usize| reading.workload.is_for(&scenario.stacks[*at], &scenario.stacks);
    let others = || {
        let all = (0..scenario.stacks.len()).filter(|at| *at != scenario.baseline);
        all.filter(|at| is_loaded(at) && is_loaded(&scenario.baseline))
    };
    let ended = reading.run.ends.iter().rfind(|(workload, _)| *workload == reading.workload.name);
    let mut judged = JudgedPairs::default();
    others().for_each(|at| judged.add_pair(reading, [scenario.baseline, at]));
    let JudgedPairs { comparisons, charges, mut estimates } = judged;
    let arrays = states::array_states(reading, &mut estimates);
    let (drives, of_median) = drives::drive_figures(reading);
    estimates.drives = of_median;
    let bill = (scenario.bill && scenario.stacks.len() > 1).then(|| lines::bill(reading));
    let bill = bill.map(|(bill, lines)| {
        estimates.bill_lines = lines;
        bill
    });
    let is_probe = reading.workload.probe.is_some();
    let stacks: Vec<&str> = scenario.stacks.iter().map(|stack| stack.name.as_str()).collect();
    let rate_unit = subject::rate_unit(reading.workload);
    let name = &reading.workload.name;
    let found = WorkloadFindings {
        over_time: over_time::stack_rates(reading.run, name, rate_unit, &stacks),
        name: name.clone(),
        subject: reading.workload.subject(),
        rate_unit,
        probe: reading.workload.probe.as_ref().and_then(ProbeReport::from_probe),
        sweep: reading.workload.sweep.clone(),
        ended: ended.map(|(_, reason)| reason.clone()),
        writes: reading.writes.writes_report(),
        design: baseline::design(reading),
        trace: trace::trace(reading.run, reading.workload),
        reached_bytes: reading.reached().map(|(least, _)| least).filter(|_| !is_probe),
        most_reached_bytes: reading
            .reached()
            .filter(|(least, most)| most > least)
            .map(|(_, most)| most),
        measured_s: reading.sides.iter().map(|side| side.load_s).sum(),
        rows: (0..scenario.stacks.len()).map(|at| rows::stack_row(reading, at)).collect(),
        slo: slo::level_findings(reading, levels),
        on_baseline: generator::on_baseline(reading, &comparisons),
        comparisons,
        charges,
        directions_note: directions::directions_advice(reading),
        arrays,
        clusters: clusters::clusters(reading),
        matched: charges::matched(reading),
        beside: baseline::interference(reading),
        crowds: crowd::crowds(reading),
        efficiency: Vec::new(),
        drives,
        round_trips: Vec::new(),
        bill,
    };
    (found, estimates)
}

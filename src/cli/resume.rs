//! `iotax resume`: goes on with a run after Ctrl-C, a kill or a reboot. What the ended part left is
//! taken down first; what it measured counts.

use super::run::{Before, finish, guest_parts, session};
use super::{report, say};
use crate::bill::run::RunData;
use crate::exit::{DONE, Failed};
use crate::measure::rounds::Progress;
use crate::measure::session::now;
use crate::measure::sets::{layout, not_resumable};
use crate::measure::survey;
use crate::scenario::Scenario;
use crate::step::clean::clean;
use crate::step::executor::report_left;
use crate::step::system::RealSystem;
use crate::store::record::{Record, Value};
use crate::store::{self, RunLock};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Arguments of `resume`.
#[derive(clap::Args)]
pub struct Args {
    /// The run: its id, its folder, or `last`
    run: String,
    #[command(flatten)]
    output: report::Output,
}

/// Runs the command.
///
/// # Errors
/// As `run`; and when the run is still going or was complete.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let dir = store::find(runs, &args.run).map_err(Failed::from)?;
    let id = store::run_id_of(&dir);
    let Some(_lock) = RunLock::take(&dir)? else {
        return Err(Failed::input(format!("run {id} is still running")).into());
    };
    let data = store::load(&dir).map_err(Failed::from)?;
    if data.outcome.as_deref() == Some("complete") {
        say(&format!("run {id} is complete: nothing to resume\n"))?;
        return Ok(DONE);
    }
    args.output.check()?;
    let cleaned = clean(&dir, &id, &mut RealSystem::default())?;
    report_left(&cleaned.left)?;
    let scenario = data.start.scenario.clone();
    if let Some(why) = not_resumable(&scenario) {
        return Err(Failed::input(format!("run {id} cannot be resumed: {why}; hint: run it again")).into());
    }
    let before = before(&scenario, &data);
    survey::check_needs(&scenario)?;
    let survey = survey::look(&scenario, &layout(&scenario))?;
    let parts = guest_parts(&scenario)?;
    let mut store = store::Store::append(&dir).map_err(Failed::from)?;
    store.append(&Record::Resumed { at: now() })?;
    let result = session(&scenario, store, &dir, &id, parts, survey, before);
    finish(&dir, result, &args.output)
}

/// What the earlier parts measured, as the session counts it.
fn before(scenario: &Scenario, data: &RunData) -> Before {
    let done: BTreeSet<String> = data
        .ends
        .iter()
        .filter(|(_, reason)| {
            matches!(reason.as_str(), "precision" | "budget" | "visits" | "time" | "max_written")
        })
        .map(|(workload, _)| workload.clone())
        .collect();
    Before {
        progress: scenario
            .workloads
            .iter()
            .map(|workload| (workload.name.clone(), progress(scenario, data, &workload.name)))
            .collect(),
        ended: data.visits_ended.iter().cloned().collect(),
        first_visit: data.slices.iter().map(|slice| slice.visit + 1).max().unwrap_or(0),
        workloads_done: done,
    }
}

/// Whole rounds only: a round that was cut short would weigh one stack more than another.
fn progress(scenario: &Scenario, data: &RunData, workload: &str) -> Progress {
    let mut totals: BTreeMap<u32, Vec<(f64, f64, u32)>> = BTreeMap::new();
    let mut progress = Progress::default();
    for slice in data.slices.iter().filter(|slice| slice.workload == workload) {
        let Some(stack) = scenario.stacks.iter().position(|stack| stack.name == slice.stack) else {
            continue;
        };
        let of_round =
            totals.entry(slice.round).or_insert_with(|| vec![(0.0, 0.0, 0); scenario.stacks.len()]);
        let ios: f64 = slice.samples.iter().filter_map(|sample| ios_of(&sample.metric, &sample.value)).sum();
        let seconds = slice.window_ns as f64 / 1e9;
        of_round[stack] = (of_round[stack].0 + ios, of_round[stack].1 + seconds, of_round[stack].2 + 1);
        progress.elapsed_s += seconds;
        progress.next_round = progress.next_round.max(slice.round + 1);
    }
    let whole =
        |round: &&Vec<(f64, f64, u32)>| round.iter().all(|(_, _, slices)| *slices == 0 || *slices == 2);
    let rate = |(ios, seconds, slices): &(f64, f64, u32)| (*slices > 0).then(|| ios / seconds);
    progress.rounds = totals.values().filter(whole).map(|round| round.iter().map(rate).collect()).collect();
    progress
}

fn ios_of(metric: &str, value: &Value) -> Option<f64> {
    match value {
        Value::Value(ios) if metric.ends_with(".ios") => Some(*ios),
        _ => None,
    }
}

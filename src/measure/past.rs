//! What the earlier parts of a resumed run did, as the session counts it: read back from the record and the
//! journal.

use super::rounds::Progress;
use crate::bill::run::RunData;
use crate::scenario::Scenario;
use crate::step::journal::{self, Entry};
use crate::step::op::Op;
use crate::store::record::{Value, ended_as_asked};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a run has behind it; of a new one nothing.
#[derive(Debug, Default)]
pub struct Past {
    /// Measured so far, by workload.
    pub progress: BTreeMap<String, Progress>,
    /// Visits that ended: (visit, set, workload).
    pub ended: BTreeSet<(u32, u32, String)>,
    /// The first visit to be made.
    pub first_visit: u32,
    /// Workloads that ended.
    pub workloads_done: BTreeSet<String>,
    /// Bytes written, by fills and by the load.
    pub written: u64,
}

impl Past {
    /// Of a run that is to go on.
    ///
    /// # Errors
    /// When its journal cannot be read.
    pub fn of(data: &RunData, run_dir: &Path) -> Result<Past> {
        let scenario = &data.start.scenario;
        let of_workload = |name: &String| (name.clone(), progress(scenario, data, name));
        let done = data.ends.iter().filter(|(_, reason)| ended_as_asked(reason));
        Ok(Past {
            progress: scenario.workloads.iter().map(|workload| of_workload(&workload.name)).collect(),
            ended: data.visits_ended.iter().cloned().collect(),
            first_visit: data.slices.iter().map(|slice| slice.visit + 1).max().unwrap_or(0),
            workloads_done: done.map(|(workload, _)| workload.clone()).collect(),
            written: loaded(data) + filled(&journal::read(run_dir)?),
        })
    }
}

/// Bytes that recorded slices wrote.
fn loaded(data: &RunData) -> u64 {
    let samples = data.slices.iter().flat_map(|slice| &slice.samples);
    let bytes =
        samples.filter(|sample| sample.metric == "write.bytes").filter_map(|sample| match sample.value {
            Value::Value(bytes) => Some(bytes as u64),
            _ => None,
        });
    bytes.sum()
}

/// Bytes of the fills that were begun.
fn filled(entries: &[Entry]) -> u64 {
    let of = |entry: &Entry| match entry {
        Entry::Intent { step, .. } => match &step.op {
            Op::FillFile(fill) => fill.bytes,
            _ => 0,
        },
        _ => 0,
    };
    entries.iter().map(of).sum()
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

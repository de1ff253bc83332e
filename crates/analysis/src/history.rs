//! History of one stack over many runs: its rate and its ratio to the baseline in each of them, and
//! whether it surely changed from one run to the next, by [`compare_runs`].

use crate::against::compare_runs;
use crate::findings;
use crate::findings::against::{RegressionLimits, RunComparison};
use crate::findings::history::{HistoryChange, HistoryPoint, HistorySeries, StackHistory};
use crate::findings::{
    Comparison, MeasuredFigure, Quantity, StackRow, WarningReport, WorkloadFindings,
};
use iotax_model::scenario::Scenario;
use iotax_store::RunData;
use std::rc::Rc;

/// What the history is about.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuery {
    /// Name or text of the stack, or a part that only one stack of a run has.
    pub stack: String,
    /// Name, or a part of the name, of the baseline that counts; `None`: every baseline.
    pub against: Option<String>,
    /// Part of the name or description of the loads that count.
    pub workload: Option<String>,
}

/// Collects the history run by run, oldest first.
pub struct HistoryBuilder {
    query: HistoryQuery,
    series: Vec<(HistorySeries, Rc<RunData>)>,
}

impl HistoryBuilder {
    pub fn new(query: HistoryQuery) -> HistoryBuilder {
        HistoryBuilder { query, series: Vec::new() }
    }

    /// Adds a run that began after those before; returns false if nothing in it is asked for.
    pub fn add_run(&mut self, run: RunData) -> bool {
        let Some(at) = stack_index(&run.start.scenario, &self.query.stack) else { return false };
        let found = findings(&run);
        let run = Rc::new(run);
        let host = run.places.iter().find_map(|place| place.facts.hostname.clone());
        let mut compared: Option<(String, Result<RunComparison, String>)> = None;
        let mut added = false;
        let asked: Vec<&WorkloadFindings> =
            found.workloads.iter().filter(|one| self.asks_for(one)).collect();
        for workload in asked {
            let Some(row) = workload.rows.get(at) else { continue };
            let rate = quoted_rate(workload, row);
            if rate.value().is_none() {
                continue;
            }
            let mut point = HistoryPoint {
                run: found.run.clone(),
                host: host.clone(),
                against: row_baseline(workload, row),
                rate: rate.clone(),
                ratio: self.ratio(workload, row),
                change: None,
                differs: Vec::new(),
            };
            added = true;
            let own = self.series.iter_mut().find(|(one, _)| one.is_about(workload));
            let Some((series, last)) = own else {
                self.series
                    .push((HistorySeries::new(workload, &row.stack, point), Rc::clone(&run)));
                continue;
            };
            let before = last.start.id.clone();
            if compared.as_ref().is_none_or(|(id, _)| *id != before) {
                let limits = RegressionLimits::default();
                let both = compare_runs(last, &run, limits).map_err(|error| error.to_string());
                compared = Some((before, both));
            }
            if let Some((_, both)) = &compared {
                point.take_comparison(both, workload, &row.stack);
            }
            series.points.push(point);
            *last = Rc::clone(&run);
        }
        added
    }

    /// Returns the history of all runs that were added.
    pub fn finish(self) -> StackHistory {
        let series = self.series.into_iter().map(|(series, _)| series).collect();
        StackHistory { stack: self.query.stack, series }
    }

    fn asks_for(&self, workload: &WorkloadFindings) -> bool {
        let word = self.query.workload.as_deref().unwrap_or_default();
        contains(&workload.name, word) || contains(&workload.subject, word)
    }

    /// Returns the ratio to the baseline; missing with the reason if there is none that counts.
    fn ratio(&self, workload: &WorkloadFindings, row: &StackRow) -> MeasuredFigure {
        let asked = |one: &&Comparison| {
            self.query.against.as_deref().is_none_or(|against| contains(&one.against, against))
        };
        let own: Vec<&Comparison> = comparisons_of(workload, row).collect();
        match (own.iter().copied().find(asked), own.first()) {
            (Some(one), _) => one.rate.ratio.clone(),
            (None, Some(one)) => {
                MeasuredFigure::missing(format!("the baseline of this run is {}", one.against))
            }
            (None, None) if row.baseline => {
                MeasuredFigure::missing("it is the baseline of this run")
            }
            (None, None) => MeasuredFigure::missing("it was not compared in this run"),
        }
    }
}

/// Returns the index of the stack with this name or text, or of the only one that has it as a part.
fn stack_index(scenario: &Scenario, word: &str) -> Option<usize> {
    let stacks = &scenario.stacks;
    let whole = stacks.iter().position(|stack| stack.name == word || stack.text == word);
    let is_part =
        |at: &usize| contains(&stacks[*at].name, word) || contains(&stacks[*at].text, word);
    let mut parts = (0..stacks.len()).filter(is_part);
    whole.or_else(|| parts.next().filter(|_| parts.next().is_none()))
}

fn contains(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(&word.to_lowercase())
}

fn quoted_rate<'a>(workload: &WorkloadFindings, row: &'a StackRow) -> &'a MeasuredFigure {
    if workload.rate_unit == "B/s" { &row.bytes_per_s } else { &row.iops }
}

fn comparisons_of<'a>(
    workload: &'a WorkloadFindings,
    row: &StackRow,
) -> impl Iterator<Item = &'a Comparison> {
    let is_rate = |one: &&Comparison| one.of_write.is_none_or(|it| it == Quantity::Acknowledged);
    let own = move |one: &&Comparison| one.stack == row.stack;
    workload.comparisons.iter().filter(is_rate).filter(own)
}

fn row_baseline(workload: &WorkloadFindings, row: &StackRow) -> Option<String> {
    comparisons_of(workload, row).next().map(|one| one.against.clone())
}

/// Kinds of differences between two runs that a reader of a history has to know: other machines,
/// other settings, another iotax. A reboot is none.
const TOLD: [&str; 27] = [
    "machine",
    "os",
    "kernel",
    "command_line",
    "cpu",
    "cpus",
    "memory",
    "governor",
    "turbo",
    "mitigations",
    "clocksource",
    "huge_pages",
    "drives",
    "emulated",
    "fact",
    "virtual_machine",
    "iotax",
    "slice",
    "equivalence",
    "regime",
    "write_cache",
    "precondition",
    "baseline",
    "engine",
    "place",
    "region",
    "stack",
];

impl HistoryPoint {
    /// Adds what changed since the run before. A comparison that is refused leaves its reason.
    fn take_comparison(
        &mut self,
        both: &Result<RunComparison, String>,
        workload: &WorkloadFindings,
        stack: &str,
    ) {
        let both = match both {
            Ok(both) => both,
            Err(why) => return self.change = Some(HistoryChange::refused(why)),
        };
        let of_a_run = |one: &WarningReport| {
            one.subject.starts_with("old run") || one.subject.starts_with("new run")
        };
        let told = both.warnings.iter().filter(|one| TOLD.contains(&one.kind.as_str()));
        self.differs = told.filter(|one| !of_a_run(one)).cloned().collect();
        let loads = both.workloads.iter().filter(|one| one.name == workload.name);
        let mut stacks = loads.flat_map(|one| &one.stacks).filter(|one| one.stack == stack);
        self.change = Some(match stacks.next().and_then(|one| one.rates.first()) {
            Some(rate) => HistoryChange::from_rate(rate),
            None => HistoryChange::refused("the run before has no such stack under this load"),
        });
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;

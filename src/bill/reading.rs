//! One workload of a run while its findings are made: the sides, and what is asked about them again and again.

use super::compare::Basis;
use super::findings::Figure;
use super::gather::{self, Side};
use super::run::RunData;
use super::steady::Course;
use super::subject::Quantity;
use crate::scenario::Workload;
use crate::store::record::{IO_ERRORS, Warning, ended_as_asked};
use std::collections::HashMap;

/// A workload with its gathered rounds.
pub struct Reading<'a> {
    /// The run.
    pub run: &'a RunData,
    /// The workload.
    pub workload: &'a Workload,
    /// A side a stack.
    pub sides: Vec<Side>,
    /// Slices of stacks that the scenario does not know.
    pub unknown: u64,
    /// The regime of writes, and what it leaves of the rounds.
    pub writes: Course,
    emulated: Vec<Option<String>>,
}

impl<'a> Reading<'a> {
    /// Gathers the rounds of a workload.
    pub fn of(run: &'a RunData, workload: &'a Workload) -> Reading<'a> {
        let (mut sides, unknown) = gather::sides(run, workload);
        let writes = Course::settle(run, workload, &mut sides);
        Reading { run, workload, sides, unknown, writes, emulated: emulated(run) }
    }

    /// What is compared first: acknowledged time.
    pub fn basis(&self) -> Basis {
        Basis { quantity: Quantity::Acknowledged, by_bytes: self.workload.writes() }
    }

    /// Why a stack has no figures.
    pub fn absence(&self, at: usize) -> Figure {
        let side = &self.sides[at];
        let name = &self.run.start.scenario.stacks[at].name;
        let failure = side.failed.clone().or_else(|| self.failure_of(name));
        match failure {
            Some(reason) => Figure::Failed { reason },
            None if !side.rounds.is_empty() => Figure::missing("too few rounds beside the others"),
            None if side.dropped > 0 => Figure::missing("no whole round was measured"),
            None if self.run.outcome.is_none() => Figure::missing("not measured yet"),
            None => Figure::missing("no slice was recorded"),
        }
    }

    /// What was recorded about a stack that failed: its I/O errors, or the words with which the workload ended.
    fn failure_of(&self, stack: &str) -> Option<String> {
        let failed = |warning: &&Warning| warning.subject == stack && warning.kind == IO_ERRORS;
        let warning = self.run.warnings.iter().find(failed);
        warning.map(|warning| warning.text.clone()).or_else(|| {
            let mut ends = self.run.ends.iter().filter(|(workload, _)| *workload == self.workload.name);
            ends.find(|(_, reason)| !is_ordinary(reason)).map(|(_, reason)| reason.clone())
        })
    }

    /// Why the figures of a stack are not representative.
    pub fn emulated(&self, at: usize) -> Option<String> {
        self.emulated[at].clone()
    }

    /// The same of a comparison: one emulated side is enough.
    pub fn emulated_pair(&self, a: usize, b: usize) -> Option<String> {
        self.emulated(b).or_else(|| self.emulated(a))
    }
}

/// Whether a workload ended as it should.
pub fn is_ordinary(reason: &str) -> bool {
    ended_as_asked(reason) || ["interrupted", "complete"].contains(&reason)
}

/// By stack; a stack is emulated if any of its workers runs in a place that is.
fn emulated(run: &RunData) -> Vec<Option<String>> {
    let places: HashMap<&str, &String> = run
        .places
        .iter()
        .filter_map(|place| Some((place.place.as_str(), place.emulated.as_ref()?)))
        .collect();
    let of = |stack: &str| {
        let mut workers = run.workers.iter().filter(|worker| worker.stack == stack);
        workers.find_map(|worker| places.get(worker.place.as_str())).map(|reason| (*reason).clone())
    };
    run.start.scenario.stacks.iter().map(|stack| of(&stack.name)).collect()
}

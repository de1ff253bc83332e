//! Matching of workloads and stacks of two runs: by what they are, not by their names alone.
//! Nothing is paired twice, and what is not paired is listed.

use super::{OnlyIn, RunMismatch, WORDS, names};
use crate::findings::WarningReport;
use iotax_load::Job;
use iotax_model::scenario::{Scenario, Workload};
use iotax_model::stack::Stack;

/// Pairs of indices into the old and the new run, the items that one run alone has, and warnings
/// about the pairs.
pub(super) struct MatchedPairs {
    pub(super) pairs: Vec<[usize; 2]>,
    pub(super) only: Vec<OnlyIn>,
    pub(super) warnings: Vec<WarningReport>,
}

/// Pairs workloads with the same jobs, whatever their names. The same engine and name take
/// precedence, then the same engine.
///
/// # Errors
/// [`RunMismatch::NothingInCommon`], if no workload is in both runs.
pub(super) fn workloads(scenarios: [&Scenario; 2]) -> Result<MatchedPairs, RunMismatch> {
    let [old, new] = scenarios.map(|scenario| scenario.workloads.as_slice());
    let rules: [fn(&Workload, &Workload) -> bool; 3] = [
        |a, b| same_load(a, b) && a.engine == b.engine && a.name == b.name,
        |a, b| same_load(a, b) && a.engine == b.engine,
        same_load,
    ];
    let pairs = paired(old, new, &rules);
    if pairs.is_empty() {
        return Err(RunMismatch::NothingInCommon {
            what: "workload",
            old: names(old, |one| &one.name),
            new: names(new, |one| &one.name),
            hint: "workloads are the same when their jobs are",
        });
    }
    let only = left_over(scenarios, &pairs, |scenario| scenario.workloads.len(), only_workload);
    Ok(MatchedPairs { pairs, only, warnings: Vec::new() })
}

/// Returns true if the jobs are the same apart from their names and the seed of their offsets.
fn same_load(a: &Workload, b: &Workload) -> bool {
    let bare = |job: &Job| Job { name: String::new(), randseed: 0, ..job.clone() };
    a.jobs.len() == b.jobs.len() && a.jobs.iter().zip(&b.jobs).all(|(a, b)| bare(a) == bare(b))
}

/// Pairs stacks with the same one-line form, then others with the same name. A pair of which either
/// differs gets a warning.
///
/// # Errors
/// [`RunMismatch::NothingInCommon`], if no stack is in both runs.
pub(super) fn match_stacks(scenarios: [&Scenario; 2]) -> Result<MatchedPairs, RunMismatch> {
    let [old, new] = scenarios.map(|scenario| scenario.stacks.as_slice());
    let rules: [fn(&Stack, &Stack) -> bool; 3] = [
        |a, b| a.text == b.text && a.name == b.name,
        |a, b| a.text == b.text,
        |a, b| a.name == b.name,
    ];
    let pairs = paired(old, new, &rules);
    if pairs.is_empty() {
        return Err(RunMismatch::NothingInCommon {
            what: "stack",
            old: names(old, |one| &one.text),
            new: names(new, |one| &one.text),
            hint: "stacks are the same when their one-line forms are, or else their names",
        });
    }
    let warnings = pairs.iter().filter_map(|[a, b]| stack_warning(&old[*a], &new[*b])).collect();
    let only = left_over(scenarios, &pairs, |scenario| scenario.stacks.len(), only_stack);
    Ok(MatchedPairs { pairs, only, warnings })
}

fn stack_warning(old: &Stack, new: &Stack) -> Option<WarningReport> {
    let warning =
        |text: String| WarningReport { kind: "stack".into(), subject: new.name.clone(), text };
    match (old.text == new.text, old.name == new.name) {
        (true, true) => None,
        (true, false) => Some(warning(format!("it is called {} in the old run", old.name))),
        (false, _) => Some(warning(format!(
            "only the name is the same: it was \"{}\" in the old run and is \"{}\" in the new one",
            old.text, new.text
        ))),
    }
}

/// Pairs items by the first rule, then the rest by the second, and so on, in the order of the new
/// run.
fn paired<T>(old: &[T], new: &[T], rules: &[fn(&T, &T) -> bool]) -> Vec<[usize; 2]> {
    let mut pairs: Vec<[usize; 2]> = Vec::new();
    for same in rules {
        for (b, newer) in new.iter().enumerate() {
            let free = |a: &usize| pairs.iter().all(|pair| pair[0] != *a && pair[1] != b);
            if let Some(a) = (0..old.len()).filter(free).find(|a| same(&old[*a], newer)) {
                pairs.push([a, b]);
            }
        }
    }
    pairs.sort_by_key(|pair| pair[1]);
    pairs
}

fn left_over(
    scenarios: [&Scenario; 2],
    pairs: &[[usize; 2]],
    count: fn(&Scenario) -> usize,
    describe: fn(&'static str, &Scenario, usize, &Scenario) -> OnlyIn,
) -> Vec<OnlyIn> {
    let of = |run: usize| {
        let alone =
            (0..count(scenarios[run])).filter(move |at| pairs.iter().all(|pair| pair[run] != *at));
        alone.map(move |at| describe(WORDS[run], scenarios[run], at, scenarios[1 - run]))
    };
    of(0).chain(of(1)).collect()
}

fn only_workload(run: &'static str, scenario: &Scenario, at: usize, other: &Scenario) -> OnlyIn {
    let workload = &scenario.workloads[at];
    let namesake = other.workloads.iter().any(|one| one.name == workload.name);
    let detail = match namesake {
        true => format!("{}; the other run has other jobs under this name", workload.subject()),
        false => workload.subject(),
    };
    OnlyIn { run, what: "workload", name: workload.name.clone(), detail }
}

fn only_stack(run: &'static str, scenario: &Scenario, at: usize, _: &Scenario) -> OnlyIn {
    let stack = &scenario.stacks[at];
    OnlyIn { run, what: "stack", name: stack.name.clone(), detail: stack.text.clone() }
}

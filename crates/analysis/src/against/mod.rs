//! Comparison of two stored runs: what both measured, what changed, and whether drift could explain
//! it. What only one run has is listed. Runs that do not compare are refused ([`RunMismatch`]).

mod changes;
mod courses;
mod differences;
mod imported;
mod matching;
#[cfg(test)]
mod tests;

use crate::findings::against::{
    ChargeLimit, LimitCall, LimitLine, OnlyIn, RateChange, RegressionLimits, RunChange,
    RunComparison, ServiceLevelChange, StackChange, VerdictBasis, WorkloadChange,
};
use crate::gather::reading::WorkloadView;
use crate::results::identity;
use crate::results::slo;
use changes::MatchedWorkload;
use iotax_model::scenario::{Scenario, ServiceLevel};
use iotax_store::RunData;

impl RunComparison {
    /// Returns true if a change is surely beyond its limit, or if a service level is violated that
    /// was not in the old run.
    pub fn fails(&self) -> bool {
        self.calls().any(|call| call == LimitCall::Fails)
    }

    fn calls(&self) -> impl Iterator<Item = LimitCall> {
        let stacks = self.workloads.iter().flat_map(|one| &one.stacks);
        let others = stacks.flat_map(|stack| {
            let charges = stack.charges.iter().map(|one| one.limit.call);
            charges.chain(stack.slo.iter().map(|one| one.call))
        });
        let limited = |limit: &Option<LimitLine>| limit.as_ref().map(|limit| limit.call);
        let courses = self.courses.iter().filter_map(move |one| limited(&one.limit));
        self.rates().filter_map(move |rate| limited(&rate.limit)).chain(courses).chain(others)
    }

    fn rates(&self) -> impl Iterator<Item = &RateChange> {
        self.workloads.iter().flat_map(|one| &one.stacks).flat_map(|stack| &stack.rates)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunMismatch {
    #[error(
        "{0} is given twice: a run is not compared with itself; hint: name two runs, `iotax list` has them"
    )]
    SameRun(String),
    #[error(
        "the run {0} measured nothing: it has no whole round; hint: `iotax report {0}` says why"
    )]
    NothingMeasured(String),
    /// Durability trials, which have no rates.
    #[error(
        "the run {0} has durability trials, which are not compared; hint: set their reports side by side: `iotax report {0} OTHER`"
    )]
    Trials(String),
    #[error(
        "the run {search} searched for limits, and the run {other} did not; hint: compare two runs of `iotax limits`, or two of `iotax run`"
    )]
    SearchAndLoads { search: String, other: String },
    #[error(
        "the two runs have no {what} in common: the old one has {old}, the new one {new}; hint: {hint}"
    )]
    NothingInCommon { what: &'static str, old: String, new: String, hint: &'static str },
}

/// Compares two runs; `limits` are the largest changes for the worse that are accepted.
///
/// # Errors
/// [`RunMismatch`]: both are the same run, one has no whole round or no course, one has durability
/// trials instead of rates, only one is a search for limits, or they have nothing in common.
pub fn compare_runs(
    old: &RunData,
    new: &RunData,
    limits: RegressionLimits,
) -> Result<RunComparison, RunMismatch> {
    if old.start.id == new.start.id {
        return Err(RunMismatch::SameRun(new.start.id.clone()));
    }
    let runs = [old, new];
    let readings = runs.map(WorkloadView::all_of_run);
    if imported::any_imported(runs) {
        return imported::compare_imported(runs, &readings, limits);
    }
    if courses::any_search(runs) {
        return courses::compare_searches(runs, limits);
    }
    for (run, readings) in runs.iter().zip(&readings) {
        if readings.iter().flat_map(|one| &one.sides).all(|side| side.rounds.is_empty()) {
            if run.start.scenario.durability.is_some() {
                return Err(RunMismatch::Trials(run.start.id.clone()));
            }
            return Err(RunMismatch::NothingMeasured(run.start.id.clone()));
        }
    }
    let scenarios = runs.map(|run| &run.start.scenario);
    let workloads = matching::workloads(scenarios)?;
    let stacks = matching::match_stacks(scenarios)?;
    let apart_s = differences::apart_s(old, new);
    let matched: Vec<MatchedWorkload> = workloads
        .pairs
        .iter()
        .map(|[old, new]| {
            MatchedWorkload::new([&readings[0][*old], &readings[1][*new]], &stacks.pairs, apart_s)
        })
        .collect();
    let levels = ServiceLevels::from_readings(&readings);
    let mut warnings = differences::comparison_warnings(runs, &readings, &matched);
    warnings.extend(stacks.warnings);
    let mut found = RunComparison {
        old: identity::identity(old),
        new: identity::identity(new),
        apart_s,
        emulated: emulated(runs),
        workloads: matched.iter().map(|one| changes::workload(one, limits, &levels)).collect(),
        courses: Vec::new(),
        only: workloads.only.into_iter().chain(stacks.only).collect(),
        limits,
        result: None,
        warnings,
        not_excluded: Vec::new(),
    };
    found.result = result(&found);
    found.not_excluded = not_excluded(&found);
    Ok(found)
}

fn emulated(runs: [&RunData; 2]) -> Vec<String> {
    let of = |(word, run): (&str, &RunData)| {
        identity::emulated_places(run)
            .into_iter()
            .map(move |line| format!("{word} run: {line}"))
            .collect::<Vec<_>>()
    };
    WORDS.into_iter().zip(runs).flat_map(of).collect()
}

const WORDS: [&str; 2] = ["old", "new"];

fn names<T>(items: &[T], name: impl Fn(&T) -> &str) -> String {
    let names: Vec<&str> = items.iter().map(name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Service levels that either run names, and the number of them judged in each.
struct ServiceLevels {
    levels: Vec<ServiceLevel>,
    many: usize,
}

impl ServiceLevels {
    fn from_readings(readings: &[Vec<WorkloadView>; 2]) -> ServiceLevels {
        let named = readings.iter().flatten().flat_map(slo::levels).cloned();
        let levels = iotax_units::distinct(named);
        let many = readings.each_ref().map(|readings| slo::count_levels(readings, &levels));
        ServiceLevels { levels, many: many[0].max(many[1]) }
    }
}

fn result(found: &RunComparison) -> Option<String> {
    let count = |call: LimitCall| found.calls().filter(|other| *other == call).count();
    let (fails, passes, open) =
        (count(LimitCall::Fails), count(LimitCall::Passes), count(LimitCall::Undetermined));
    let RegressionLimits { rate, latency, cpu } = found.limits;
    let limits = [("", rate), ("latency=", latency), ("cpu=", cpu)];
    let limits = limits
        .into_iter()
        .filter_map(|(of, limit)| Some(format!("{of}{}", changes::percent_word(limit?))));
    let limits: Vec<String> = limits.collect();
    let has_levels =
        found.workloads.iter().flat_map(|one| &one.stacks).any(|stack| !stack.slo.is_empty());
    let what = match (limits.is_empty(), has_levels) {
        (true, false) => return None,
        (true, true) => "service levels".to_owned(),
        (false, false) => format!("--fail-above {}", limits.join(",")),
        (false, true) => format!("--fail-above {} and service levels", limits.join(",")),
    };
    let lines = fails + passes + open;
    Some(format!(
        "{what}: {}; of {lines} verdicts {fails} fail, {passes} pass, {open} cannot be determined",
        if fails > 0 { "fails" } else { "does not fail" }
    ))
}

fn not_excluded(found: &RunComparison) -> Vec<String> {
    let mut lines = vec![
        "what another boot, attach or placement does, beyond what the runs themselves show of it".to_owned(),
        "a change of the machine that came between the runs and is not in the list of differences: it looks like one of what is compared".to_owned(),
    ];
    if found.rates().any(|rate| rate.judged == VerdictBasis::AgainstOwnBaseline) {
        lines.push(
            "a change that affected the baseline too, such as another kernel: it cancels in what is judged against the baseline, and shows in the baseline's own line".into(),
        );
    }
    lines.push("what else ran on the machine: CPU time is that of the whole place".into());
    let count = found.rates().count();
    if count > 1 {
        lines.push(format!(
            "chance over all {count} comparisons together: each interval holds by itself in 95 of 100 pairs of runs"
        ));
    }
    lines
}

fn common_baseline(scenarios: [&Scenario; 2], stacks: &[[usize; 2]]) -> Option<[usize; 2]> {
    let baselines = scenarios.map(|scenario| scenario.baseline);
    stacks.contains(&baselines).then_some(baselines)
}

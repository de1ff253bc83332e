//! Comparison of two searches for limits: rate and burst of each course, new over old. A rate
//! without an interval is compared without a verdict.

use super::{LimitCall, LimitLine, RegressionLimits, RunComparison, RunMismatch};
use crate::findings::against::CourseChange;
use crate::findings::limits::CourseFinding;
use crate::findings::{Interval, MeasuredFigure, SampleUnit};
use crate::{identity, limits};
use iotax_stats::unpaired::LimitOutcome;
use iotax_store::RunData;

/// Returns true if both runs searched for limits.
pub(super) fn both(runs: [&RunData; 2]) -> bool {
    runs.iter().all(|run| run.start.scenario.limits.is_some())
}

/// Compares the two runs.
///
/// # Errors
/// [`RunMismatch`], when they have no course in common.
pub(super) fn against(
    runs: [&RunData; 2],
    accepted: RegressionLimits,
) -> Result<RunComparison, RunMismatch> {
    let [old, new] = runs.map(|run| limits::limits(run).map_or(Vec::new(), |found| found.courses));
    for (run, courses) in runs.iter().zip([&old, &new]) {
        if courses.is_empty() {
            return Err(RunMismatch::NothingMeasured(run.start.id.clone()));
        }
    }
    let pairs = new.iter().filter_map(|new| {
        let old = old.iter().find(|old| old.load == new.load)?;
        Some([change(old, new, "rate", accepted.rate), change(old, new, "burst", None)])
    });
    let courses: Vec<CourseChange> = pairs.flatten().flatten().collect();
    if courses.is_empty() {
        let loads = |courses: &[CourseFinding]| super::names(courses, |one| &one.load);
        return Err(RunMismatch::NothingInCommon {
            what: "course of load",
            old: loads(&old),
            new: loads(&new),
            hint: "courses are matched by their load: give both runs --write, or neither",
        });
    }
    let mut found = RunComparison {
        old: identity::identity(runs[0]),
        new: identity::identity(runs[1]),
        apart_s: super::differences::apart_s(runs[0], runs[1]),
        emulated: super::emulated(runs),
        workloads: Vec::new(),
        courses,
        only: Vec::new(),
        limits: accepted,
        result: None,
        warnings: Vec::new(),
        not_excluded: vec![
            "a change of the machine or of what else used it between the runs: a course has no baseline beside it"
                .to_owned(),
        ],
    };
    found.result = super::result(&found);
    Ok(found)
}

/// Returns the change of a rate or a burst; `None` if neither run has it.
fn change(
    old: &CourseFinding,
    new: &CourseFinding,
    figure: &'static str,
    accepted: Option<f64>,
) -> Option<CourseChange> {
    let of = |course: &CourseFinding| match figure {
        "rate" => course.rate(),
        _ => course.burst(),
    };
    let [before, after] = [of(old), of(new)];
    if before.value().is_none() && after.value().is_none() {
        return None;
    }
    let change = ratio(&before, &after);
    let shown = |course: &CourseFinding, value: f64| match figure {
        "rate" => course.rate_phrase(value),
        _ => course.amount_phrase(value),
    };
    let sides = [(old, &before), (new, &after)];
    let [from, to] = sides
        .map(|(course, side)| side.value().map_or("none".to_owned(), |value| shown(course, value)));
    let verdict = match (change.value(), change.bounds()) {
        (Some(ratio), Some((low, high))) => {
            let half = 50.0 * (high - low);
            let word = if (low..=high).contains(&1.0) { "no change shown, " } else { "" };
            format!("{word}{:+.1} % +- {half:.1} %", 100.0 * (ratio - 1.0))
        }
        (Some(ratio), None) => {
            format!("{:+.1} %, without an interval: no limit holds it", 100.0 * (ratio - 1.0))
        }
        (None, _) => "only one of the runs has it".to_owned(),
    };
    Some(CourseChange {
        load: new.load.clone(),
        figure,
        sentence: format!("{}: {figure} {from} -> {to}: {verdict}", new.load),
        limit: accepted.map(|accepted| judge(&change, accepted)),
        old: before,
        new: after,
        change,
    })
}

/// Returns the ratio of two figures. Its interval is that of independent relative errors.
fn ratio(old: &MeasuredFigure, new: &MeasuredFigure) -> MeasuredFigure {
    let (Some(before), Some(after)) = (old.value(), new.value()) else {
        return MeasuredFigure::missing("one of the runs has no such figure");
    };
    let half = |figure: &MeasuredFigure, value: f64| {
        figure.bounds().map(|(low, high)| (high - low) / 2.0 / value)
    };
    let ratio = after / before;
    let counted = (2, SampleUnit::Runs);
    match (half(old, before), half(new, after)) {
        (Some(old), Some(new)) => {
            let half = ratio * old.hypot(new);
            let interval = Interval::between(ratio - half, ratio + half);
            MeasuredFigure::known(ratio, "1", counted, interval)
        }
        _ => MeasuredFigure::bare(ratio, "1", counted, "a rate that is not held"),
    }
}

fn judge(change: &MeasuredFigure, accepted: f64) -> LimitLine {
    let (Some(ratio), Some((low, high))) = (change.value(), change.bounds()) else {
        let sentence = "cannot be determined: no limit holds the rate in both runs".to_owned();
        return LimitLine { call: LimitCall::Undetermined, sentence };
    };
    let (call, word) = match LimitOutcome::against_limit(ratio, low, high, accepted) {
        LimitOutcome::Fails => (LimitCall::Fails, "fails"),
        LimitOutcome::Passes => (LimitCall::Passes, "passes"),
        _ => (LimitCall::Undetermined, "cannot be determined"),
    };
    let beyond = super::changes::percent_word(accepted);
    LimitLine { call, sentence: format!("{word}: a loss beyond {beyond}") }
}

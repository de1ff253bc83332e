//! Comparison of two searches for limits: rate and burst of each course, new over old. A rate that
//! lacks an interval in one of the runs gets no verdict.

use super::{LimitLine, OnlyIn, RegressionLimits, RunComparison, RunMismatch, changes};
use crate::findings::against::CourseChange;
use crate::findings::limits::CourseFinding;
use crate::findings::{Interval, MeasuredFigure, SampleUnit, WarningReport};
use crate::results::{identity, limits};
use iotax_stats::unpaired::LimitOutcome;
use iotax_store::RunData;

pub(super) fn any_search(runs: [&RunData; 2]) -> bool {
    runs.iter().any(|run| run.start.scenario.limits.is_some())
}

/// Compares two runs of `iotax limits`, the old one first.
///
/// # Errors
/// [`RunMismatch`]: one of the runs is no such search, one measured no course, or no course is in
/// both with a figure.
pub(super) fn compare_searches(
    runs: [&RunData; 2],
    accepted: RegressionLimits,
) -> Result<RunComparison, RunMismatch> {
    for [search, other] in [runs, [runs[1], runs[0]]] {
        if other.start.scenario.limits.is_none() {
            let [search, other] = [search, other].map(|run| run.start.id.clone());
            return Err(RunMismatch::SearchAndLoads { search, other });
        }
    }
    let [old, new] = runs.map(|run| limits::limits(run).map_or(Vec::new(), |found| found.courses));
    for (run, courses) in runs.iter().zip([&old, &new]) {
        if courses.is_empty() {
            return Err(RunMismatch::NothingMeasured(run.start.id.clone()));
        }
    }
    let pairs = new.iter().filter_map(|new| {
        let old = old.iter().find(|old| is_same(old, new))?;
        Some([
            course_change(old, new, "rate", accepted.rate),
            course_change(old, new, "burst", None),
        ])
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
        only: [only_in("old", &old, &new), only_in("new", &new, &old)].concat(),
        limits: accepted,
        result: None,
        warnings: other_target(runs).into_iter().collect(),
        not_excluded: vec![
            "a change of the machine or of what else used it between the runs: a course has no baseline beside it"
                .to_owned(),
        ],
    };
    found.result = super::result(&found);
    Ok(found)
}

fn other_target(runs: [&RunData; 2]) -> Option<WarningReport> {
    let [old, new] = runs.map(|run| run.start.scenario.stacks.first().map(|stack| &stack.text));
    let (old, new) = (old?, new?);
    let text = format!("the old run has the limits of {old}, the new one those of {new}");
    (old != new).then(|| WarningReport::new("stack", new, text))
}

/// Returns the change of a course's rate (if `figure` is `rate`) or burst, new over old; `None` if
/// neither run has it. `accepted` is the largest accepted loss, as a fraction.
fn course_change(
    old: &CourseFinding,
    new: &CourseFinding,
    figure: &'static str,
    accepted: Option<f64>,
) -> Option<CourseChange> {
    let of = |course: &CourseFinding| match figure {
        "rate" => course.rate_figure(),
        _ => course.burst(),
    };
    let [before, after] = [of(old), of(new)];
    if before.value().is_none() && after.value().is_none() {
        return None;
    }
    let change = independent_ratio(&before, &after);
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

/// Returns new over old. Its relative error is the root of the sum of squares of both relative
/// errors, which are independent. There is no interval if one of the figures has none.
fn independent_ratio(old: &MeasuredFigure, new: &MeasuredFigure) -> MeasuredFigure {
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
            let interval = Interval::from_bounds(ratio - half, ratio + half);
            MeasuredFigure::known_value(ratio, "1", counted, interval)
        }
        _ => MeasuredFigure::bare(ratio, "1", counted, "a rate that is not held"),
    }
}

fn judge(change: &MeasuredFigure, accepted: f64) -> LimitLine {
    let (Some(ratio), Some((low, high))) = (change.value(), change.bounds()) else {
        return changes::undetermined("no limit holds the rate in both runs");
    };
    let beyond = format!("a loss beyond {}", changes::percent_word(accepted));
    let outcome = LimitOutcome::against_limit(ratio, low, high, accepted);
    changes::limit_line(outcome, &beyond, || "longer courses (--seconds) narrow it".to_owned())
}

fn only_in(run: &'static str, own: &[CourseFinding], other: &[CourseFinding]) -> Vec<OnlyIn> {
    let alone = own.iter().filter(|one| !other.iter().any(|other| is_same(one, other)));
    let line = |one: &CourseFinding| OnlyIn {
        run,
        what: "course",
        name: one.load.clone(),
        detail: one.sentence.clone(),
    };
    alone.map(line).collect()
}

/// Returns true if two courses look for the same limit, by direction and unit. Their block sizes
/// may differ: 64 KiB replace 1 MiB where that is too coarse.
fn is_same(one: &CourseFinding, other: &CourseFinding) -> bool {
    (one.direction, one.unit) == (other.direction, other.unit)
}

#[cfg(test)]
mod tests {
    use super::super::compare_runs;
    use super::*;
    use crate::findings::against::LimitCall;
    use crate::twin::limits_of;
    use iotax_model::record::course::{CourseDirection, CourseLoad};

    const READS: (CourseDirection, CourseLoad) = (CourseDirection::Read, CourseLoad::SmallBlocks);

    fn accepted(rate: f64) -> RegressionLimits {
        RegressionLimits { rate: Some(rate), ..RegressionLimits::default() }
    }

    #[test]
    fn a_lower_limit_fails_and_the_same_limit_passes() {
        let (old, new) = (limits_of(1, 1000.0, &[READS]), limits_of(2, 800.0, &[READS]));
        let found = compare_runs(&old, &new, accepted(0.05)).unwrap();
        assert!(found.fails());
        let sentence = &found.courses[0].sentence;
        assert!(
            sentence.starts_with("4k random reads at iodepth 32: rate 1,000 I/Os a second -> 800")
                && sentence.contains(": -20.0 % +- "),
            "{sentence}"
        );
        let same = limits_of(3, 1000.0, &[READS]);
        let found = compare_runs(&old, &same, accepted(0.05)).unwrap();
        assert!(!found.fails() && found.courses[0].sentence.contains("no change shown"));
        let calls = found.courses.iter().map(|one| one.limit.as_ref().map(|limit| limit.call));
        assert_eq!(calls.collect::<Vec<_>>(), [Some(LimitCall::Passes), None]);
    }

    #[test]
    fn finer_blocks_are_matched_and_what_one_run_has_alone_is_named() {
        let large = (CourseDirection::Read, CourseLoad::LargeBlocks);
        let fine = (CourseDirection::Read, CourseLoad::FineBlocks);
        let writes = (CourseDirection::Write, CourseLoad::SmallBlocks);
        let old = limits_of(1, 1e8, &[large, writes]);
        let mut new = limits_of(2, 1e8, &[fine]);
        new.start.scenario.stacks[0].text = "/dev/other".into();
        let found = compare_runs(&old, &new, RegressionLimits::default()).unwrap();
        assert_eq!(found.courses.len(), 2, "rate and burst");
        let [only] = found.only.as_slice() else { panic!("{:?}", found.only) };
        assert!(only.to_sentence().starts_with("only in the old run: course 4k random writes"));
        assert!(found.warnings.iter().any(|one| one.text.contains("/dev/other")), "another target");
    }

    #[test]
    fn a_search_is_not_compared_with_loads() {
        let old = limits_of(1, 1000.0, &[READS]);
        let mut new = limits_of(2, 1000.0, &[]);
        let why = |new: &RunData| compare_runs(&old, new, accepted(0.05)).unwrap_err().to_string();
        assert!(why(&new).contains("measured nothing"), "{}", why(&new));
        new.start.scenario.limits = None;
        let why = why(&new);
        assert!(
            why.contains("searched for limits, and the run") && why.contains("hint: "),
            "{why}"
        );
    }
}

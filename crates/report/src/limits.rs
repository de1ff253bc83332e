//! Limits that courses of load show: a row for each course, and what each shows.

use super::table::TextTable;
use super::table::capital;
use super::verdicts::VerdictSentence;
use iotax_analysis::Findings;
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::limits::{CourseFinding, LimitFindings};
use iotax_stats::bucket::CourseShape;

pub(super) fn course_table(findings: &Findings) -> Option<TextTable> {
    let courses = courses(findings);
    if courses.is_empty() {
        return None;
    }
    let mut table = TextTable::default();
    let cells =
        |cell: &dyn Fn(&CourseFinding) -> String| courses.iter().map(cell).collect::<Vec<_>>();
    table.push("course", 0, cells(&|course| course.load.clone()));
    table.push("shows", 1, cells(&|course| shape(course).to_owned()));
    let rate = |rate: f64, course: &CourseFinding| course.rate_phrase(rate);
    table.push(
        "rate",
        0,
        cells(&|course| with_half(&course.rate_figure(), &|of| rate(of, course))),
    );
    let burst = |amount: f64, course: &CourseFinding| course.amount_phrase(amount);
    table.push("burst", 0, cells(&|course| with_half(&course.burst(), &|of| burst(of, course))));
    table.push("seconds", 3, cells(&|course| format!("{:.1}", course.seconds)));
    table.push("rest before", 4, cells(&|course| format!("{:.1} s", course.rested_seconds)));
    Some(table)
}

pub(super) fn courses(findings: &Findings) -> &[CourseFinding] {
    findings.limits.as_ref().map(|found| found.courses.as_slice()).unwrap_or_default()
}

/// Returns what a course shows, in a word or two.
fn shape(course: &CourseFinding) -> &'static str {
    match course.found {
        Some(CourseShape::Bucket(_)) => "token bucket",
        Some(CourseShape::Cap { .. }) => "flat cap",
        Some(CourseShape::Open { .. }) => "no limit",
        None => "no result",
    }
}

/// Returns a value with half the width of its interval in percent: `1,000 I/Os a second +- 0.20 %`.
fn with_half(figure: &MeasuredFigure, shown: &dyn Fn(f64) -> String) -> String {
    match (figure.value(), figure.bounds()) {
        (Some(value), Some((low, high))) => {
            format!("{} +- {:.2} %", shown(value), 50.0 * (high - low) / value)
        }
        (Some(value), None) => shown(value),
        (None, _) => "-".to_owned(),
    }
}

/// Returns what each course shows, then limits on processors, which no course shows. If the
/// headline ends with a course's sentence, only its detail is returned.
pub(super) fn course_sentences(findings: &Findings, headline: &str) -> Vec<VerdictSentence> {
    let class = |course: &CourseFinding| match course.found {
        Some(CourseShape::Bucket(_)) => "cost",
        Some(_) => "none",
        None => "open",
    };
    let shown = courses(findings).iter().map(|course| VerdictSentence {
        class: class(course),
        text: match headline.ends_with(&course.sentence) {
            true => capital(&course.detail),
            false => format!("{} ({})", course.sentence, course.detail),
        },
    });
    let processors = findings.limits.iter().flat_map(LimitFindings::set_on_processors);
    let processors =
        processors.map(|set| VerdictSentence { class: "none", text: format!("set: {set}") });
    shown.chain(processors).collect()
}

pub(super) const LEGEND: &str = "a course is a load without pauses whose progress is recorded; token bucket: what came through follows \
    burst + rate x time, as with a limiter; +- two standard errors, for the burst and one block more";

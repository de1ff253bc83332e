//! A search for limits: the rate over the time of each course, and the limit that it shows.

use super::some_of;
use crate::chart_kind::ChartKind;
use crate::drawing::{ChartDrawing, LegendMark, MARGIN, WIDTH};
use crate::frame::{ChartAxis, ChartFrame};
use crate::request::ChartRequest;
use crate::shapes::path;
use crate::text::{AxisUnit, ChartLabel, drawable, typeset};
use iotax_analysis::findings::limits::CourseFinding;
use iotax_stats::bucket::CourseShape;
use maud::{Markup, html};

pub(crate) const KIND: ChartKind = ChartKind {
    name: "limits",
    about: "rate over the time of a search for limits, with the limit that was found",
    has_quantities: false,
    draw,
};

/// Number of steps into which the time of a course is cut.
const STEPS: usize = 120;
const HEIGHT: f64 = 170.0;

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    let found = request.findings.limits.as_ref()?;
    let courses: Vec<&CourseFinding> = request.asked(&found.courses).collect();
    let title = format!("Limits of {}", found.stack);
    courses_chart(&courses).map(|drawing| ChartDrawing { title, ..drawing })
}

/// Draws the rate over the time of each course; `None` if there is no course with points.
pub fn courses_chart(courses: &[&CourseFinding]) -> Option<ChartDrawing> {
    let (mut body, mut top) = (Vec::new(), 40.0);
    for course in courses.iter().filter(|course| course.points.len() > 2) {
        body.push(draw_course(course, top));
        top += HEIGHT + 84.0;
    }
    (!body.is_empty()).then(|| ChartDrawing {
        title: "Limits".to_owned(),
        description: format!(
            "Rates over time: {}.",
            some_of(courses.iter().map(|course| course.sentence.as_str()), "; ")
        ),
        legend: vec![
            (LegendMark::Plain("curve s2"), "rate".to_owned()),
            (LegendMark::Plain("limit rated"), "limit that the course shows".to_owned()),
        ],
        height: top - 40.0,
        body: html! { @for part in &body { (part) } },
        notes: Vec::new(),
    })
}

/// Returns the amount per second in each step of the course; the time is that of the step's begin.
fn step_rates(course: &CourseFinding) -> Vec<(f64, f64)> {
    let last = course.points.last().map_or(0.0, |point| point.0);
    let end = if course.seconds.is_finite() { course.seconds.max(last) } else { last }.max(1e-9);
    let wide = end / STEPS as f64;
    // A step that is finer than the points would show gaps.
    let many = course.points.len().div_ceil(3).min(STEPS);
    let wide = wide * STEPS as f64 / many.max(1) as f64;
    let mut points = course.points.iter().peekable();
    let (mut amount, mut rates) = (0.0, Vec::new());
    for step in 1..=many {
        let until = step as f64 * wide;
        let before = amount;
        while let Some(point) = points.next_if(|point| point.0 <= until * (1.0 + 1e-9)) {
            amount = point.1;
        }
        rates.push((until - wide, (amount - before) / wide));
    }
    rates.push((end, rates.last().map_or(0.0, |step: &(f64, f64)| step.1)));
    rates
}

fn unit_of_course(course: &CourseFinding, most: f64) -> AxisUnit {
    match course.unit {
        "bytes" => AxisUnit::for_size("B/s", most),
        "datagrams" => AxisUnit { by: 1.0, name: "datagrams per second" },
        _ => AxisUnit::for_size("1/s", most),
    }
}

fn draw_course(course: &CourseFinding, top: f64) -> Markup {
    let rates = step_rates(course);
    let (limit, burst) = match course.found {
        Some(CourseShape::Bucket(bucket)) => (Some(bucket.rate.value), Some(bucket.burst.value)),
        Some(CourseShape::Cap { rate }) => (Some(rate.value), None),
        _ => (None, None),
    };
    let most = rates.iter().map(|step| step.1).chain(limit).fold(0.0, f64::max);
    let unit = unit_of_course(course, most);
    let end = rates.last().map_or(1.0, |step| step.0);
    let frame = ChartFrame {
        left: MARGIN + 64.0,
        top,
        width: WIDTH - 2.0 * MARGIN - 90.0,
        height: HEIGHT,
        x: ChartAxis::even([0.0, end], 8.0).ending_before(end),
        y: ChartAxis::even([0.0, most / unit.by], 4.0),
    };
    // Each rate holds until the next step.
    let stairs = rates.windows(2).flat_map(|pair| [pair[0], (pair[1].0, pair[0].1)]);
    let stairs = stairs.map(|(at, rate)| (at, rate / unit.by));
    let heading = ChartLabel {
        x: MARGIN,
        y: top - 24.0,
        anchor: "start",
        class: "head",
        room: WIDTH - 2.0 * MARGIN,
    };
    let after = burst.map(|amount| format!(" after a burst of {}", course.amount_phrase(amount)));
    let words = limit.map(|rate| {
        format!("{} a second{}", course.amount_phrase(rate), after.unwrap_or_default())
    });
    html! {
        (heading.draw(&typeset(&course.sentence)))
        (frame.grid("time, seconds", unit.name))
        (path("curve s2", &frame.path(stairs)))
        @if let (Some(limit), Some(words)) = (limit, words) {
            g { title { (drawable(&words)) } (frame.level("limit rated", limit / unit.by)) }
        }
    }
}

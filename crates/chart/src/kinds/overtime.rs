//! Rates over time: a strip for each stack, all with the same axis, and below them the ratio to the
//! baseline, which is flat where both wander together.

use super::some_names;
use crate::ChartKind;
use crate::drawing::ChartDrawing;
use crate::frame::{ChartAxis, ChartFrame};
use crate::request::{ChartRequest, counted_word};
use crate::shapes::path;
use crate::text::{AxisUnit, drawable, px, tick_text};
use crate::theme::{LINE_COLOURS, line_class};
use crate::timeline::{StackTimeline, TimeStrips, slice_rate, timelines};
use iotax_analysis::findings::WorkloadFindings;
use iotax_units::median;
use maud::{Markup, html};
use std::collections::BTreeMap;

pub(crate) const KIND: ChartKind = ChartKind {
    name: "overtime",
    about: "rates of the slices over time, and the ratio to the baseline",
    has_quantities: false,
    draw,
};

/// Most points of a strip, and of all strips together. More are binned.
const MOST_IN_STRIP: usize = 2000;
const MOST_POINTS: usize = 4000;
/// Most points of a running median, and of all of them together.
const MOST_IN_LINE: usize = 160;
const MOST_IN_LINES: usize = 2400;
const RATIO_HEIGHT: f64 = 130.0;
/// Times the usual distance of two points from which no line leads from one to the other.
const GAP: f64 = 6.0;

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    let (load, lines) = request.first_load(|load| {
        // A probe of times has no rates.
        let lines = if load.rate_unit == "ns" { Vec::new() } else { timelines(request.run, load) };
        // Two points are no course.
        lines.iter().any(|line| line.slices.len() > 2).then_some(lines)
    })?;
    let strips = TimeStrips::for_timelines(&lines);
    let rates: Vec<Vec<(f64, f64)>> = lines.iter().map(|line| line.rates(load.rate_unit)).collect();
    let most = rates.iter().flatten().map(|point| point.1).fold(0.0, f64::max);
    let unit = AxisUnit::for_size(load.rate_unit, most);
    let y = ChartAxis::even(rates.iter().flatten().map(|point| point.1 / unit.by), 3.0);
    let height = (560.0 / lines.len() as f64).clamp(36.0, 110.0);
    let budget = (MOST_POINTS / lines.len()).min(MOST_IN_STRIP);
    let (body, mut last) = strips.draw(&lines, (height, &y), |frame, at| {
        let points = rates[at].iter().map(|(time, rate)| (time / strips.unit.by, rate / unit.by));
        let points: Vec<(f64, f64)> = points.collect();
        html! {
            (frame.y_grid(tick_text))
            (cloud(frame, &points, lines[at].number, budget))
            (running(frame, &points, &lines[at], lines.len()))
        }
    })?;
    let (ratio, below) = ratio_strip(request, load, &lines, &strips, last.bottom() + 34.0).unzip();
    last = below.unwrap_or(last);
    let names = some_names(lines.iter().map(|line| line.stack));
    let (time, subject) = (strips.length(), &load.subject);
    Some(ChartDrawing {
        title: format!("Rate over time: {subject}"),
        description: format!(
            "Rate of each slice over {time} of {names}, {subject}, with a running median."
        ),
        legend: Vec::new(),
        height: last.bottom() + 44.0,
        body: html! {
            (strips.time_axis(&last))
            (strips.strip(16.0, height, y).names("", &unit.name_counting(counted_word(load))))
            (body)
            @if let Some(ratio) = ratio { (ratio) }
        },
        notes: vec![note(&rates, budget)],
    })
}

fn note(rates: &[Vec<(f64, f64)>], budget: usize) -> String {
    match rates.iter().map(Vec::len).max() {
        Some(most) if most > budget => format!(
            "Bars: least and greatest of neighbouring slices, dots: their median. Lines: running \
             medians of up to {most} slices."
        ),
        _ => "Dots: slices. Lines: running medians.".to_owned(),
    }
}

fn colour_of(number: usize) -> String {
    format!("s{}", number % LINE_COLOURS)
}

/// Draws the points themselves, or where there are too many, neighbours as a bar with their median.
fn cloud(frame: &ChartFrame, points: &[(f64, f64)], number: usize, budget: usize) -> Markup {
    let colour = colour_of(number);
    if points.len() <= budget {
        return path(&format!("points {colour}"), &frame.dots(points.iter().copied()));
    }
    // A bar and its dot take three times as much room as a dot.
    let bins = points.chunks(points.len().div_ceil((budget / 3).max(1)));
    let (mut bars, mut dots) = (String::new(), Vec::new());
    for bin in bins {
        let values = || bin.iter().map(|point| point.1);
        let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
        let at = bin[bin.len() / 2].0;
        bars +=
            &format!("M{} {}V{}", px(frame.x_of(at)), px(frame.y_of(low)), px(frame.y_of(high)));
        dots.push((at, median(values())));
    }
    html! {
        (path(&format!("spans {colour}"), &bars))
        (path(&format!("points {colour}"), &frame.dots(dots)))
    }
}

/// Draws the running median.
fn running(
    frame: &ChartFrame,
    points: &[(f64, f64)],
    stack: &StackTimeline,
    many: usize,
) -> Markup {
    let half = (points.len() / 40).clamp(2, 500);
    let most = (MOST_IN_LINES / many.max(1)).min(MOST_IN_LINE);
    let step = points.len().div_ceil(most.max(1)).max(1);
    let centres = (0..points.len()).step_by(step);
    let near = |at: usize| &points[at.saturating_sub(half)..(at + half + 1).min(points.len())];
    let of_point =
        |at: usize| (points[at].0, median(near(at).iter().map(|point: &(f64, f64)| point.1)));
    let line: Vec<(f64, f64)> = centres.map(of_point).collect();
    let steps = line.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let usual = median(steps);
    // Other visits lie between.
    let parts = line.chunk_by(|a, b| b.0 - a.0 <= GAP * usual);
    let parts: String = parts.map(|part| frame.path(part.iter().copied())).collect();
    let line = path(&format!("curve {}", line_class(stack.number)), &parts);
    html! { g { title { (drawable(stack.stack)) } (line) } }
}

/// Draws the ratio of each stack to the baseline, round by round; `None` if they share no rounds.
fn ratio_strip(
    request: &ChartRequest,
    load: &WorkloadFindings,
    lines: &[StackTimeline],
    strips: &TimeStrips,
    top: f64,
) -> Option<(Markup, ChartFrame)> {
    let is_baseline = |line: &&StackTimeline| load.rows[line.number].baseline;
    let base = lines.iter().find(is_baseline)?;
    let of_base = rounds(base, load.rate_unit);
    let ratios: Vec<(&StackTimeline, Vec<(f64, f64)>)> = lines
        .iter()
        .filter(|line| line.number != base.number)
        .map(|line| (line, changes(line, load.rate_unit, &of_base)))
        .filter(|(_, points)| points.len() > 2)
        .collect();
    let values = ratios.iter().flat_map(|(_, points)| points.iter().map(|point| point.1));
    let zone = request.zone();
    let y = ChartAxis::even(values.chain([-zone, zone]), 4.0).ending_at(-100.0);
    let frame = strips.strip(top, RATIO_HEIGHT, y);
    let scale = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        points.iter().map(|(at, change)| (at / strips.unit.by, *change)).collect()
    };
    let budget = (1500 / ratios.len().max(1)).max(30);
    let drawn = html! {
        (frame.zone(zone))
        (frame.y_grid(tick_text))
        (frame.level("zero", 0.0))
        @for (line, points) in &ratios {
            @if ratios.len() <= 3 { (cloud(&frame, &scale(points), line.number, budget)) }
            (running(&frame, &scale(points), line, ratios.len()))
        }
        (strips.name(&frame, "against the baseline"))
        (frame.names("", &format!("% of change against {}", base.stack)))
    };
    (!ratios.is_empty()).then_some((drawn, frame))
}

/// Identifies a round: visit, set and number.
type RoundKey = (u32, u32, u32);

/// Returns the mean rate of a stack in each of its rounds, and when the round began.
fn rounds(line: &StackTimeline, rate_unit: &str) -> BTreeMap<RoundKey, (f64, f64)> {
    let mut sums: BTreeMap<RoundKey, (f64, f64, f64)> = BTreeMap::new();
    for (at, slice) in &line.slices {
        let sum = sums.entry((slice.visit, slice.set, slice.round)).or_insert((*at, 0.0, 0.0));
        *sum = (sum.0, sum.1 + slice_rate(slice, rate_unit), sum.2 + 1.0);
    }
    sums.into_iter().map(|(key, (at, sum, n))| (key, (at, sum / n))).collect()
}

fn changes(
    line: &StackTimeline,
    rate_unit: &str,
    of_base: &BTreeMap<RoundKey, (f64, f64)>,
) -> Vec<(f64, f64)> {
    let rounds = rounds(line, rate_unit).into_iter();
    let change = rounds.filter_map(|(key, (at, rate))| {
        let (_, base) = of_base.get(&key).filter(|(_, base)| *base > 0.0)?;
        Some((at, 100.0 * (rate / base - 1.0)))
    });
    let mut changes: Vec<(f64, f64)> = change.collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    changes
}

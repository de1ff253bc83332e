//! Rates over time: a strip for each stack, all with the same axis, and below them the ratio to the
//! baseline, which is flat where both wander together.

use super::some_names;
use crate::chart_kind::ChartKind;
use crate::drawing::ChartDrawing;
use crate::drawn_rows::DrawnRows;
use crate::frame::{ChartAxis, ChartFrame};
use crate::request::{ChartRequest, counted_word};
use crate::shapes::path;
use crate::text::{AxisUnit, drawable, px, tick_text};
use crate::theme::{LINE_COLOURS, line_class};
use crate::timeline::{MOST_STRIPS, TimeStrips};
use iotax_analysis::findings::WorkloadFindings;
use iotax_analysis::findings::over_time::{SliceRate, StackRates};
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
/// Most points of a running median.
const MOST_IN_LINE: usize = 160;
const RATIO_HEIGHT: f64 = 130.0;
/// Times the usual distance of two points from which no line leads from one to the other.
const GAP: f64 = 6.0;

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    let zone = request.zone();
    request.first_load(|load| overtime_chart(load, zone, MOST_POINTS)).map(|(_, drawing)| drawing)
}

/// Returns the rates of a load over time with about `most_points` points, which bounds the size of
/// the drawing; `zone` is in percent. Returns `None` if there are too few slices for a course.
pub fn overtime_chart(
    load: &WorkloadFindings,
    zone: f64,
    most_points: usize,
) -> Option<ChartDrawing> {
    // Two points are no course.
    load.over_time.iter().find(|rates| rates.slices.len() > 2)?;
    let rows = DrawnRows::farthest(load, MOST_STRIPS);
    let drawn: Vec<&StackRates> =
        load.over_time.iter().filter(|rates| rows.has(rates.row)).collect();
    let slices = || drawn.iter().flat_map(|rates| &rates.slices);
    let end = slices().map(|slice| slice.start_s + slice.window_s).fold(0.0, f64::max);
    let most = slices().map(|slice| slice.rate).fold(0.0, f64::max);
    let course = LoadCourse {
        load,
        strips: TimeStrips::lasting(end),
        unit: AxisUnit::for_size(load.rate_unit, most),
        most_points,
        drawn,
    };
    let mut drawing = course.draw(zone)?;
    drawing.notes.extend(rows.note());
    Some(drawing)
}

/// A load whose rates are drawn, and the units of the axes.
struct LoadCourse<'a> {
    load: &'a WorkloadFindings,
    strips: TimeStrips,
    unit: AxisUnit,
    most_points: usize,
    drawn: Vec<&'a StackRates>,
}

impl LoadCourse<'_> {
    fn draw(&self, zone: f64) -> Option<ChartDrawing> {
        let all = &self.drawn;
        let points: Vec<Vec<(f64, f64)>> = all.iter().map(|rates| self.points(rates)).collect();
        let y = ChartAxis::even(points.iter().flatten().map(|point| point.1), 3.0);
        let height = (560.0 / all.len() as f64).clamp(36.0, 110.0);
        let budget = (self.most_points / all.len()).min(MOST_IN_STRIP);
        let names: Vec<&str> = all.iter().map(|rates| self.name(rates)).collect();
        let (body, mut last) = self.strips.draw(&names, (height, &y), |frame, at| {
            html! {
                (frame.y_grid(tick_text))
                (cloud(frame, &points[at], all[at].row, budget))
                (self.running(frame, &points[at], all[at]))
            }
        })?;
        let (ratio, below) = self.ratio_strip(zone, last.bottom() + 34.0).unzip();
        last = below.unwrap_or(last);
        let (time, subject) = (self.strips.length(), &self.load.subject);
        let (names, counted) = (some_names(names), counted_word(self.load));
        Some(ChartDrawing {
            title: format!("Rate over time: {subject}"),
            description: format!(
                "Rate of each slice over {time} of {names}, {subject}, with a running median."
            ),
            legend: Vec::new(),
            height: last.bottom() + 44.0,
            body: html! {
                (self.strips.time_axis(&last))
                (self.strips.strip(16.0, height, y).names("", &self.unit.name_counting(counted)))
                (body)
                @if let Some(ratio) = ratio { (ratio) }
            },
            notes: vec![note(&points, budget)],
        })
    }

    fn name(&self, rates: &StackRates) -> &str {
        self.load.rows.get(rates.row).map_or("", |row| row.stack.as_str())
    }

    fn points(&self, rates: &StackRates) -> Vec<(f64, f64)> {
        let scaled =
            |slice: &SliceRate| (slice.start_s / self.strips.unit.by, slice.rate / self.unit.by);
        rates.slices.iter().map(scaled).collect()
    }

    /// Draws the running median.
    fn running(&self, frame: &ChartFrame, points: &[(f64, f64)], rates: &StackRates) -> Markup {
        let half = (points.len() / 40).clamp(2, 500);
        let most = (self.most_points * 3 / 5 / self.drawn.len()).clamp(20, MOST_IN_LINE);
        let near = |at: usize| &points[at.saturating_sub(half)..(at + half + 1).min(points.len())];
        let middle = |at: usize| median(near(at).iter().map(|point| point.1));
        let centres = (0..points.len()).step_by(points.len().div_ceil(most).max(1));
        let line: Vec<(f64, f64)> = centres.map(|at| (points[at].0, middle(at))).collect();
        let usual = median(line.windows(2).map(|pair| pair[1].0 - pair[0].0));
        // Other visits lie between.
        let parts = line.chunk_by(|a, b| b.0 - a.0 <= GAP * usual);
        let parts: String = parts.map(|part| frame.path(part.iter().copied())).collect();
        let line = path(&format!("curve {}", line_class(rates.row)), &parts);
        html! { g { title { (drawable(self.name(rates))) } (line) } }
    }

    /// Draws the change of each stack against the baseline, round by round; `None` if they share no
    /// rounds.
    fn ratio_strip(&self, zone: f64, top: f64) -> Option<(Markup, ChartFrame)> {
        let all = &self.drawn;
        let base = all.iter().find(|rates| self.load.rows[rates.row].baseline)?;
        let of_base = rounds(base);
        let others = all.iter().copied().filter(|rates| rates.row != base.row);
        let changes: Vec<(&StackRates, Vec<(f64, f64)>)> = others
            .map(|rates| (rates, changes(rates, &of_base, self.strips.unit.by)))
            .filter(|(_, points)| points.len() > 2)
            .collect();
        let values = changes.iter().flat_map(|(_, points)| points.iter().map(|point| point.1));
        let y = ChartAxis::even(values.chain([-zone, zone]), 4.0).ending_at(-100.0);
        let frame = self.strips.strip(top, RATIO_HEIGHT, y);
        let budget = (self.most_points / 3 / changes.len().max(1)).max(30);
        let drawn = html! {
            (frame.zone(zone))
            (frame.y_grid(tick_text))
            (frame.level("zero", 0.0))
            @for (rates, points) in &changes {
                @if changes.len() <= 3 { (cloud(&frame, points, rates.row, budget)) }
                (self.running(&frame, points, rates))
            }
            (self.strips.name(&frame, "against the baseline"))
            (frame.names("", &format!("% of change against {}", self.name(base))))
        };
        (!changes.is_empty()).then_some((drawn, frame))
    }
}

fn note(points: &[Vec<(f64, f64)>], budget: usize) -> String {
    match points.iter().map(Vec::len).max() {
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

/// Identifies a round: visit, set and number.
type RoundKey = (u32, u32, u32);

/// Returns the mean rate of a stack in each of its rounds, and when the round began.
fn rounds(rates: &StackRates) -> BTreeMap<RoundKey, (f64, f64)> {
    let mut sums: BTreeMap<RoundKey, (f64, f64, f64)> = BTreeMap::new();
    for slice in &rates.slices {
        let sum = sums.entry(slice.round).or_insert((slice.start_s, 0.0, 0.0));
        *sum = (sum.0, sum.1 + slice.rate, sum.2 + 1.0);
    }
    sums.into_iter().map(|(key, (at, sum, n))| (key, (at, sum / n))).collect()
}

/// Returns the times, divided by `unit`, and the changes in percent of the rounds that the baseline
/// has too.
fn changes(
    rates: &StackRates,
    of_base: &BTreeMap<RoundKey, (f64, f64)>,
    unit: f64,
) -> Vec<(f64, f64)> {
    let change = rounds(rates).into_iter().filter_map(|(key, (at, rate))| {
        let (_, base) = of_base.get(&key).filter(|(_, base)| *base > 0.0)?;
        Some((at / unit, 100.0 * (rate / base - 1.0)))
    });
    let mut changes: Vec<(f64, f64)> = change.collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    changes
}

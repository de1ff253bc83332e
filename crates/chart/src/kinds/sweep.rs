//! A sweep: the rate over the swept value, and the change against the baseline, with the knee
//! ringed.

use super::{some_names, some_of};
use crate::chart_kind::ChartKind;
use crate::drawing::{ChartDrawing, LegendMark, MARGIN, WIDTH};
use crate::frame::{ChartAxis, ChartFrame};
use crate::request::ChartRequest;
use crate::shapes::{circle, moved, path, upright};
use crate::text::{AxisUnit, change_text, drawable, figure_text, tick_text};
use crate::theme::line_class;
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::sweep::{KneePosition, StackCurve, SweepFindings, SweptStack};
use maud::{Markup, html};

pub(crate) const KIND: ChartKind = ChartKind {
    name: "sweep",
    about: "rate and cost over the depth or the block size, with the knee",
    has_quantities: false,
    draw,
};

const HEIGHT: f64 = 240.0;
/// Most panels of one chart: a sweep over two parameters has one or two for each stack.
const MOST_PANELS: usize = 12;

/// A point of a line: the swept value, and a figure with the ends of its interval.
struct SweepDot {
    x: f64,
    value: f64,
    ends: Option<(f64, f64)>,
    is_knee: bool,
    is_hollow: bool,
    words: String,
}

struct SweepLine {
    name: String,
    number: usize,
    dots: Vec<SweepDot>,
}

/// One frame with lines of rates, or of changes against the baseline.
struct SweepPanel {
    name: String,
    lines: Vec<SweepLine>,
    is_change: bool,
}

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    request.asked(&request.findings.sweeps).find_map(|sweep| sweep_chart(sweep, request.zone()))
}

/// Draws the rates and the changes of a sweep; `zone` is the largest negligible difference in
/// percent. `None` if no point has a figure.
pub fn sweep_chart(sweep: &SweepFindings, zone: f64) -> Option<ChartDrawing> {
    let panels = panels(sweep);
    if panels.is_empty() {
        return None;
    }
    let (mut body, mut top) = (Vec::new(), 30.0);
    for panel in &panels {
        body.push(panel.draw(sweep, top, zone));
        top += HEIGHT + 72.0;
    }
    let lines = panels.iter().flat_map(|panel| &panel.lines);
    let mut names: Vec<(usize, &str)> =
        lines.map(|line| (line.number, line.name.as_str())).collect();
    names.sort_unstable();
    names.dedup();
    let stacks = sweep.curves.iter().flat_map(|curve| &curve.stacks);
    let knees = some_of(stacks.map(|stack| stack.knee.sentence.as_str()), "; ");
    let legend = names.iter().map(|(at, name)| (LegendMark::Line(*at), (*name).to_owned()));
    let named = some_names(names.iter().map(|(_, name)| *name));
    Some(ChartDrawing {
        title: format!("Sweep: {}", sweep.subject),
        description: format!("{} of {named}: {knees}.", sweep.subject),
        legend: legend.collect(),
        height: top - 36.0,
        body: html! { @for part in &body { (part) } },
        notes: vec![
            "Bars: 95 % intervals. Ring: knee, where rate over latency is greatest. Hollow: the \
             offered rate was not kept up."
                .to_owned(),
        ],
    })
}

fn panels(sweep: &SweepFindings) -> Vec<SweepPanel> {
    let stacks = sweep.curves.iter().map(|curve| curve.stacks.len()).min().unwrap_or(0);
    let is_grid = sweep.curve_word.is_some();
    let lines = |stack: usize, is_change: bool| {
        sweep.curves.iter().enumerate().filter_map(move |(number, curve)| {
            let of_stack = &curve.stacks[stack];
            let name = match (&sweep.curve_word, &curve.at) {
                (Some(word), Some(value)) => format!("{word} {}", value.shown),
                _ => of_stack.stack.clone(),
            };
            let number = if is_grid { number } else { stack };
            let dots = dots(sweep, of_stack, is_change);
            (!dots.is_empty()).then_some(SweepLine { name, number, dots })
        })
    };
    // Without a second parameter all stacks share a panel.
    let groups: Vec<Vec<usize>> = match is_grid {
        true => (0..stacks).map(|stack| vec![stack]).collect(),
        false => vec![(0..stacks).collect()],
    };
    let panel = |group: &Vec<usize>, is_change: bool| {
        let name = match (is_grid, sweep.curves.first()) {
            (true, Some(curve)) => format!("{}: ", curve.stacks[group[0]].stack),
            _ => String::new(),
        };
        let lines: Vec<SweepLine> =
            group.iter().flat_map(|stack| lines(*stack, is_change)).collect();
        (!lines.is_empty()).then_some(SweepPanel { name, lines, is_change })
    };
    let both = groups.iter().filter(|group| !group.is_empty());
    both.flat_map(|group| [panel(group, false), panel(group, true)])
        .flatten()
        .take(MOST_PANELS)
        .collect()
}

fn dots(sweep: &SweepFindings, curve: &StackCurve, is_change: bool) -> Vec<SweepDot> {
    let knee = match &curve.knee.place {
        KneePosition::Inside { at, .. } => Some(at),
        _ => None,
    };
    let dot = |point: &SweptStack| {
        let figure = figure_of(sweep, point, is_change)?;
        let scaled = |value: f64| if is_change { 100.0 * (value - 1.0) } else { value };
        let text = if is_change { change_text(figure) } else { figure_text(figure) };
        Some(SweepDot {
            x: point.at.value as f64,
            value: scaled(figure.value()?),
            ends: figure.bounds().map(|(low, high)| (scaled(low), scaled(high))),
            is_knee: knee == Some(&point.at) && !is_change,
            is_hollow: point.kept_up == Some(false),
            words: format!("{}, {} {}: {text}", curve.stack, sweep.axis, point.at.shown),
        })
    };
    curve.points.iter().filter_map(dot).collect()
}

fn figure_of<'a>(
    sweep: &SweepFindings,
    point: &'a SweptStack,
    is_change: bool,
) -> Option<&'a MeasuredFigure> {
    match (is_change, sweep.throughput) {
        (true, _) => point.costs.first().map(|cost| &cost.ratio),
        (false, "B/s") => Some(&point.bytes_per_s),
        (false, _) => Some(&point.iops),
    }
}

impl SweepPanel {
    fn draw(&self, sweep: &SweepFindings, top: f64, zone: f64) -> Markup {
        let dots = || self.lines.iter().flat_map(|line| &line.dots);
        let ends = || {
            dots().flat_map(|dot| [dot.ends.map(|e| e.0), Some(dot.value), dot.ends.map(|e| e.1)])
        };
        let unit = match self.is_change {
            true => AxisUnit { by: 1.0, name: "" },
            false => AxisUnit::for_size(sweep.throughput, ends().flatten().fold(0.0, f64::max)),
        };
        let values = ends().flatten().map(|value| value / unit.by);
        let y = match self.is_change {
            true => ChartAxis::even(values.chain([-1.5 * zone, 1.5 * zone]), 5.0).ending_at(-100.0),
            false => ChartAxis::log(values),
        };
        let mut swept: Vec<f64> = dots().map(|dot| dot.x).collect();
        swept.sort_by(f64::total_cmp);
        swept.dedup();
        let frame = ChartFrame {
            left: MARGIN + 64.0,
            top,
            width: WIDTH - 2.0 * MARGIN - 90.0,
            height: HEIGHT,
            x: ChartAxis::log(swept.iter().copied()).with_ticks(swept),
            y,
        };
        let label = |value: f64| {
            let mut points =
                sweep.curves.iter().flat_map(|curve| &curve.stacks).flat_map(|stack| &stack.points);
            let found = points.find(|point| point.at.value as f64 == value);
            found.map_or_else(|| tick_text(value), |point| point.at.shown.clone())
        };
        let name = match self.is_change {
            true => "% of change against the baseline".to_owned(),
            false => format!("{}, logarithmic", unit.name),
        };
        html! {
            @if self.is_change { (frame.zone(zone)) }
            (frame.y_grid(tick_text))
            (frame.x_grid(label))
            @for (at, line) in self.lines.iter().enumerate() {
                (draw_line(&frame, line, unit.by, shift(at, self.lines.len())))
            }
            (frame.names(&format!("{}, logarithmic", sweep.axis), &format!("{}{name}", self.name)))
        }
    }
}

/// Returns the pixels by which a line is shifted, so that its bars do not hide its neighbours'.
fn shift(at: usize, many: usize) -> f64 {
    if many > 8 { 0.0 } else { 5.0 * (at as f64 - (many as f64 - 1.0) / 2.0) }
}

fn draw_line(frame: &ChartFrame, line: &SweepLine, by: f64, shift: f64) -> Markup {
    let class = line_class(line.number);
    let colour = class.split(' ').next().unwrap_or_default();
    let points = line.dots.iter().map(|dot| (dot.x, dot.value / by));
    let name = drawable(&line.name);
    let dots = html! {
        g { title { (name) } (path(&format!("curve {class}"), &frame.path(points))) }
        @for dot in &line.dots { (draw_dot(frame, dot, by, colour)) }
    };
    moved((shift, 0.0), &dots)
}

fn draw_dot(frame: &ChartFrame, dot: &SweepDot, by: f64, colour: &str) -> Markup {
    let (x, y) = (frame.x_of(dot.x), |value: f64| frame.y_of(value / by));
    let hollow = if dot.is_hollow { " hollow" } else { "" };
    html! {
        g {
            title { (drawable(&dot.words)) }
            @if let Some((low, high)) = dot.ends {
                (upright(&format!("curve {colour}"), x, (y(low), y(high))))
            }
            (circle(&format!("knot {colour}{hollow}"), (x, y(dot.value)), 3.5))
            @if dot.is_knee { (circle(&format!("ring {colour}"), (x, y(dot.value)), 9.0)) }
        }
    }
}

//! Drawings of a sweep: cost over the swept value, and throughput over latency.

use super::STYLES;
use super::sweep_chart::{self, Dot, Range, Series};
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::sweep::KneePosition;
use iotax_analysis::findings::sweep::{Curve, StackCurve, SweepFindings, SweptStack};
use maud::{Markup, html};

/// Returns the drawings of cost and of throughput: one for all stacks, or in a sweep over two
/// parameters one per stack, with a line for each value of the second. A drawing has at most as
/// many lines as there are styles.
pub(super) fn drawings(one: &SweepFindings, zone: f64) -> Markup {
    let lines = drawn_lines(one);
    let baseline =
        lines.iter().find(|line| line.stack.baseline).map_or("", |line| line.stack.stack.as_str());
    let groups: Vec<&[DrawnLine]> = lines
        .chunk_by(|a, b| one.curve_word.is_none() || a.stack.stack == b.stack.stack)
        .flat_map(|group| group.chunks(STYLES))
        .collect();
    let unit = if one.throughput == "B/s" { "Throughput (MiB/s)" } else { "IOPS" };
    html! {
        @for group in &groups {
            @let series: Vec<Series> = group.iter().filter_map(|line| line.series(cost)).collect();
            @if !series.is_empty() {
                h3 { "Rate against " (baseline) " over " (one.axis) (of_stack(one, group)) }
                (legend(&series))
                (sweep_chart::costs(&series, zone, &drawing_words("rate against the baseline", one, &series)))
            }
        }
        @for group in &groups {
            @let series: Vec<Series> = group.iter().filter_map(|line| line.series(throughput(one))).collect();
            @if !series.is_empty() {
                h3 { (unit) " against mean latency" (of_stack(one, group)) }
                (legend(&series))
                (sweep_chart::throughputs(&series, &drawing_words("throughput against mean latency", one, &series)))
            }
        }
        p class="soft" {
            "Bars are 95 % intervals, the numbers at the points values of " (one.axis) ". A ring marks the knee, a hollow dot a "
            "rate that was not kept up. All scales but the one of percent are logarithmic."
        }
    }
}

/// Returns `: STACK` for a drawing of a sweep over two parameters, which has one stack; empty for
/// others.
fn of_stack(one: &SweepFindings, group: &[DrawnLine]) -> String {
    match (&one.curve_word, group.first()) {
        (Some(_), Some(line)) => format!(": {}", line.stack.stack),
        _ => String::new(),
    }
}

struct DrawnLine<'a> {
    name: String,
    style: usize,
    stack: &'a StackCurve,
}

/// Returns the lines in the order of the drawings: stack by stack, and curve by curve within each.
fn drawn_lines(one: &SweepFindings) -> Vec<DrawnLine<'_>> {
    let stacks = one.curves.iter().map(|curve| curve.stacks.len()).min().unwrap_or(0);
    let curves = |at| {
        one.curves.iter().enumerate().map(move |(number, curve)| drawn_line(one, curve, number, at))
    };
    (0..stacks).flat_map(curves).collect()
}

/// Returns a line with the name and style of its curve in a grid, otherwise of its stack.
fn drawn_line<'a>(
    one: &SweepFindings,
    curve: &'a Curve,
    number: usize,
    at: usize,
) -> DrawnLine<'a> {
    let stack = &curve.stacks[at];
    let (name, style) = match (&one.curve_word, &curve.at) {
        (Some(word), Some(value)) => (format!("{word} {}", value.shown), number),
        _ => (stack.stack.clone(), at),
    };
    DrawnLine { name, style: style % STYLES, stack }
}

impl DrawnLine<'_> {
    /// Returns the points of the line, at the positions that `ranges` returns (across, up); `None`
    /// if no point can be drawn.
    fn series(&self, ranges: impl Fn(&SweptStack) -> Option<(Range, Range)>) -> Option<Series> {
        let is_knee = |point: &SweptStack| matches!(&self.stack.knee.place, KneePosition::Inside { at, .. } if *at == point.at);
        let dot = |point: &SweptStack| {
            let (x, y) = ranges(point)?;
            let (label, hollow) = (point.at.shown.clone(), point.kept_up == Some(false));
            Some(Dot { label, x, y, knee: is_knee(point), hollow })
        };
        let points: Vec<Dot> = self.stack.points.iter().filter_map(dot).collect();
        (!points.is_empty()).then(|| Series { name: self.name.clone(), style: self.style, points })
    }
}

/// Returns a figure and its bounds, each scaled; `None` if there is no interval.
fn range(figure: &MeasuredFigure, scale: impl Fn(f64) -> f64) -> Option<Range> {
    let (low, high) = figure.bounds()?;
    Some(Range { low: scale(low), value: scale(figure.value()?), high: scale(high) })
}

/// Returns the swept value, and the change of the rate in percent. Writes count when they are
/// acknowledged.
fn cost(point: &SweptStack) -> Option<(Range, Range)> {
    let change = range(&point.costs.first()?.ratio, |ratio| 100.0 * (ratio - 1.0))?;
    Some((Range::point(point.at.value as f64), change))
}

fn throughput(one: &SweepFindings) -> impl Fn(&SweptStack) -> Option<(Range, Range)> {
    let by_bytes = one.throughput == "B/s";
    move |point| {
        let rate = match by_bytes {
            true => range(&point.bytes_per_s, |bytes| bytes / (1 << 20) as f64),
            false => range(&point.iops, |iops| iops),
        }?;
        Some((range(&point.latency, |ns| ns)?, rate))
    }
}

fn legend(series: &[Series]) -> Markup {
    html! {
        ul class="legend" {
            @for one in series {
                li { svg height="8" aria-hidden="true" { line class={ "curve c" (one.style) } x1="0" x2="28" y1="4" y2="4" {} } (one.name) }
            }
        }
    }
}

fn drawing_words(what: &str, one: &SweepFindings, series: &[Series]) -> String {
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    format!("{what} over {} of {}; the tables below have the figures", one.axis, names.join(", "))
}

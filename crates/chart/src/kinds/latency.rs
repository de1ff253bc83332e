//! Latency by percentile: a curve for each stack, quantiles in nines, latencies logarithmic.

use super::some_names;
use crate::chart_kind::ChartKind;
use crate::drawing::{ChartDrawing, LegendMark, MARGIN, WIDTH};
use crate::drawn_rows::DrawnRows;
use crate::frame::{ChartAxis, ChartFrame};
use crate::request::ChartRequest;
use crate::shapes::{path, upright};
use crate::text::{drawable, typeset};
use crate::theme::line_class;
use iotax_analysis::findings::{LatencyFigures, StackRow, WorkloadFindings, percentile_name};
use iotax_units::show_ns;
use maud::{Markup, html};

pub(crate) const KIND: ChartKind = ChartKind {
    name: "latency",
    about: "latency by percentile, a line for each stack",
    has_quantities: false,
    draw,
};

const HEIGHT: f64 = 320.0;
const INTERVALS: &str = "Bars at percentiles: 95 % intervals.";
/// Most curves of one chart.
const MOST_CURVES: usize = 16;
/// Most curves whose intervals can be told from each other.
const MOST_WITH_BANDS: usize = 12;

struct LatencyCurve<'a> {
    stack: &'a str,
    number: usize,
    figures: &'a LatencyFigures,
}

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    request.first_load(latency_chart).map(|(_, drawing)| drawing)
}

/// Draws the latencies of a load, reads and writes apart; `None` if no stack has a curve.
pub fn latency_chart(load: &WorkloadFindings) -> Option<ChartDrawing> {
    let drawn = DrawnRows::farthest(load, MOST_CURVES);
    let curves = ["read", "write"].map(|way| curves(load, &drawn, way));
    let curves: Vec<_> = curves.into_iter().filter(|curves| !curves.is_empty()).collect();
    if curves.is_empty() {
        return None;
    }
    let (mut body, mut top) = (Vec::new(), 16.0);
    for way in &curves {
        let name = format!("latency of {}s, logarithmic", way[0].figures.direction);
        body.push(draw_way(way, top, &name));
        top += HEIGHT + 62.0;
    }
    let stacks = || curves.iter().flatten().map(|curve| (curve.number, curve.stack));
    let mut names: Vec<(usize, &str)> = stacks().collect();
    names.sort_unstable();
    names.dedup();
    let legend = names.iter().map(|(at, name)| (LegendMark::Line(*at), (*name).to_owned()));
    Some(ChartDrawing {
        title: format!("Latency by percentile: {}", load.subject),
        description: format!(
            "Latency by percentile of {}, {}; medians: {}.",
            some_names(names.iter().map(|(_, name)| *name)),
            load.subject,
            some_names(medians(&curves).iter().map(String::as_str))
        ),
        legend: legend.collect(),
        height: top - 28.0,
        body: html! { @for part in &body { (part) } },
        notes: std::iter::once(INTERVALS.to_owned()).chain(drawn.note()).collect(),
    })
}

fn medians(curves: &[Vec<LatencyCurve>]) -> Vec<String> {
    let median = |curve: &LatencyCurve| {
        Some(format!("{} {}", curve.stack, time_text(curve.figures.p50.value()?)))
    };
    curves.iter().flatten().filter_map(median).collect()
}

fn curves<'a>(load: &'a WorkloadFindings, drawn: &DrawnRows, way: &str) -> Vec<LatencyCurve<'a>> {
    let has_curve = |one: &&LatencyFigures| one.direction == way && one.curve.len() > 1;
    let curve = |(number, row): (usize, &'a StackRow)| {
        let figures = row.latency.iter().find(has_curve)?;
        Some(LatencyCurve { stack: &row.stack, number, figures })
    };
    load.rows.iter().enumerate().filter(|(row, _)| drawn.has(*row)).filter_map(curve).collect()
}

/// Percentiles that may have an interval.
fn bands(figures: &LatencyFigures) -> impl Iterator<Item = (f64, f64, f64)> {
    let known = [(0.5, &figures.p50), (0.99, &figures.p99), (0.999, &figures.p999)];
    let asked = figures.asked.iter().map(|one| (one.percent / 100.0, &one.figure));
    let all = known.into_iter().chain(asked).filter(|(quantile, _)| *quantile < 1.0);
    all.filter_map(|(quantile, figure)| {
        let (low, high) = figure.bounds()?;
        Some((quantile, low, high))
    })
}

fn draw_way(curves: &[LatencyCurve], top: f64, name: &str) -> Markup {
    let points = || curves.iter().flat_map(|curve| curve.figures.curve.iter());
    let ends = curves.iter().flat_map(|curve| bands(curve.figures));
    let most = points().map(|point| point.0).fold(0.9, f64::max);
    let ends: Vec<f64> =
        ends.filter(|(at, ..)| *at <= most).flat_map(|(_, low, high)| [low, high]).collect();
    let frame = ChartFrame {
        left: MARGIN + 64.0,
        top,
        width: WIDTH - 2.0 * MARGIN - 64.0 - 24.0,
        height: HEIGHT,
        x: ChartAxis::nines(most),
        y: ChartAxis::log(points().map(|point| point.1 as f64).chain(ends)),
    };
    let quantile = |at: f64| percentile_name(at).trim_start_matches('p').to_owned();
    html! {
        (frame.y_grid(time_text))
        (frame.x_grid(quantile))
        @for curve in curves { (draw_curve(&frame, curve, curves.len())) }
        (frame.names("percentile", name))
    }
}

fn draw_curve(frame: &ChartFrame, curve: &LatencyCurve, many: usize) -> Markup {
    let points: Vec<(f64, f64)> =
        curve.figures.curve.iter().map(|(at, ns)| (*at, *ns as f64)).collect();
    let class = line_class(curve.number);
    // Neighbours' bars would hide each other.
    let aside = |number: usize| (number % 5) as f64 * 5.0 - 5.0 * (many.min(5) - 1) as f64 / 2.0;
    let colour = class.split(' ').next().unwrap_or_default();
    let bands =
        bands(curve.figures).filter(|(at, ..)| points.last().is_some_and(|last| *at <= last.0));
    let colour = format!("curve {colour}");
    html! {
        g {
            title { (drawable(curve.stack)) }
            (path(&format!("curve {class}"), &frame.path(points.iter().copied())))
            @for (at, low, high) in bands.filter(|_| many <= MOST_WITH_BANDS) {
                @let x = frame.x_of(at) + aside(curve.number);
                (upright(&colour, x, (frame.y_of(low), frame.y_of(high))))
            }
        }
    }
}

/// Returns `200 µs`, without decimals that are zero.
pub(super) fn time_text(ns: f64) -> String {
    typeset(&show_ns(ns).replace(".00", "").replace(".0 ", " "))
}

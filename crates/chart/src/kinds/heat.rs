//! Latencies over time: how many I/Os took how long, a map for each stack.

use super::latency::time_text;
use super::some_names;
use crate::chart_kind::ChartKind;
use crate::drawing::ChartDrawing;
use crate::drawn_rows::DrawnRows;
use crate::frame::{ChartAxis, ChartFrame};
use crate::request::ChartRequest;
use crate::text::px;
use crate::timeline::{MOST_STRIPS, StackTimeline, TimeStrips, end_of, timelines};
use iotax_load::histogram::bounds;
use iotax_model::record::SampleValue;
use iotax_units::grouped;
use maud::{Markup, html};
use std::collections::BTreeMap;

pub(crate) const KIND: ChartKind = ChartKind {
    name: "heat",
    about: "how many I/Os took how long, over time, a map for each stack",
    has_quantities: false,
    draw,
};

/// Most cells of all maps together, which bounds the size of the file.
const MOST_CELLS: usize = 6000;
/// Number of shades.
const SHADES: usize = 8;

/// Counts of I/Os of one stack, by column and row of its map.
type HeatCells = BTreeMap<(usize, usize), u64>;

/// Counts of I/Os of one stack, by column and bucket of the histograms.
type BucketCounts = BTreeMap<(usize, u32), u64>;

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    let (load, (rows, lines, all)) = request.first_load(|load| {
        let rows = DrawnRows::farthest(load, MOST_STRIPS);
        let lines = timelines(request.run, load, &rows);
        let all = counts(request, &lines);
        let most = lines.iter().map(|line| line.slices.len()).max().unwrap_or(0);
        (most > 2 && all.iter().any(|counts| !counts.is_empty())).then_some((rows, lines, all))
    })?;
    let strips = TimeStrips::lasting(end_of(&lines));
    let y = ChartAxis::log(all.iter().flatten().map(|((_, bucket), _)| middle_ns(*bucket)));
    let height = (600.0 / lines.len() as f64).clamp(44.0, 150.0);
    let cells = cell_counts(&lines);
    let maps: Vec<HeatCells> = all.iter().map(|counts| binned(counts, &y, cells.1)).collect();
    let most = maps.iter().flat_map(BTreeMap::values).copied().max().unwrap_or(1);
    let names: Vec<&str> = lines.iter().map(|line| line.stack).collect();
    let (body, last) = strips.draw(&names, (height, &y), |frame, at| {
        let map = draw_map(frame, &maps[at], most, cells, &strips);
        html! { (frame.y_grid(time_text)) (map) }
    })?;
    let names = some_names(names);
    let (subject, most) = (&load.subject, grouped(most as f64));
    Some(ChartDrawing {
        title: format!("Latencies over time: {subject}"),
        description: format!(
            "Number of I/Os by latency and time of {names}, {subject}; the fullest cell has {most}."
        ),
        legend: Vec::new(),
        height: last.bottom() + 44.0,
        body: html! { (strips.time_axis(&last)) (body) },
        notes: std::iter::once(format!(
            "Darker: more I/Os, in equal ratios from 1 to {most} a cell. Latency is logarithmic."
        ))
        .chain(rows.note())
        .collect(),
    })
}

/// Returns the columns and rows of a map, so that all maps together stay small.
fn cell_counts(lines: &[StackTimeline]) -> (usize, usize) {
    let rows = if lines.len() > 12 { 10 } else { 24 };
    let columns = (MOST_CELLS / lines.len().max(1) / rows).clamp(4, 150);
    let slices = lines.iter().map(|line| line.slices.len()).max().unwrap_or(1);
    // With as many columns as slices, some would have none by chance.
    (columns.min((slices / 2).max(1)), rows)
}

/// Returns the latencies of each stack, counted column by column.
fn counts(request: &ChartRequest, lines: &[StackTimeline]) -> Vec<BucketCounts> {
    let seconds = end_of(lines).max(1e-9);
    let (columns, _) = cell_counts(lines);
    let is_latency = |metric: &str| metric == "read.latency" || metric == "write.latency";
    let of_line = |line: &StackTimeline| {
        let mut counts = BucketCounts::new();
        for (at, slice) in &line.slices {
            let column = ((at / seconds * columns as f64) as usize).min(columns - 1);
            for sample in slice.samples.iter().filter(|sample| is_latency(&sample.metric)) {
                let SampleValue::Histogram(offset) = sample.value else { continue };
                let Some(histogram) = request.run.histograms.read_at(offset) else { continue };
                for (bucket, count) in histogram.sparse() {
                    let sum = counts.entry((column, bucket)).or_default();
                    *sum = sum.saturating_add(count);
                }
            }
        }
        counts
    };
    lines.iter().map(of_line).collect()
}

/// Returns the middle of a bucket.
fn middle_ns(bucket: u32) -> f64 {
    let (low, high) = bounds(bucket as usize);
    (low as f64 / 2.0 + high as f64 / 2.0).max(1.0)
}

fn binned(counts: &BucketCounts, y: &ChartAxis, rows: usize) -> HeatCells {
    let mut cells = HeatCells::new();
    for ((column, bucket), count) in counts {
        let row = ((y.share_of(middle_ns(*bucket)) * rows as f64) as usize).min(rows - 1);
        let cell = cells.entry((*column, row)).or_default();
        *cell = cell.saturating_add(*count);
    }
    cells
}

/// Draws the cells of each shade as one path.
fn draw_map(
    frame: &ChartFrame,
    cells: &HeatCells,
    most: u64,
    (columns, rows): (usize, usize),
    strips: &TimeStrips,
) -> Markup {
    let right = frame.x_of(strips.seconds / strips.unit.by);
    let wide = (right - frame.left) / columns as f64;
    let high = frame.height / rows as f64;
    let mut shades = vec![String::new(); SHADES];
    for ((column, row), count) in cells {
        let share = (*count as f64).ln() / (most.max(2) as f64).ln();
        let shade = ((share * SHADES as f64) as usize).min(SHADES - 1);
        let x = frame.left + *column as f64 * wide;
        let y = frame.bottom() - (*row as f64 + 1.0) * high;
        shades[shade] += &format!("M{} {}h{w}v{}h-{w}z", px(x), px(y), px(high), w = px(wide));
    }
    let opacity = |shade: usize| format!("{:.2}", (shade as f64 + 1.0) / SHADES as f64);
    html! {
        @for (shade, cells) in shades.iter().enumerate().filter(|(_, cells)| !cells.is_empty()) {
            path class="heat" fill-opacity=(opacity(shade)) d=(cells) {}
        }
    }
}

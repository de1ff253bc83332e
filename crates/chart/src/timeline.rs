//! The slices of one load in the order of time, and the strips in which they are drawn.

use crate::drawing::{MARGIN, WIDTH};
use crate::drawn_rows::DrawnRows;
use crate::frame::{ChartAxis, ChartFrame};
use crate::text::{AxisUnit, ChartLabel, tick_text};
use iotax_analysis::RunData;
use iotax_analysis::findings::{StackRow, WorkloadFindings};
use iotax_model::record::{Purpose, Slice};
use maud::{Markup, html};

/// Slices of one stack under one load, with the seconds since the first slice of that load.
pub(crate) struct StackTimeline<'a> {
    pub(crate) stack: &'a str,
    pub(crate) slices: Vec<(f64, &'a Slice)>,
}

/// Most stacks with a strip.
pub(crate) const MOST_STRIPS: usize = 16;

/// Returns the slices of the comparison itself, by stack; stacks without any are left out.
pub(crate) fn timelines<'a>(
    run: &'a RunData,
    load: &'a WorkloadFindings,
    drawn: &DrawnRows,
) -> Vec<StackTimeline<'a>> {
    let is_ours = |slice: &&Slice| {
        slice.workload == load.name && slice.purpose == Purpose::Plain && slice.window_ns > 0
    };
    let ours: Vec<&Slice> = run.slices.iter().filter(is_ours).collect();
    let begin = ours.iter().map(|slice| slice.start_ns).min().unwrap_or_default();
    let of_stack = |row: &'a StackRow| {
        let slices = ours.iter().filter(|slice| slice.stack == row.stack);
        let mut slices: Vec<(f64, &Slice)> =
            slices.map(|slice| ((slice.start_ns - begin) as f64 / 1e9, *slice)).collect();
        slices.sort_by(|a, b| a.0.total_cmp(&b.0));
        (!slices.is_empty()).then_some(StackTimeline { stack: &row.stack, slices })
    };
    let rows = load.rows.iter().enumerate().filter(|(row, _)| drawn.has(*row));
    rows.filter_map(|(_, row)| of_stack(row)).collect()
}

/// Returns the end of the last slice in seconds.
pub(crate) fn end_of(lines: &[StackTimeline]) -> f64 {
    let ends = lines.iter().filter_map(|line| line.slices.last());
    ends.map(|(at, slice)| at + slice.window_ns as f64 / 1e9).fold(0.0, f64::max)
}

/// Strips below each other with one axis of time.
pub(crate) struct TimeStrips {
    pub(crate) seconds: f64,
    pub(crate) unit: AxisUnit,
}

/// Pixels for the names of the strips, and for the labels of their ticks.
const NAMES: f64 = 150.0;
const TICKS: f64 = 66.0;

impl TimeStrips {
    pub(crate) fn lasting(seconds: f64) -> TimeStrips {
        TimeStrips { seconds, unit: AxisUnit::for_size("s", seconds) }
    }

    /// Returns the whole time in words.
    pub(crate) fn length(&self) -> String {
        format!("{} {}", tick_text((self.seconds / self.unit.by).round()), self.unit.name)
    }

    /// Returns the frame of a strip; times are in the unit of the axis.
    pub(crate) fn strip(&self, top: f64, height: f64, y: ChartAxis) -> ChartFrame {
        let left = MARGIN + NAMES + TICKS;
        let end = self.seconds / self.unit.by;
        let x = ChartAxis::even([0.0, end], 8.0).ending_before(end);
        ChartFrame { left, top, width: WIDTH - MARGIN - 20.0 - left, height, x, y }
    }

    /// Draws a strip for each stack, with its name and what `content` draws for the stack with this
    /// index. Returns the last frame too; `None` without stacks.
    pub(crate) fn draw(
        &self,
        names: &[&str],
        (height, y): (f64, &ChartAxis),
        content: impl Fn(&ChartFrame, usize) -> Markup,
    ) -> Option<(Markup, ChartFrame)> {
        let top = |at: usize| 16.0 + at as f64 * (height + 18.0);
        let frames: Vec<ChartFrame> =
            (0..names.len()).map(|at| self.strip(top(at), height, y.clone())).collect();
        let drawn = html! {
            @for (at, (name, frame)) in names.iter().zip(&frames).enumerate() {
                (self.name(frame, name))
                (content(frame, at))
            }
        };
        Some((drawn, frames.into_iter().next_back()?))
    }

    pub(crate) fn name(&self, frame: &ChartFrame, name: &str) -> Markup {
        let y = frame.top + frame.height / 2.0 + 4.0;
        ChartLabel { x: MARGIN, y, anchor: "start", class: "", room: NAMES }.draw(name)
    }

    /// Draws the axis of time below the last strip.
    pub(crate) fn time_axis(&self, last: &ChartFrame) -> Markup {
        html! { (last.x_grid(tick_text)) (last.names(&format!("time, {}", self.unit.name), "")) }
    }
}

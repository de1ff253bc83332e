//! The rate of one stack over time: a row for each level, and a line that draws the course.

use super::look::TerminalLook;
use super::number::Shown;
use super::table::TextTable;
use iotax_analysis::findings::WorkloadFindings;
use iotax_analysis::findings::trace::{TraceFinding, TraceLevel};
use iotax_units::{median, show_bytes, show_ns};

/// Characters of the line that draws the course.
const LINE: usize = 60;

pub(super) const NOTE: &str = "the load ran without a pause; a level ends where the mean changes by \
    a tenth or more and by more than the scatter; steady: by SNIA's bounds on range and slope";

pub(super) fn level_table(trace: &TraceFinding) -> TextTable {
    let mut table = TextTable::default();
    let cells = |cell: &dyn Fn(&TraceLevel) -> String| trace.levels.iter().map(cell).collect();
    let seconds =
        |seconds: f64| if seconds > 0.0 { show_ns(seconds * 1e9) } else { "start".to_owned() };
    table.push("from", 0, cells(&|level| seconds(level.from_s)));
    table.push("for", 0, cells(&|level| seconds(level.to_s - level.from_s)));
    table.push("after", 1, cells(&|level| show_bytes(level.after_bytes as u64)));
    let head = if trace.unit == "B/s" { "bytes/s" } else { "IOPS" };
    table.push(head, 0, cells(&|level| Shown::from_figure(&level.rate).cell()));
    let first = trace.levels.first().and_then(|level| level.rate.value()).unwrap_or(f64::NAN);
    let share = |level: &TraceLevel| {
        let share = level.rate.value().map(|rate| format!("{:.0} %", 100.0 * rate / first));
        share.unwrap_or_default()
    };
    table.push("of the first", 2, cells(&share));
    table
}

/// Returns the course of the rate in one line, each sign the median of a part of the time.
pub(super) fn course_line(load: &WorkloadFindings, look: TerminalLook) -> String {
    let slices: Vec<f64> =
        load.over_time.iter().flat_map(|stack| &stack.slices).map(|slice| slice.rate).collect();
    let part = slices.len().div_ceil(LINE).max(1);
    let rates: Vec<f64> = slices.chunks(part).map(|part| median(part.iter().copied())).collect();
    look.sparkline(rates.iter().copied())
}

//! What a page that compares does not say of its method: M1 repeats and spread, M3 preconditioning.

use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::knowledge::words::{Word, says};
use crate::number::{Quantity, Unit};
use crate::page::Spot;
use crate::prose::{Clause, Manner, topic};
use crate::rule::{Evidence, Sink};
use crate::table::{Cell, Row, Table};

/// Whether a page has a word outside its outputs, in lines no longer than so many bytes.
fn has(evidence: &Evidence, word: Word, longest: usize) -> bool {
    let lines = evidence.lines_outside_outputs().map(|line| evidence.page.line(line));
    lines.filter(|line| line.len() <= longest).any(|line| says(&line.to_lowercase(), word))
}

/// A rate, a time, or a score: a number without a unit that has a fraction counts nothing.
fn is_measured(figure: &Quantity) -> bool {
    use Unit::{BitsPerSecond, BytesPerSecond, Mwips, Nanoseconds, PerSecond};
    match figure.unit {
        Unit::Bare => figure.figure.value.fract() != 0.0,
        unit => matches!(unit, PerSecond | BytesPerSecond | BitsPerSecond | Mwips | Nanoseconds),
    }
}

/// A time in a sentence mostly says how something is done.
fn is_rate(figure: &Quantity) -> bool {
    matches!(figure.unit, Unit::PerSecond | Unit::BytesPerSecond | Unit::BitsPerSecond)
}

/// Whether a page shows two results at least: two outputs, or rates in tables.
fn shows_results(evidence: &Evidence) -> bool {
    let outputs = evidence.outputs.iter().filter(|output| !output.said.readings().is_empty());
    let cells = evidence.tables.iter().flat_map(|table| &table.rows).flat_map(figures).filter(is_rate);
    outputs.take(2).count() + cells.take(2).count() > 1
}

fn figures(row: &Row) -> impl Iterator<Item = Quantity> {
    row.cells.iter().flatten().filter_map(|cell| cell.figure)
}

/// So many claims of speed are a comparison whose results are pictures.
const CLAIMS: usize = 3;

/// The first line that compares measured results.
fn compared(evidence: &Evidence) -> Option<Spot> {
    let in_table = evidence.tables.iter().flat_map(|table| &table.rows).find_map(ratio);
    let in_sentence = || {
        let mut claims = evidence.clauses.iter().filter_map(|clause| claim(evidence, clause));
        let first = claims.next()?;
        (shows_results(evidence) || claims.nth(CLAIMS - 2).is_some()).then_some(first)
    };
    in_table.or_else(in_sentence).filter(|_| !has(evidence, "releases", 72))
}

/// The cell of a row that has the ratio or the change of two others, in percent or times.
fn ratio(row: &Row) -> Option<Spot> {
    let measured: Vec<Quantity> = figures(row).filter(is_measured).take(20).collect();
    let is_of = |printed: f64, one: &Quantity, other: &Quantity| {
        let share = 100.0 * one.figure.value / other.figure.value;
        let near = |value: f64| (value - printed.abs()).abs() <= 0.6;
        one.unit == other.unit && (near(share) || near((share - 100.0).abs()))
    };
    figures(row).find_map(|figure| {
        let printed = match figure.unit {
            Unit::Percent => figure.figure.value,
            Unit::Times => 100.0 * figure.figure.value,
            _ => return None,
        };
        let fits = |one: &Quantity| {
            measured.iter().any(|other| one.figure.spot != other.figure.spot && is_of(printed, one, other))
        };
        measured.iter().any(fits).then_some(figure.figure.spot)
    })
}

/// The figure of a clause that says how much faster or slower something is, or how many times.
fn claim(evidence: &Evidence, clause: &Clause) -> Option<Spot> {
    let sentence = clause.sentence(evidence.page).to_lowercase();
    let of_speed = clause.topic.read || clause.topic.write || says(&sentence, "speed");
    let wanted = match clause.manner {
        Manner::Loss | Manner::Gain => Unit::Percent,
        Manner::Times => Unit::Times,
        _ => return None,
    };
    let figure = clause.figures.iter().find(|figure| figure.unit == wanted)?;
    of_speed.then_some(figure.figure.spot)
}

pub(super) fn spread(evidence: &Evidence, sink: &mut Sink) {
    let mut lines = evidence.tables.iter().flat_map(|table| table.lines.clone());
    let told =
        has(evidence, "spread", usize::MAX) || lines.any(|line| evidence.page.line(line).contains("+- "));
    let Some(spot) = compared(evidence).filter(|_| !told) else { return };
    let message = "figures are compared without a word of how they spread over repeated runs: a difference may be chance";
    sink.finds(Finding::new("M1", Severity::Ambiguous, spot, message));
}

pub(super) fn preconditioning(evidence: &Evidence, sink: &mut Sink) {
    let of_output = evidence.outputs.iter().find_map(|output| {
        let readings = output.said.readings();
        let written = readings.iter().find(|reading| reading.way == Way::Write)?;
        Some(written.iops.or(written.bytes_per_second)?.spot)
    });
    let written = of_output.or_else(|| evidence.tables.iter().find_map(write));
    let Some(spot) = written.filter(|_| compared(evidence).is_some() && has(evidence, "flash", usize::MAX))
    else {
        return;
    };
    if !has(evidence, "filled", usize::MAX) {
        let message = "writes to a flash drive without a word of preconditioning: a fresh drive writes faster than it goes on to";
        sink.finds(Finding::new("M3", Severity::Ambiguous, spot, message));
    }
}

/// The first rate of writes of a table, by its label or head.
fn write(table: &Table) -> Option<Spot> {
    let writes = |text: &str| topic(text).write && !says(&text.to_lowercase(), "requests");
    let of_heads: Vec<bool> = table.columns.iter().map(|column| writes(&column.head)).collect();
    table.rows.iter().find_map(|row| {
        let of_label = writes(&row.label);
        let rated = |cell: &Cell| {
            let rate = |figure: &Quantity| matches!(figure.unit, Unit::BytesPerSecond | Unit::PerSecond);
            cell.figure.filter(|figure| rate(figure) && figure.figure.value > 0.0)
        };
        let mut cells = row.cells.iter().zip(&of_heads).filter(|(_, of_head)| of_label || **of_head);
        cells.find_map(|(cell, _)| Some(rated(cell.as_ref()?)?.figure.spot))
    })
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    const TABLE: &str = "| t | host | VM | VM/host |\n|---|---|---|---|\n| a | 100 MB/s | 90 MB/s | 90% |\n| b | 200 MB/s | 190 MB/s | 95% |\n";
    const RUN: &str = "a: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=1\nfio-3.33\nStarting 1 process\n\
                       a: (groupid=0, jobs=1): err= 0: pid=11: Tue Mar  5 10:00:00 2024\n  write: IOPS=10.0k, BW=39.1MiB/s (41.0MB/s)(2344MiB/60002msec)\n\n";

    fn told(page: &str, rule: &str) -> usize {
        found(page, rule).len()
    }

    #[test]
    fn a_comparison_without_a_spread_is_told_once() {
        assert_eq!(told(TABLE, "M1"), 1);
        assert_eq!(told(&format!("{TABLE}\nWrites are 20% slower.\n"), "M1"), 1);
        for spread in ["100 ± 3 MB/s", "100 +- 3 MB/s"] {
            assert_eq!(told(&TABLE.replace("100 MB/s", spread), "M1"), 0, "{spread}");
        }
        let utilised = TABLE.replace("90% |", "31% |").replace("95% |", "35% |");
        assert_eq!(told(&utilised, "M1"), 0, "CPU, and no ratio");
        assert_eq!(told(&TABLE.replace(" MB/s", ""), "M1"), 0, "counts have no runs");
    }

    #[test]
    fn pages_that_only_quote_an_output_compare_nothing() {
        let quoted = format!("My NVMe SSD:\n\n{RUN}");
        assert_eq!((told(&quoted, "M1"), told(&quoted, "M3")), (0, 0));
        let twice = format!("{quoted}And the other one:\n\n{RUN}");
        assert_eq!((told(&twice, "M1"), told(&twice, "M3")), (0, 0));
        let compared = format!("{twice}Writes lose 18% of their performance.\n");
        assert_eq!((told(&compared, "M1"), told(&compared, "M3")), (1, 1));
        let once = format!("{quoted}Writes lose 18% of their performance.\n");
        assert_eq!((told(&once, "M1"), told(&once, "M3")), (0, 0), "against what?");
        let claims = "Reads are 20% faster.\n\nLatency dropped by 15%.\n\nThe speed is 2x as high.\n";
        assert_eq!(told(claims, "M1"), 1, "three claims");
        assert_eq!(told(&claims.replace("The speed", "The colour"), "M1"), 0);
        assert_eq!(told(&format!("# Release notes of 2.4\n\n{claims}"), "M1"), 0);
    }

    #[test]
    fn writes_to_flash_without_preconditioning_are_told() {
        let page = |what: &str, cell: &str| {
            format!("An NVMe drive.\n\n{TABLE}| {what} | {cell} | {cell} | 100% |\n")
        };
        assert_eq!(told(&page("write", "1900 MB/s"), "M3"), 1);
        assert_eq!(told(&page("write", "at once"), "M3"), 0, "no figure");
        assert_eq!(told(&page("write QPS", "1900 MB/s"), "M3"), 0, "of a service");
        assert_eq!(told(&page("write", "1900 MB/s").replace("NVMe", "tape"), "M3"), 0);
        let filled = page("write", "1900 MB/s").replace("drive.", "drive, preconditioned.");
        assert_eq!(told(&filled, "M3"), 0);
    }
}

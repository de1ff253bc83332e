//! What a page that compares does not say of its method: M1 repeats and spread, M3 preconditioning.

use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::knowledge::words::{Word, says};
use crate::link::{Link, Why};
use crate::number::{Quantity, Unit};
use crate::page::Spot;
use crate::prose::{Clause, Manner, topic};
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
    let of_rates = |link: &&Link| link.why != Why::Told && is_measured(&link.numerator);
    let in_table = evidence.links.iter().filter(of_rates).map(|link| link.derived.figure.spot).min();
    let in_sentence = || {
        let mut claims = evidence.clauses.iter().filter_map(|clause| claim(evidence, clause));
        let first = claims.next()?;
        (shows_results(evidence) || claims.nth(CLAIMS - 2).is_some()).then_some(first)
    };
    in_table.or_else(in_sentence).filter(|_| !has(evidence, "releases", 72))
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
    let message = "figures are compared, and how they spread over repeated runs is not stated: a difference may be chance";
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
        let message =
            "preconditioning is not stated: a fresh flash drive writes faster than in a steady state";
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

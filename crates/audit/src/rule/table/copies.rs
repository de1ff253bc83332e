//! Cells that were copied from outputs of tools that the page shows: T4.

use crate::finding::{Finding, Severity, Slip};
use crate::import::fio::Direction;
use crate::import::{Output, Said, Way};
use crate::number::{Figure, Interval, Quantity, Unit};
use crate::page::Spot;
use crate::prose::topic;
use crate::rule::{Evidence, Rule, Sink};
use crate::table::{Cell, Table};
use std::collections::HashMap;

/// T4: a cell is what the output says.
pub const COPY: Rule = Rule {
    id: "T4",
    name: "a cell is what the output says that it was copied from",
    severity: Severity::WrongFigure,
    holds: "cells whose text an output of the page prints are its copies; one of a wrong figure is wrong",
    silent: "where fewer than three cells of a table are copies",
    check: copies,
};

/// A figure of an output that tables have copies of.
#[derive(Clone, Copy)]
struct Source {
    figure: Figure,
    unit: Unit,
    way: Way,
}

fn copies(evidence: &Evidence, sink: &mut Sink) {
    if evidence.tables.is_empty() {
        return;
    }
    let sources = sources(evidence);
    if sources.is_empty() {
        return;
    }
    for table in evidence.tables {
        of_table(evidence, table, &sources, sink);
    }
}

/// Every result by its printed text without blanks.
fn sources<'a>(evidence: &Evidence<'a>) -> HashMap<String, Vec<Source>> {
    let mut sources: HashMap<String, Vec<Source>> = HashMap::new();
    for output in evidence.outputs {
        for source in results(output) {
            let text = plain(evidence.page.quote(source.figure.spot));
            // A digit or two are everywhere.
            if text.bytes().filter(u8::is_ascii_digit).count() >= 2 {
                sources.entry(text).or_default().push(source);
            }
        }
    }
    sources
}

/// The rates and bandwidths of an output.
fn results(output: &Output) -> Vec<Source> {
    let mut results = Vec::new();
    let mut add =
        |figure: Option<Figure>, unit, way| results.extend(figure.map(|figure| Source { figure, unit, way }));
    for reading in output.said.readings() {
        add(reading.iops, Unit::PerSecond, reading.way);
        add(reading.bytes_per_second, Unit::BytesPerSecond, reading.way);
    }
    for direction in decimals(output) {
        add(direction.bandwidth_decimal, Unit::BytesPerSecond, direction.way);
    }
    results
}

/// fio prints bandwidths of 1000 beside those of 1024.
fn decimals(output: &Output) -> impl Iterator<Item = &Direction> {
    let fio = match &output.said {
        Said::Fio(fio) => Some(fio),
        #[allow(unreachable_patterns, reason = "fio is one of many tools")]
        _ => None,
    };
    fio.into_iter().flat_map(|fio| &fio.jobs).flat_map(|job| &job.directions)
}

fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

fn figures(cell: &Cell) -> impl Iterator<Item = &Quantity> {
    cell.figure.iter().chain(&cell.more)
}

fn of_table(evidence: &Evidence, table: &Table, sources: &HashMap<String, Vec<Source>>, sink: &mut Sink) {
    let mut copied = Vec::new();
    for row in &table.rows {
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            let about = topic(&column.head).or(&topic(&row.label));
            for quantity in cell.iter().flat_map(figures) {
                let Some(found) = sources.get(&plain(evidence.page.quote(quantity.figure.spot))) else {
                    continue;
                };
                let alike = |source: &&Source| {
                    let unit = quantity.unit == source.unit
                        || (quantity.unit == Unit::Bare && source.unit == Unit::PerSecond);
                    let way = match (about.read != about.write, source.way) {
                        (true, Way::Read) => about.read,
                        (true, Way::Write) => about.write,
                        _ => true,
                    };
                    unit && way
                };
                let found: Vec<Source> = found.iter().filter(alike).copied().collect();
                if !found.is_empty() {
                    copied.push((quantity, found));
                }
            }
        }
    }
    if copied.len() < 3 {
        return;
    }
    for (quantity, found) in copied {
        copy(evidence, quantity, &found, sink);
    }
}

fn copy(evidence: &Evidence, quantity: &Quantity, found: &[Source], sink: &mut Sink) {
    let Some((value, text, spot)) = agreed(found, sink) else {
        sink.holds("T4", &quantity.figure);
        // What an output has more exactly, where all that say so agree.
        let mut exact = found.iter().filter_map(|source| sink.refinement(source.figure.spot));
        if let Some(first) = exact.next().filter(|first| exact.all(|other| other == *first)) {
            sink.refines(quantity.figure.spot, first);
        }
        return;
    };
    let printed = evidence.page.quote(quantity.figure.spot);
    let line = evidence.page.number(spot.index());
    let message = format!("{printed} is copied from line {line}, where it is wrong: {text} is meant");
    sink.corrects(quantity.figure.spot, value, text.clone());
    sink.finds(
        Finding::new("T4", Severity::WrongFigure, quantity.figure.spot, message)
            .recomputed(text)
            .slip(Slip::FioCarry)
            .against([spot]),
    );
}

/// The correction of a printed text, where all that is printed so was corrected alike.
fn agreed(found: &[Source], sink: &Sink) -> Option<(Interval, String, Spot)> {
    let first = found.first()?;
    let correction = sink.correction(first.figure.spot)?.clone();
    let all = found
        .iter()
        .all(|source| sink.correction(source.figure.spot).is_some_and(|one| one.text == correction.text));
    all.then_some((correction.value, correction.text, first.figure.spot))
}

#[cfg(test)]
mod tests;

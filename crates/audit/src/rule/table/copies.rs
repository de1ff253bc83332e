//! Cells that were copied from outputs of tools that the page shows: T4.

use crate::finding::{Finding, Severity, Slip};
use crate::import::{Output, Reading};
use crate::number::{Figure, Interval, Unit};
use crate::page::Spot;
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
}

fn copies(evidence: &Evidence, sink: &mut Sink) {
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
        for (figure, unit) in results(output) {
            let text = plain(evidence.page.quote(figure.spot));
            // A digit or two are everywhere.
            if text.bytes().filter(u8::is_ascii_digit).count() >= 2 {
                sources.entry(text).or_default().push(Source { figure, unit });
            }
        }
    }
    sources
}

/// The rates and bandwidths of an output.
fn results(output: &Output) -> Vec<(Figure, Unit)> {
    let mut results = Vec::new();
    if let crate::import::Said::Fio(fio) = &output.said {
        for direction in fio.jobs.iter().flat_map(|job| &job.directions) {
            results.extend(direction.iops.map(|figure| (figure, Unit::PerSecond)));
            for bandwidth in [direction.bandwidth, direction.bandwidth_decimal].into_iter().flatten() {
                results.push((bandwidth, Unit::BytesPerSecond));
            }
        }
        return results;
    }
    let of = |reading: Reading| {
        [
            reading.iops.map(|figure| (figure, Unit::PerSecond)),
            reading.bytes_per_second.map(|figure| (figure, Unit::BytesPerSecond)),
        ]
    };
    results.extend(output.said.readings().into_iter().flat_map(of).flatten());
    results
}

fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

fn figures(cell: &Cell) -> impl Iterator<Item = &crate::number::Quantity> {
    cell.figure.iter().chain(&cell.more)
}

fn of_table(evidence: &Evidence, table: &Table, sources: &HashMap<String, Vec<Source>>, sink: &mut Sink) {
    let matched = |quantity: &crate::number::Quantity| -> Option<&Vec<Source>> {
        let found = sources.get(&plain(evidence.page.quote(quantity.figure.spot)))?;
        let alike = |source: &Source| {
            quantity.unit == Unit::Bare && source.unit == Unit::PerSecond || quantity.unit == source.unit
        };
        found.iter().any(alike).then_some(found)
    };
    let cells: Vec<&crate::number::Quantity> =
        table.rows.iter().flat_map(|row| row.cells.iter().flatten()).flat_map(figures).collect();
    let copied = cells.iter().filter(|quantity| matched(quantity).is_some()).count();
    if copied < 3 {
        return;
    }
    for quantity in cells {
        let Some(found) = matched(quantity) else { continue };
        match agreed(found, sink) {
            Some((value, text, spot)) => {
                let printed = evidence.page.quote(quantity.figure.spot);
                let message = format!(
                    "{printed} is copied from line {}, where it is wrong: {text} is meant",
                    evidence.page.number(spot.index())
                );
                sink.corrects(quantity.figure.spot, value, text.clone());
                sink.finds(
                    Finding::new("T4", Severity::WrongFigure, quantity.figure.spot, message)
                        .recomputed(text)
                        .slip(Slip::FioCarry)
                        .against([spot]),
                );
            }
            None => sink.holds("T4", &quantity.figure),
        }
    }
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

//! Cells that were copied from outputs of tools that the page shows: T4.

use crate::evidence::{Evidence, EvidenceSink};
use crate::finding::{Finding, Severity, Slip};
use crate::import::{ResultDirection, ToolOutput, ToolReport};
use crate::link::words::{READ, WRITE, lists};
use crate::number::{NumberUnit, PrintedNumber, Quantity};
use crate::table::PageTable;
use std::collections::HashMap;

/// A figure of an output that tables have copies of.
type CopiedFigure = (PrintedNumber, NumberUnit, ResultDirection);

pub(in crate::rule) fn check(evidence: &Evidence, sink: &mut EvidenceSink) {
    // Every result by its printed text without blanks; a digit or two are everywhere.
    let mut sources: HashMap<String, Vec<CopiedFigure>> = HashMap::new();
    for source in evidence.outputs.iter().flat_map(results) {
        let text = plain(evidence.page.quote(source.0.spot));
        if text.bytes().filter(u8::is_ascii_digit).count() >= 2 {
            sources.entry(text).or_default().push(source);
        }
    }
    if sources.is_empty() {
        return;
    }
    for table in evidence.tables {
        let copied = copied(evidence, table, &sources);
        let enough = copied.len() >= 3;
        copied
            .iter()
            .filter(|_| enough)
            .for_each(|(cell, found)| copy(evidence, cell, found, sink));
    }
}

/// The rates and bandwidths of an output; fio prints bandwidths of 1000 beside those of 1024.
fn results(output: &ToolOutput) -> Vec<CopiedFigure> {
    let readings = output.said.readings();
    let rates = readings.iter().flat_map(|one| {
        [
            (one.iops, NumberUnit::PerSecond, one.way),
            (one.bytes_per_second, NumberUnit::BytesPerSecond, one.way),
        ]
    });
    let jobs = if let ToolReport::Fio(fio) = &output.said { fio.jobs.as_slice() } else { &[] };
    let directions = jobs.iter().flat_map(|job| &job.directions);
    let decimals =
        directions.map(|one| (one.bandwidth_decimal, NumberUnit::BytesPerSecond, one.way));
    rates.chain(decimals).filter_map(|(figure, unit, way)| Some((figure?, unit, way))).collect()
}

fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// The cells of a table that print what an output prints, in its unit and of its way.
fn copied(
    evidence: &Evidence,
    table: &PageTable,
    sources: &HashMap<String, Vec<CopiedFigure>>,
) -> Vec<(Quantity, Vec<CopiedFigure>)> {
    let mut copied = Vec::new();
    for row in &table.rows {
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            let said = [&column.head, &row.label].map(|text| lists(text) & (READ | WRITE));
            let said = said.into_iter().find(|said| *said != 0).unwrap_or_default();
            for quantity in cell.iter().flat_map(|cell| cell.figure.iter().chain(&cell.more)) {
                let alike = |(_, unit, way): &&CopiedFigure| {
                    let way = match way {
                        ResultDirection::Read => said != WRITE,
                        ResultDirection::Write => said != READ,
                        _ => true,
                    };
                    way && (quantity.unit == *unit
                        || (quantity.unit, *unit) == (NumberUnit::Bare, NumberUnit::PerSecond))
                };
                let found = sources.get(&plain(evidence.page.quote(quantity.figure.spot)));
                let found: Vec<CopiedFigure> =
                    found.into_iter().flatten().filter(alike).copied().collect();
                copied.extend((!found.is_empty()).then_some((*quantity, found)));
            }
        }
    }
    copied
}

fn copy(evidence: &Evidence, cell: &Quantity, found: &[CopiedFigure], sink: &mut EvidenceSink) {
    let (spot, own) = (found[0].0.spot, cell.figure.spot);
    let correction = sink.correction(spot).cloned();
    let text = |one: &CopiedFigure| sink.correction(one.0.spot).map(|one| one.text.as_str());
    // All that is printed so was corrected alike.
    let Some(correction) =
        correction.filter(|one| found.iter().all(|other| text(other) == Some(&one.text)))
    else {
        sink.holds("T4", &cell.figure);
        // What an output has more exactly, where all that say so agree.
        let mut exact = found.iter().filter_map(|one| sink.refinement(one.0.spot));
        if let Some(first) = exact.next().filter(|first| exact.all(|other| other == *first)) {
            sink.refines(own, first);
        }
        return;
    };
    let (printed, text) = (evidence.page.quote(own), correction.text);
    let line = evidence.page.number(spot.index());
    let message =
        format!("{printed} is copied from line {line}, where it is wrong: {text} is meant");
    sink.corrects(own, correction.value, text.clone());
    let finding = Finding::new("T4", Severity::WrongFigure, own, message).recomputed(text);
    sink.finds(finding.slip(Slip::FioCarry).against([spot]));
}

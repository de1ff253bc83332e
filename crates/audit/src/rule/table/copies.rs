//! T4: cells that were copied from outputs of tools that the page shows.

use crate::evidence::{Evidence, EvidenceSink};
use crate::finding::{Finding, Severity, Slip};
use crate::import::format::{ToolOutput, ToolReport};
use crate::import::workload::ResultDirection;
use crate::link::words::{READ, WRITE, lists};
use crate::number::{NumberUnit, PrintedNumber, Quantity};
use crate::table::PageTable;
use std::collections::HashMap;

/// A figure of an output that tables may copy.
type CopiedFigure = (PrintedNumber, NumberUnit, ResultDirection);

pub(in crate::rule) fn check(evidence: &Evidence, sink: &mut EvidenceSink) {
    // Every result by its printed text without blanks; one or two digits are everywhere.
    let mut sources: HashMap<String, Vec<CopiedFigure>> = HashMap::new();
    for source in evidence.outputs.iter().flat_map(results) {
        let text = plain_text(evidence.page.quote(source.0.spot));
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

/// Returns the rates and bandwidths of an output. fio prints 1000-based bandwidths next to
/// 1024-based ones.
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

fn plain_text(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// Finds the cells of a table that print a value of an output, with its unit and direction.
fn copied(
    evidence: &Evidence,
    table: &PageTable,
    sources: &HashMap<String, Vec<CopiedFigure>>,
) -> Vec<(Quantity, Vec<CopiedFigure>)> {
    let mut copied = Vec::new();
    for row in &table.rows {
        for (cell, head) in row.cells.iter().zip(&table.heads) {
            let said = [head, &row.label].map(|text| lists(text) & (READ | WRITE));
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
                let found = sources.get(&plain_text(evidence.page.quote(quantity.figure.spot)));
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
    // All figures with this printed text must have the same correction.
    let Some(correction) =
        correction.filter(|one| found.iter().all(|other| text(other) == Some(&one.text)))
    else {
        sink.mark_holding("T4", &cell.figure);
        // More exact values count if all outputs that have one agree.
        let mut exact = found.iter().filter_map(|one| sink.refinement(one.0.spot));
        if let Some(first) = exact.next().filter(|first| exact.all(|other| other == *first)) {
            sink.refines(own, first);
        }
        return;
    };
    let (printed, text) = (evidence.page.quote(own), correction.text);
    let line = evidence.page.line_number(spot.index());
    let message =
        format!("{printed} is copied from line {line}, where it is wrong: {text} is meant");
    sink.corrects(own, correction.value, text.clone());
    let finding = Finding::new("T4", Severity::WrongFigure, own, message).recomputed(text);
    sink.add_finding(finding.slip(Slip::FioCarry).against([spot]));
}

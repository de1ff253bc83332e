//! `within 2 %`: S1, and S7 where a page states several bands of error.

use super::spot;
use crate::claim::Status;
use crate::finding::{Finding, Severity};
use crate::link::mentions;
use crate::number::{Quantity, Unit};
use crate::page::Page;
use crate::prose::{Clause, Manner};
use crate::rule::{Evidence, Rule, Sink};
use crate::table::Table;

/// S1: what is said to be within a band is.
pub const WITHIN: Rule = Rule {
    id: "S1",
    name: "what is said to be within a band is",
    severity: Severity::WrongConclusion,
    holds: "of two systems' figures in the tables that the sentence speaks of none is more than the stated percentage apart",
    silent: "unless the sentence names both columns of a table behind it, or one of them and that table is the next; where the sentence has results itself",
    check: within,
};

/// S7: one band of error.
pub const BANDS: Rule = Rule {
    id: "S7",
    name: "a page states one band of error",
    severity: Severity::Ambiguous,
    holds: "all stated margins of error are the same",
    silent: "of bands that are not called an error",
    check: bands,
};

fn within(evidence: &Evidence, sink: &mut Sink) {
    for clause in evidence.clauses.iter().filter(|clause| clause.manner == Manner::Within) {
        let Some(band) = clause.percents().next() else { continue };
        // `writes (218) are within 30 % of those of the pool (168)` tells what it compares.
        if of_line(evidence.clauses, clause.line)
            .any(|other| other.sentence == clause.sentence && has_operand(other))
        {
            continue;
        }
        let tables = spoken_of(evidence, clause);
        if !tables.is_empty() {
            judge(evidence.page, clause, band, &tables, sink);
        }
    }
}

/// The clauses of a line.
fn of_line(clauses: &[Clause], line: usize) -> impl Iterator<Item = &Clause> {
    let first = clauses.partition_point(|clause| clause.line < line);
    clauses[first..].iter().take_while(move |clause| clause.line == line)
}

/// Whether a clause has a result besides its band: no block size, and no count of a few.
fn has_operand(clause: &Clause) -> bool {
    let is_result = |figure: &Quantity| match figure.unit {
        Unit::Bare => figure.scale == 1.0 && figure.figure.value >= 10.0,
        unit => {
            matches!(unit, Unit::PerSecond | Unit::BytesPerSecond | Unit::BitsPerSecond | Unit::Nanoseconds)
        }
    };
    clause.figures.iter().any(is_result)
}

/// The two columns of figures of a table.
fn columns(table: &Table) -> Option<[usize; 2]> {
    let figure = |row: &crate::table::Row, at: usize| row.cells.get(at)?.as_ref()?.figure;
    let of_values = |at: &usize| {
        let mut figures = table.rows.iter().filter_map(|row| figure(row, *at)).peekable();
        figures.peek().is_some() && figures.all(|one| !matches!(one.unit, Unit::Percent | Unit::Times))
    };
    let values: Vec<usize> = (0..table.columns.len()).filter(of_values).collect();
    let [first, second] = values.as_slice() else { return None };
    let alike = table.rows.iter().all(|row| match (figure(row, *first), figure(row, *second)) {
        (Some(left), Some(right)) => left.unit == right.unit,
        _ => true,
    });
    alike.then_some([*first, *second])
}

/// The tables behind a clause that it speaks of: one whose two columns the sentence names, or the next ones of equal heads of
/// which it names one.
fn spoken_of<'a>(evidence: &Evidence<'a>, clause: &Clause) -> Vec<&'a Table> {
    let sentence = clause.sentence(evidence.page);
    let behind: Vec<(&Table, [usize; 2])> = evidence
        .tables
        .iter()
        .filter(|table| table.lines.start > clause.line)
        .filter_map(|table| Some((table, columns(table)?)))
        .collect();
    let names = |table: &Table, columns: [usize; 2]| {
        let heads = columns.map(|at| table.columns[at].head.as_str());
        [mentions(sentence, heads[0], heads[1]), mentions(sentence, heads[1], heads[0])]
    };
    if let Some((table, _)) = behind.iter().find(|(table, columns)| names(table, *columns) == [true, true]) {
        return vec![table];
    }
    let Some((first, columns)) = behind.first() else { return Vec::new() };
    if !names(first, *columns).contains(&true) || first.lines.start > clause.line + 40 {
        return Vec::new();
    }
    let same = |table: &&Table| table.columns == first.columns;
    behind.iter().map(|(table, _)| *table).take_while(same).collect()
}

fn judge(page: &Page, clause: &Clause, band: &Quantity, tables: &[&Table], sink: &mut Sink) {
    let mut outside: Vec<(f64, Quantity, Quantity)> = Vec::new();
    let mut all = 0;
    for table in tables {
        let Some(columns) = columns(table) else { continue };
        for row in &table.rows {
            let figure = |at: usize| row.cells.get(at)?.as_ref()?.figure;
            let (Some(left), Some(right)) = (figure(columns[0]), figure(columns[1])) else { continue };
            let Some(ratio) = right.interval().over(left.interval()) else { continue };
            all += 1;
            let off = 100.0 * (right.figure.value / left.figure.value - 1.0);
            let sure =
                ratio.low > 1.0 + band.figure.value / 100.0 || ratio.high < 1.0 - band.figure.value / 100.0;
            if sure {
                outside.push((off, left, right));
            }
        }
    }
    if all == 0 {
        return;
    }
    let said = page.quote(band.figure.spot);
    if outside.is_empty() {
        sink.checks.push((band.figure.spot, Status::Holds, "S1"));
        return;
    }
    outside.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let (worst, left, right) = &outside[0];
    let message = format!(
        "{} of {all} pairs are further apart than {said}: {} against {} is {worst:+.1} %",
        outside.len(),
        page.quote(right.figure.spot),
        page.quote(left.figure.spot)
    );
    let spots = outside.iter().flat_map(|(_, left, right)| [left.figure.spot, right.figure.spot]);
    sink.finds(
        Finding::new("S1", Severity::WrongConclusion, spot(clause), message)
            .against(spots.collect::<Vec<_>>()),
    );
}

/// Words that call a band an error of the measurement.
pub(super) const ERROR: [&str; 6] =
    ["margin of error", "measurement error", "погрешност", "误差", "error bar", "accuracy"];

fn bands(evidence: &Evidence, sink: &mut Sink) {
    let called = |clause: &&Clause| {
        let sentence = clause.sentence(evidence.page).to_lowercase();
        clause.manner == Manner::Within && ERROR.iter().any(|word| sentence.contains(word))
    };
    let bands: Vec<&Quantity> =
        evidence.clauses.iter().filter(called).filter_map(|clause| clause.percents().next()).collect();
    let Some(first) = bands.first() else { return };
    let Some(other) = bands.iter().find(|band| band.figure.value != first.figure.value) else { return };
    let message = format!(
        "the error is said to be {} here and {} in line {}",
        evidence.page.quote(other.figure.spot),
        evidence.page.quote(first.figure.spot),
        evidence.page.number(first.figure.spot.index())
    );
    sink.finds(
        Finding::new("S7", Severity::Ambiguous, other.figure.spot, message).against([first.figure.spot]),
    );
}

#[cfg(test)]
mod tests;

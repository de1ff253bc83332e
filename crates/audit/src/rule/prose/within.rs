//! S1: `within 2 %`.

use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::number::{Quantity, Unit};
use crate::page::Page;
use crate::prose::{Clause, Manner};
use crate::table::{Row, Table};

/// A figure that is so many times the other is of something else.
const FAR: f64 = 3.0;
/// Tables further below a sentence that names one column are of something else.
const NEAR: usize = 40;

pub(super) fn check(evidence: &Evidence, sink: &mut Sink) {
    for clause in evidence.clauses.iter().filter(|clause| clause.manner == Manner::Within) {
        let Some(band) = clause.percents().next() else { continue };
        // `writes (218) are within 30 % of those of the pool (168)` tells what it compares.
        let same = |other: &&Clause| other.line == clause.line && other.sentence == clause.sentence;
        if !evidence.clauses.iter().filter(same).any(has_result) {
            judge(evidence.page, band, &spoken_of(evidence, clause), sink);
        }
    }
}

/// Whether a clause has a result besides its band: no block size, and no count of a few.
fn has_result(clause: &Clause) -> bool {
    clause.figures.iter().any(|figure| match figure.unit {
        Unit::Bare => figure.scale == 1.0 && figure.figure.value >= 10.0,
        Unit::PerSecond | Unit::BytesPerSecond | Unit::BitsPerSecond | Unit::Nanoseconds => true,
        _ => false,
    })
}

fn figure(row: &Row, at: usize) -> Option<Quantity> {
    row.cells.get(at)?.as_ref()?.figure
}

/// The two columns of a table that have figures, where they are of one unit.
fn columns(table: &Table) -> Option<[usize; 2]> {
    let of_values = |at: &usize| {
        let mut figures = table.rows.iter().filter_map(|row| figure(row, *at)).peekable();
        figures.peek().is_some() && figures.all(|one| !matches!(one.unit, Unit::Percent | Unit::Times))
    };
    let values: Vec<usize> = (0..table.columns.len()).filter(of_values).collect();
    let [first, second] = values.as_slice() else { return None };
    let pair = |row: &Row| figure(row, *first).zip(figure(row, *second));
    let alike = table.rows.iter().filter_map(pair).all(|(left, right)| left.unit == right.unit);
    alike.then_some([*first, *second])
}

/// The tables behind a clause that it speaks of, with their columns: one whose two columns the sentence names, or the next ones of
/// equal heads of which it names one.
fn spoken_of<'a>(evidence: &Evidence<'a>, clause: &Clause) -> Vec<(&'a Table, [usize; 2])> {
    let behind = evidence.tables.iter().filter(|table| table.lines.start > clause.line);
    let behind: Vec<(&Table, [usize; 2])> =
        behind.filter_map(|table| Some((table, columns(table)?))).collect();
    let said = parts(clause.sentence(evidence.page));
    // How many of the two heads the sentence names, by what the other does not have.
    let named = |(table, columns): &(&Table, [usize; 2])| {
        let heads = columns.map(|at| parts(&table.columns[at].head));
        let names = |own: &[String], other: &[String]| {
            own.iter().any(|part| said.contains(part) && !other.contains(part))
        };
        usize::from(names(&heads[0], &heads[1])) + usize::from(names(&heads[1], &heads[0]))
    };
    if let Some(both) = behind.iter().find(|one| named(one) == 2) {
        return vec![*both];
    }
    let Some(first) = behind.first().filter(|one| named(one) == 1 && one.0.lines.start <= clause.line + NEAR)
    else {
        return Vec::new();
    };
    behind.iter().take_while(|one| one.0.columns == first.0.columns).copied().collect()
}

/// What a text names: a single letter or a number names nothing.
fn parts(text: &str) -> Vec<String> {
    let names = |part: &String| part.chars().count() >= 2 && !part.bytes().all(|byte| byte.is_ascii_digit());
    crate::link::parts(text).into_iter().filter(names).collect()
}

fn judge(page: &Page, band: &Quantity, tables: &[(&Table, [usize; 2])], sink: &mut Sink) {
    let of_table = |(table, [left, right]): &(&Table, [usize; 2])| -> Vec<(Quantity, Quantity)> {
        table.rows.iter().filter_map(|row| figure(row, *left).zip(figure(row, *right))).collect()
    };
    let pairs = tables.iter().flat_map(of_table).filter(|(left, _)| left.interval().low > 0.0);
    let pairs: Vec<(Quantity, Quantity)> = pairs.collect();
    // What differs by a multiple was never meant to be within a band: other figures stand there.
    let far = |(left, right): &(Quantity, Quantity)| {
        !(1.0 / FAR..=FAR).contains(&(right.figure.value / left.figure.value))
    };
    if pairs.iter().any(far) {
        return;
    }
    let share = band.figure.value / 100.0;
    let is_outside = |(left, right): &&(Quantity, Quantity)| {
        let ratio = right.interval().over(left.interval());
        ratio.is_some_and(|ratio| ratio.low > 1.0 + share || ratio.high < 1.0 - share)
    };
    let off = |(left, right): &(Quantity, Quantity)| right.figure.value / left.figure.value - 1.0;
    let mut outside: Vec<&(Quantity, Quantity)> = pairs.iter().filter(is_outside).collect();
    outside.sort_by(|one, other| off(other).abs().total_cmp(&off(one).abs()));
    let Some(worst) = outside.first() else {
        if !pairs.is_empty() {
            sink.holds("S1", &band.figure);
        }
        return;
    };
    let [band_text, left, right] = [band, &worst.0, &worst.1].map(|one| page.quote(one.figure.spot));
    let (count, all, off) = (outside.len(), pairs.len(), 100.0 * off(worst));
    let message = format!(
        "{count} of {all} pairs are further apart than {band_text}: {right} against {left} is {off:+.1} %"
    );
    let spots = outside.iter().flat_map(|(left, right)| [left.figure.spot, right.figure.spot]);
    sink.finds(Finding::new("S1", Severity::WrongConclusion, band.figure.spot, message).against(spots));
}

//! Ratios that sentences state of two systems of a table: `write performance loses 18.4 %`, where a table has two systems and one
//! column (or row) of writes.

use super::names::mentions;
use super::words::{LOSS, says};
use super::{Ends, Form, Link, Why, comparable, is_ratio};
use crate::number::{Hedge, Quantity};
use crate::page::Page;
use crate::prose::{Clause, Manner, Topic, topics};
use crate::table::{Row, Table};

/// The links of a page's clauses.
pub(super) fn links(page: &Page, clauses: &[Clause], tables: &[Table]) -> Vec<Link> {
    // Of others no clause finds a pair.
    let of_two = |table: &&Table| table.rows.len() == 2 || values(table).len() == 2;
    let tables: Vec<&Table> = tables.iter().filter(of_two).collect();
    clauses.iter().filter_map(|clause| of_clause(page, clause, &tables)).collect()
}

/// Two figures of one topic, each of a system.
struct Pair<'a> {
    names: [&'a str; 2],
    figures: [Quantity; 2],
}

fn of_clause(page: &Page, clause: &Clause, tables: &[&Table]) -> Option<Link> {
    let form = match clause.manner {
        Manner::Loss => Form::Loss,
        Manner::Share => Form::Share,
        Manner::Gain => Form::Gain,
        _ => return None,
    };
    let mut percents = clause.percents();
    let (derived, more) = (*percents.next()?, percents.next());
    let one_way = clause.topic.read != clause.topic.write;
    if more.is_some() || !one_way || matches!(derived.hedge, Hedge::Below | Hedge::Above) {
        return None;
    }
    let of_tables = tables.iter().map(|table| pairs(table, &clause.topic));
    let of_tables: Vec<Vec<Pair>> = of_tables.filter(|pairs| !pairs.is_empty()).take(2).collect();
    let [pairs] = of_tables.as_slice() else { return None };
    let pair = &pairs[0];
    // The sentence, or the line above it, speaks of one of the two.
    let near =
        [clause.sentence(page), page.line(clause.line), page.line(clause.line.saturating_sub(1))].join(" ");
    let named =
        mentions(&near, pair.names[0], pair.names[1]) || mentions(&near, pair.names[1], pair.names[0]);
    if !named {
        return None;
    }
    let link_of = |pair: &Pair, numerator: usize| Link {
        ends: Ends {
            derived: hedged(derived),
            form,
            numerator: pair.figures[numerator],
            denominator: pair.figures[1 - numerator],
        },
        why: Why::Named,
        of: clause.text(page).trim().to_owned(),
        names: [numerator, 1 - numerator].map(|at| pair.names[at].to_owned()),
    };
    let link = |numerator: usize| link_of(pair, numerator);
    let mut read: Vec<Link> = pairs.iter().flat_map(|pair| [0, 1].map(|at| link_of(pair, at))).collect();
    // `the VM is slower than the host, which for reads is 14 %`: where the sentence speaks of a loss elsewhere it may be one.
    let either = form == Form::Share && says(clause.sentence(page), LOSS);
    if either {
        read.extend(
            read.clone()
                .into_iter()
                .map(|link| Link { ends: Ends { form: Form::Loss, ..link.ends }, ..link }),
        );
    }
    // A rate and its bandwidth give one ratio; where columns give several, nothing tells which is meant.
    let one = |numerator: usize| {
        let given: Option<Vec<_>> = pairs.iter().map(|pair| link_of(pair, numerator).recomputed()).collect();
        given.is_some_and(|given| given.iter().all(|one| given.iter().all(|other| one.meets(*other))))
    };
    let holding = read.iter().find(|link| link.holds());
    // A loss is of the smaller against the larger, a gain the other way; of a share that does not hold nothing tells which.
    let smaller = usize::from(pair.figures[1].figure.value < pair.figures[0].figure.value);
    let meant = match form {
        Form::Loss => Some(smaller),
        Form::Gain => Some(1 - smaller),
        Form::Share | Form::Change | Form::Multiple => None,
    };
    let meant = meant.filter(|at| one(*at)).map(link);
    holding.cloned().or(meant)
}

/// `about 21.5 %` is right to a digit more, `about 80 %` of 83.3 % to five points: a round figure is rounded to what it ends with.
pub(super) fn hedged(mut derived: Quantity) -> Quantity {
    let digit = derived.figure.high - derived.figure.low;
    let size = derived.figure.value.abs();
    let round = derived.decimals == 0 && (derived.figure.value / derived.scale) % 10.0 == 0.0;
    match derived.hedge {
        // Who writes `50 %` of 51.3 rounds, whether or not it is said.
        Hedge::Plain if round && derived.unit == crate::number::Unit::Percent => {
            derived.figure.low -= 1.5 * digit;
            derived.figure.high += 1.5 * digit;
        }
        Hedge::About => {
            let slack = if round { 4.5 * digit } else { digit / 2.0 };
            derived.figure.low -= slack;
            derived.figure.high += slack;
        }
        // A bound is met by all beyond it, and by what rounds to it.
        Hedge::Above => (derived.figure.low, derived.figure.high) = (derived.figure.low - 0.05 * size, 1e9),
        Hedge::Below => (derived.figure.low, derived.figure.high) = (-1e9, derived.figure.high + 0.05 * size),
        Hedge::Plain | Hedge::PlusMinus => {}
    }
    derived
}

/// The columns of a table that have figures other than ratios.
fn values(table: &Table) -> Vec<usize> {
    let figure = |row: &Row, at: usize| row.cells.get(at)?.as_ref()?.figure;
    let has = |at: &usize| table.rows.iter().any(|row| figure(row, *at).is_some_and(|one| !is_ratio(&one)));
    (0..table.columns.len()).filter(has).collect()
}

/// The figures of the two systems of a table for a topic, of each column (or row) of that topic; none where there are more systems
/// or no figures of that topic alone.
fn pairs<'a>(table: &'a Table, wanted: &Topic) -> Vec<Pair<'a>> {
    let labels: Vec<&str> = table.rows.iter().map(|row| row.label.as_str()).collect();
    let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
    let figure = |row: usize, column: usize| table.rows.get(row)?.cells.get(column)?.as_ref()?.figure;
    let of_topic = |texts: &[&str]| -> Vec<usize> {
        let topics = topics(texts);
        let of = |own: &Topic| own.read != own.write && wanted.covers(own);
        let found: Vec<usize> = (0..texts.len()).filter(|at| of(&topics[*at])).collect();
        // Loads of several kinds (4k, 1M) are no one load.
        let one = found.iter().all(|at| topics[*at] == topics[found[0]]);
        if one { found } else { Vec::new() }
    };
    let pair = |names: [&'a str; 2], figures: [Option<Quantity>; 2]| {
        let figures = [figures[0]?, figures[1]?];
        let sound = comparable(&figures[0], &figures[1]) && figures[0].figure.value > 0.0;
        sound.then_some(Pair { names, figures })
    };
    let upright = || -> Vec<Pair> {
        let columns = if labels.len() == 2 { of_topic(&heads) } else { Vec::new() };
        let of = |column: &usize| pair([labels[0], labels[1]], [figure(0, *column), figure(1, *column)]);
        columns.iter().filter_map(of).collect()
    };
    let lying = || -> Vec<Pair> {
        let [first, second] = values(table)[..] else { return Vec::new() };
        let of =
            |row: &usize| pair([heads[first], heads[second]], [figure(*row, first), figure(*row, second)]);
        of_topic(&labels).iter().filter_map(of).collect()
    };
    let found = upright();
    if found.is_empty() { lying() } else { found }
}

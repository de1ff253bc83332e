//! Ratios that stand in brackets behind their figures, of the first figure of their row: `| 523 | 369 (0.7) | 1046 (2.0) |`.

use super::base_row::words::is_mean;
use super::{Form, LEAST, Link, Why, comparable};
use crate::number::{Hedge, Quantity, Unit};
use crate::page::Spot;
use crate::table::{Cell, Table};
use std::collections::HashSet;

/// A figure with its ratio.
struct Ratio {
    row: usize,
    column: usize,
    figure: Quantity,
    ratio: Quantity,
}

/// The links of a table, but where another link stands already.
pub(super) fn links(table: &Table, tied: &HashSet<Spot>) -> Vec<Link> {
    let ratios = &ratios(table);
    let Some(base) = base(table, ratios) else { return Vec::new() };
    if ratios.len() < LEAST || ratios.iter().any(|one| tied.contains(&one.ratio.figure.spot)) {
        return Vec::new();
    }
    let ways = Form::ALL.into_iter().flat_map(|form| [(form, false), (form, true)]);
    let readings: Vec<Vec<(usize, Link)>> = ways
        .map(|(form, turned)| {
            let linked = |(at, one)| Some((at, linked(table, one, base, form, turned)?));
            ratios.iter().enumerate().filter_map(linked).collect()
        })
        .collect();
    let held = |links: &[(usize, Link)]| links.iter().filter(|(_, link)| link.holds()).count();
    let best = readings.iter().enumerate().max_by_key(|(at, links)| (held(links), std::cmp::Reverse(*at)));
    let Some((_, best)) = best else { return Vec::new() };
    let telling = best.iter().filter(|(_, link)| link.holds() && link.tells() && link.fine()).count();
    if telling < LEAST || 5 * held(best) < 3 * best.len() {
        return Vec::new();
    }
    let of_column = |column: usize| best.iter().filter(move |(at, _)| ratios[*at].column == column);
    let sound = |column: usize| {
        let holds = of_column(column).filter(|(_, link)| link.holds()).count();
        5 * holds >= 3 * of_column(column).count()
    };
    let is_mean = |row: usize| is_mean(&table.rows[row].label);
    let is_open =
        |one: &Ratio| one.ratio.hedge != Hedge::Plain || is_mean(one.row) || is_of_other(table, one);
    let stays = |(at, link): &&(usize, Link)| {
        let one = &ratios[*at];
        link.holds() || sound(one.column) && !is_open(one)
    };
    let why = Why::Held(held(best));
    best.iter().filter(stays).map(|(_, link)| Link { why, ..link.clone() }).collect()
}

fn ratios(table: &Table) -> Vec<Ratio> {
    let mut ratios = Vec::new();
    for (row, cells) in table.rows.iter().enumerate() {
        for (column, cell) in cells.cells.iter().enumerate() {
            let found = cell.as_ref().and_then(|cell| Some((cell.figure?, in_brackets(cell)?)));
            ratios.extend(found.map(|(figure, ratio)| Ratio { row, column, figure, ratio }));
        }
    }
    ratios
}

/// The one ratio behind a figure: `(0.7)`, `(2x)`, `(70 %)`, but no count.
fn in_brackets(cell: &Cell) -> Option<Quantity> {
    let one = match (cell.share, cell.more.as_slice()) {
        (Some(share), []) => share,
        (None, [one]) => *one,
        _ => return None,
    };
    let sound = match one.unit {
        Unit::Percent | Unit::Times => true,
        Unit::Bare => one.scale == 1.0 && one.decimals > 0,
        _ => false,
    };
    let unit = if one.unit == Unit::Bare { Unit::Times } else { one.unit };
    (sound && one.hedge != Hedge::PlusMinus).then_some(Quantity { unit, ..one })
}

/// The first column of figures, none of which has a ratio.
fn base(table: &Table, ratios: &[Ratio]) -> Option<usize> {
    let figure = |row: &crate::table::Row, at: usize| row.cells.get(at)?.as_ref()?.figure;
    let first =
        (0..table.columns.len()).find(|at| table.rows.iter().any(|row| figure(row, *at).is_some()))?;
    let before = ratios.iter().all(|one| one.column > first);
    before.then_some(first)
}

fn figure(table: &Table, row: usize, column: usize) -> Option<Quantity> {
    table.rows[row].cells.get(column)?.as_ref()?.figure
}

fn linked(table: &Table, one: &Ratio, base: usize, form: Form, turned: bool) -> Option<Link> {
    let whole = figure(table, one.row, base)?;
    let mut operands = [one.figure, whole];
    let mut names = [one.column, base].map(|at| table.columns[at].head.clone());
    let of = format!("{}, {}", table.rows[one.row].label, names[0]);
    if turned {
        operands.reverse();
        names.reverse();
    }
    let [numerator, denominator] = operands;
    // What a total is made of is not compared with it.
    let of_total = whole.unit == Unit::Bare && whole.decimals == 0 && is_mean(&table.columns[base].head);
    let sound = comparable(&numerator, &denominator) && numerator.figure.value > 0.0 && !of_total;
    let why = Why::Held(0);
    sound.then_some(Link { derived: one.ratio, form, numerator, denominator, why, of, names })
}

/// Whether a ratio may be of another figure of its row, or turned round.
fn is_of_other(table: &Table, one: &Ratio) -> bool {
    let holds = |column: usize| {
        let mut links =
            [false, true].into_iter().filter_map(|turned| linked(table, one, column, Form::Share, turned));
        links.any(|link| link.holds())
    };
    (0..table.columns.len()).filter(|column| *column != one.column).any(holds)
}

#[cfg(test)]
mod tests {
    use crate::page::Page;

    fn holding(rows: [&str; 4]) -> Vec<(String, bool)> {
        let text = format!("| op | a | b | c |\n|---|---|---|---|\n| {} |\n", rows.join(" |\n| "));
        let page = Page::new("p", text);
        let links = crate::link::links(&page, &crate::table::tables(&page, &[]), &[]);
        let found = links.iter().map(|link| (page.quote(link.derived.figure.spot).to_owned(), link.holds()));
        found.collect()
    }

    #[test]
    fn ratios_in_brackets_are_of_the_first_figure_of_their_row() {
        let rows = |one: &'static str| {
            [
                "w | 613 | 452 (0.7) | 2209 (3.6)",
                "x | 84 | 85 (1.0) | 537 (6.4)",
                one,
                "z | 0 | 0 (0.0) | 7 (0.0)",
            ]
        };
        let all = |found: &[(String, bool)]| found.iter().filter(|one| one.1).count();
        assert_eq!(all(&holding(rows("y | 431 | 517 (1.2) | 1983 (4.6)"))), 6);
        let off = holding(rows("y | 431 | 517 (1.2) | 1983 (6.4)"));
        let off: Vec<&str> = off.iter().filter(|one| !one.1).map(|one| one.0.as_str()).collect();
        assert_eq!(off, ["6.4"]);
        let coarse = [
            "w | 613 | 452 (0.7) | 519 (0.8)",
            "x | 84 | 85 (1.0) | 91 (1.1)",
            "y | 431 | 517 (1.2) | 299 (0.9)",
        ];
        assert_eq!(
            holding([coarse[0], coarse[1], coarse[2], "z | 9 | 8 (0.9) | 7 (0.8)"]),
            [],
            "most pairs fit"
        );
    }

    #[test]
    fn counts_and_ratios_of_another_figure_are_let_be() {
        let counts = [
            "w | 613 | 452 (3) | 2209 (4)",
            "x | 84 | 85 (1) | 537 (6)",
            "y | 431 | 517 (1) | 1983 (5)",
            "z | 9 | 8 (1) | 7 (1)",
        ];
        assert_eq!(holding(counts), []);
        // The last is of its neighbour.
        let of_other = [
            "w | 613 | 452 (0.74) | 2209 (3.60)",
            "x | 84 | 97 (1.15) | 537 (6.39)",
            "y | 431 | 519 (1.20) | 1983 (3.82)",
            "z | 9 | 8 (0.9) | 7 (0.8)",
        ];
        assert!(holding(of_other).iter().all(|one| one.1));
    }
}

//! Turns cells in lines into a table: heads of several lines are joined, shares in a row of their
//! own are joined to the row above, and units of heads are given to the cells below. Every shape of
//! table comes through here.

use super::cell;
use super::{MOST_COLUMNS, MOST_ROWS, PageTable, TableCell, TableRow, units};
use crate::number::{DecimalSign, Measure, NumberHedge, NumberUnit, Quantity, shows};
use crate::page::{AuditedPage, TextSpan};
use iotax_units::grouped;
use std::collections::HashSet;
use std::ops::Range;

/// Cells in lines, as the shapes of tables find them; the first cell of each line is its label.
pub(super) struct Grid {
    pub lines: Range<usize>,
    pub heads: Vec<Vec<String>>,
    pub rows: Vec<RuledLine>,
}

pub(super) struct RuledLine {
    pub line: usize,
    /// Spots of the cells' texts; empty in rows of a log, which are only counted.
    pub cells: Vec<TextSpan>,
}

/// Returns the spot of a piece of a line, without the characters at its edges for which `edge`
/// returns true.
pub(super) fn trimmed(
    line: usize,
    text: &str,
    bytes: Range<usize>,
    edge: fn(char) -> bool,
) -> TextSpan {
    let piece = text.get(bytes.clone()).unwrap_or("");
    let start = bytes.start + (piece.len() - piece.trim_start_matches(edge).len());
    TextSpan::new(line, start..start.max(bytes.start + piece.trim_end_matches(edge).len()))
}

impl Grid {
    fn width(&self) -> usize {
        let rows = self.rows.iter().map(|row| row.cells.len());
        self.heads.iter().map(Vec::len).chain(rows).max().unwrap_or(0)
    }

    /// Returns why the table is not read: it has too many rows or columns, or its rows are much
    /// shorter than its head. `None` if it can be read.
    pub fn refusal(&self) -> Option<String> {
        let (rows, width) = (self.rows.len(), self.width());
        let filled: usize = self.rows.iter().map(|row| row.cells.len()).sum();
        let columns = "pass the columns that matter";
        if rows > MOST_ROWS {
            let log = format!("a table of {} rows is a log, not results", grouped(rows as f64));
            let most = grouped(MOST_ROWS as f64);
            Some(format!(
                "{log}: more than {most} rows are not read; summarise it, or pass the rows that matter"
            ))
        } else if width > MOST_COLUMNS {
            Some(format!(
                "a table of {width} columns: more than {MOST_COLUMNS} are not read; {columns}"
            ))
        } else {
            let short = rows * width > 4 * filled + 1024;
            short.then(|| {
                format!("a table whose rows are much shorter than its head is not read; {columns}")
            })
        }
    }

    /// Returns the cells as a table; `None` if there are none besides labels.
    pub fn to_page_table(&self, page: &AuditedPage, title: Option<String>) -> Option<PageTable> {
        let width = self.width();
        let mut heads = join_heads(&self.heads, width);
        let cells = self.cells(page, width);
        let measures: Vec<Option<Measure>> =
            heads.iter().map(|head| units::of_head(head)).collect();
        // The first column may hold labels; rates are not labels.
        let first = usize::from(!all_rates(&cells, *measures.first()?));
        let mut rows: Vec<TableRow> = Vec::with_capacity(self.rows.len());
        for (line, mut cells) in self.rows.iter().zip(cells) {
            let label =
                line.cells.first().filter(|_| first == 1).map_or("", |spot| page.quote(*spot));
            cells.drain(..first);
            cells.shrink_to_fit();
            let row = TableRow { label: strip_markup(label), line: line.line, cells };
            let named = first == 0 || !row.label.is_empty();
            match rows.last_mut().filter(|above| shares_of(above, &row.cells, named)) {
                Some(above) => join(above, row),
                None => rows.push(row),
            }
        }
        rows.iter_mut().for_each(|row| give_units(row, &measures[first..]));
        let some = rows.iter().any(|row| row.cells.iter().any(Option::is_some));
        let columns = heads.split_off(first);
        let corner = heads.pop().unwrap_or_default();
        let lines = self.lines.clone();
        (some && !columns.is_empty()).then_some(PageTable {
            lines,
            title,
            corner,
            heads: columns,
            rows,
        })
    }

    /// Reads all cells in the style of their column. In a table with decimal commas `8.412` may be
    /// thousands; if the column does not decide this, the cell is not read.
    fn cells(&self, page: &AuditedPage, width: usize) -> Vec<Vec<Option<TableCell>>> {
        let of_column = |column: usize| {
            self.rows
                .iter()
                .map(move |row| row.cells.get(column).map_or("", |spot| page.quote(*spot)))
        };
        let styles: Vec<_> = (0..width).map(|column| cell::style(of_column(column))).collect();
        let comma = styles.iter().any(|(style, _)| style.decimal_comma);
        let read = |row: &RuledLine, column: usize| {
            let spot = *row.cells.get(column)?;
            let (style, unsure) = styles[column];
            let cell = cell::read_cell(spot, page.quote(spot), style)?;
            let open = comma && unsure && shows(page.quote(spot)) == DecimalSign::Either;
            let unread = TableCell { spot, figure: None, share: None, more: Box::default() };
            Some(if open { unread } else { cell })
        };
        self.rows.iter().map(|row| (0..width).map(|column| read(row, column)).collect()).collect()
    }
}

/// Returns the heads of all columns, several lines joined. Upper heads extend to the right over
/// empty cells.
fn join_heads(lines: &[Vec<String>], width: usize) -> Vec<String> {
    let texts = |line: &Vec<String>| {
        (0..width).map(|at| line.get(at).cloned().unwrap_or_default()).collect()
    };
    let mut lines: Vec<Vec<String>> = lines.iter().map(texts).collect();
    let Some((last, upper)) = lines.split_last_mut() else { return vec![String::new(); width] };
    for line in upper.iter_mut() {
        for column in 2..width {
            if line[column].is_empty() {
                line[column] = line[column - 1].clone();
            }
        }
    }
    let period = if let [upper] = upper { period(upper, last) } else { None };
    let joined = |column: usize| {
        let group = match period {
            Some(period) if column > 0 => {
                let from = 1 + (column - 1) / period * period;
                from..from + period
            }
            _ => column..column + 1,
        };
        let mut parts: Vec<&str> =
            upper.iter().flat_map(|line| &line[group.clone()]).map(String::as_str).collect();
        parts.push(&last[column]);
        parts.retain(|text| !text.is_empty());
        parts.dedup();
        parts.join(" ")
    };
    (0..width).map(joined).collect()
}

/// Returns the number of columns below one text in the upper line of heads. This applies if the
/// lower line repeats (`IOPS | BW | IOPS | BW`) and the upper one has one text over several cells
/// (`4K | random read | 4K | random write`), so that only both cells together distinguish columns.
fn period(upper: &[String], lower: &[String]) -> Option<usize> {
    let (upper, lower) = (upper.get(1..)?, lower.get(1..)?);
    let unique: HashSet<_> = upper.iter().zip(lower).collect();
    if upper.len() != lower.len() || unique.len() == lower.len() {
        return None;
    }
    let period = 1 + lower.iter().skip(1).position(|text| Some(text) == lower.first())?;
    let repeats = lower.len() % period == 0
        && lower.iter().zip(&lower[period..]).all(|(one, other)| one == other);
    let groups: HashSet<_> = upper.chunks(period).collect();
    (period > 1 && repeats && groups.len() == lower.len() / period).then_some(period)
}

/// Removes marks of bold type, tags and targets of links: `**IOPS**<br>(k)` becomes `IOPS (k)`,
/// `[host](host.txt)` becomes `host`.
pub(super) fn strip_markup(text: &str) -> String {
    let unlinked = text.contains("](").then(|| without_targets(text));
    let text = unlinked.as_deref().unwrap_or(text);
    let bare = text.trim().trim_matches('*').trim_matches('`').trim();
    if !bare.contains(['<', '\\', '&', '*']) {
        return bare.to_string();
    }
    let mut plain = String::with_capacity(bare.len());
    let mut rest = bare;
    while let Some(at) = rest.find('<') {
        let tag = cell::tag(&rest[at..]);
        plain.push_str(&rest[..at]);
        plain.push_str(if tag > 0 { " " } else { "<" });
        rest = &rest[at + tag.max(1)..];
    }
    plain.push_str(rest);
    let plain = plain.replace("\\|", "|").replace("&nbsp;", " ").replace("**", "");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn without_targets(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let (Some(opens), Some(closes)) = (before.rfind('['), after.find(')')) else { break };
        shown.push_str(before[..opens].trim_end_matches('!'));
        shown.push_str(&before[opens + 1..]);
        rest = &after[closes + 1..];
    }
    shown.push_str(rest);
    shown
}

/// Returns true if the first column has results too. `4k`, `8k`, `16k` are block sizes under any
/// head.
fn all_rates(rows: &[Vec<Option<TableCell>>], head: Option<Measure>) -> bool {
    let size = |one: Quantity| {
        one.scale > 1.0 && ((one.figure.value / one.scale) as u64).is_power_of_two()
    };
    let of_results = |unit: NumberUnit| unit.is_rate() || unit == NumberUnit::Percent;
    let rate = |one: Quantity| match one.unit {
        NumberUnit::Bare => !size(one) && head.is_some_and(|head| of_results(head.unit)),
        unit => of_results(unit),
    };
    let of_row = |row: &Vec<Option<TableCell>>| row.first()?.as_ref()?.figure;
    !rows.is_empty() && rows.iter().all(|row| of_row(row).is_some_and(rate))
}

/// Returns true if the cells have only percentages, each below a figure that is not a percentage
/// and has no share yet. In a row with its own label they must be in brackets.
fn shares_of(above: &TableRow, cells: &[Option<TableCell>], named: bool) -> bool {
    let fits = |(above, share): (&Option<TableCell>, &Option<TableCell>)| match (above, share) {
        (_, None) => true,
        (Some(TableCell { figure: Some(figure), share: None, .. }), Some(share)) => {
            match share.figure {
                None => share.share.is_some() && share.more.is_empty(),
                Some(bare) => {
                    let alone = share.share.is_none() && share.more.is_empty();
                    !named
                        && bare.unit == NumberUnit::Percent
                        && figure.unit != NumberUnit::Percent
                        && alone
                }
            }
        }
        _ => false,
    };
    cells.iter().any(Option::is_some) && above.cells.iter().zip(cells).all(fits)
}

fn join(above: &mut TableRow, row: TableRow) {
    for (above, share) in above.cells.iter_mut().zip(row.cells) {
        if let (Some(above), Some(share)) = (above, share) {
            above.share = share.share.or(share.figure.map(Box::new));
        }
    }
    // A label that spans both rows was put into each.
    if row.label != above.label {
        above.label = format!("{} {}", above.label, row.label).trim().to_string();
    }
}

/// Gives the figures of a row the units of their heads, or else that of its label. If both give one
/// and they differ, neither is used, except in a column of percent.
fn give_units(row: &mut TableRow, measures: &[Option<Measure>]) {
    let own = units::of_head(&row.label);
    for (cell, head) in row.cells.iter_mut().zip(measures) {
        let (Some(cell), Some(measure)) = (cell, head.or(own)) else { continue };
        if own.is_some_and(|own| own.unit != measure.unit) && measure.unit != NumberUnit::Percent {
            continue;
        }
        let spread = cell.more.iter_mut().filter(|more| more.hedge == NumberHedge::PlusMinus);
        let other = cell.figure.is_some_and(|figure| {
            ![NumberUnit::Bare, NumberUnit::Percent, measure.unit].contains(&figure.unit)
        });
        cell.figure.iter_mut().chain(spread).for_each(|quantity| units::give(quantity, measure));
        // In `24.3 MB/s (5942)` under `4k (IOPS)` the head gives the unit of the bracket.
        if let ([only], true) = (&mut cell.more[..], other) {
            units::give(only, measure);
        }
    }
}

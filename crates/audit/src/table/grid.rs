//! From cells in lines to a table: heads of several lines joined, shares in a row of their own joined to the row above, units
//! of heads given to the cells below. Every shape of table comes through here.

use super::cell::{self, only_percent, only_share};
use super::{Cell, Column, MOST_COLUMNS, MOST_ROWS, Row, Table, units};
use crate::number::{Measure, Shows, Style, Unit, shows};
use crate::page::{Page, Spot, Unread};
use std::ops::Range;

/// Cells in lines, as a shape found them: the first of each line is its label.
pub(crate) struct Grid {
    /// Indices of the lines.
    pub lines: Range<usize>,
    /// Lines of heads, the corner first.
    pub heads: Vec<Vec<String>>,
    /// Lines below.
    pub rows: Vec<Line>,
    /// Further ones, of a table that is too long to be read: counted, not kept.
    pub more: usize,
}

/// Columns and places of figures that may be thousands or decimals.
type Open = Vec<(usize, Spot)>;

/// A line of cells.
pub(crate) struct Line {
    /// Index of its line.
    pub line: usize,
    /// Where each cell's text stands.
    pub cells: Vec<Spot>,
}

impl Grid {
    /// Why it is not read though it is a table.
    pub fn refusal(&self) -> Option<String> {
        let width =
            self.heads.iter().map(Vec::len).chain(self.rows.iter().map(|row| row.cells.len())).max()?;
        let filled: usize = self.rows.iter().map(|row| row.cells.len()).sum();
        let rows = self.rows.len() + self.more;
        if rows > MOST_ROWS {
            return Some(format!(
                "a table of {rows} rows is a log, no results: more than {MOST_ROWS} are not read"
            ));
        }
        if width > MOST_COLUMNS {
            return Some(format!("a table of {width} columns: more than {MOST_COLUMNS} are not read"));
        }
        (self.rows.len() * width > 4 * filled + 1024)
            .then(|| "a table whose rows are much shorter than its head".to_string())
    }

    /// Whether the first column has sizes of blocks, `4k`, `8k`, `1M`: labels, whatever stands above them.
    fn of_sizes(&self, page: &Page) -> bool {
        let size = |row: &Line| {
            let text = row.cells.first().map_or("", |spot| page.quote(*spot));
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let power = text[..digits].parse().is_ok_and(|number: u64| number.is_power_of_two());
            power && matches!(&text[digits..], "k" | "K" | "M" | "KB" | "KiB" | "MB" | "MiB")
        };
        !self.rows.is_empty() && self.rows.iter().all(size)
    }

    /// Rows that lost their label to a cell that went over several rows, pushed back under the columns of the row above.
    pub fn shifted(&mut self, page: &Page) {
        let figure =
            |spot: &Spot| cell::read(*spot, page.quote(*spot), cell::SPACES).and_then(|cell| cell.figure);
        let mut above: Option<Vec<Spot>> = None;
        for row in &mut self.rows {
            let last_is_empty = row.cells.last().is_some_and(|spot| page.quote(*spot).is_empty());
            let first = row.cells.first().and_then(figure);
            let fits = |above: &Vec<Spot>| {
                let pairs = row.cells.iter().zip(&above[1..]);
                let alike = |(own, other): (&Spot, &Spot)| {
                    figure(own).map(|own| own.unit) == figure(other).map(|other| other.unit)
                };
                above.len() == row.cells.len() && figure(&above[0]).is_none() && pairs.clone().all(alike)
            };
            match above.as_ref().filter(|above| last_is_empty && first.is_some() && fits(above)) {
                Some(above) => {
                    row.cells.pop();
                    row.cells.insert(0, above[0]);
                }
                None => above = Some(row.cells.clone()).filter(|cells| cells.len() > 2 && first.is_none()),
            }
        }
    }

    /// The table that it is, and what of it was not read; `None` where nothing is in it.
    pub fn table(&self, page: &Page, title: Option<String>) -> Option<(Table, Option<Unread>)> {
        let width =
            self.heads.iter().map(Vec::len).chain(self.rows.iter().map(|row| row.cells.len())).max()?;
        let mut heads = join_heads(&self.heads, width);
        let (mut cells, mut open) = self.cells(page, width);
        let measures: Vec<Option<Measure>> = heads.iter().map(|head| units::of_head(head)).collect();
        let labelled = !all_rates(&cells, measures[0]) || self.of_sizes(page);
        let label = |row: &Line| {
            let spot = row.cells.first().filter(|_| labelled);
            spot.map_or_else(String::new, |spot| plain(page.quote(*spot)))
        };
        let mut rows: Vec<Row> = Vec::with_capacity(self.rows.len());
        for (line, cells) in self.rows.iter().zip(cells.drain(..)) {
            let cells: Vec<Option<Cell>> = cells.into_iter().skip(usize::from(labelled)).collect();
            let named = !labelled || !label(line).is_empty();
            if let Some(above) = rows.last_mut().filter(|above| shares_of(above, &cells, named)) {
                join(above, &cells, &label(line));
            } else {
                rows.push(Row { label: label(line), line: line.line, cells });
            }
        }
        let corner = if labelled { heads.remove(0) } else { String::new() };
        let measures = &measures[usize::from(labelled)..];
        for row in &mut rows {
            give_units(row, measures);
        }
        open.retain(|(column, _)| *column > 0 || !labelled);
        let some = rows.iter().any(|row| row.cells.iter().any(Option::is_some));
        let columns: Vec<Column> = heads.into_iter().map(|head| Column { head }).collect();
        (some && !columns.is_empty()).then(|| {
            let table = Table { lines: self.lines.clone(), title, corner, columns, rows };
            (table, open_figures(page, &open))
        })
    }

    /// All cells, read in the style that their column shows, and where those stand that may be thousands or decimals.
    fn cells(&self, page: &Page, width: usize) -> (Vec<Vec<Option<Cell>>>, Open) {
        let text = |row: &Line, column: usize| row.cells.get(column).map_or("", |spot| page.quote(*spot));
        let of_column = |column: usize| self.rows.iter().map(move |row| text(row, column));
        let mut own: Vec<_> = (0..width).map(|column| cell::style(of_column(column), true)).collect();
        let comma = own.iter().any(|(style, _)| style.decimal_comma);
        if comma && !(0..width).any(|column| of_column(column).any(|text| shows(text) == Shows::Point)) {
            // `8.412` beside `34,0 %`: the point is no decimal sign of this table.
            for (column, style) in own.iter_mut().enumerate() {
                if style.1 && cell::groups_by_points(of_column(column)) {
                    *style = (Style { decimal_comma: true, spaces: true }, false);
                }
            }
        }
        let mut open = Vec::new();
        let mut read = |row: &Line, column: usize| {
            let spot = *row.cells.get(column)?;
            let (style, unsure) = own[column];
            let mut cell = cell::read(spot, page.quote(spot), style)?;
            if comma && unsure && shows(page.quote(spot)) == Shows::Either {
                if cell.figure.is_some() || cell.share.is_some() {
                    open.push((column, spot));
                }
                (cell.figure, cell.share) = (None, None);
                cell.more.clear();
            }
            Some(cell)
        };
        let cells =
            self.rows.iter().map(|row| (0..width).map(|column| read(row, column)).collect()).collect();
        (cells, open)
    }
}

/// What is told of figures that may be thousands or decimals.
fn open_figures(page: &Page, open: &[(usize, Spot)]) -> Option<Unread> {
    let (first, last) = (open.first()?.1, open.last()?.1);
    let why = format!(
        "{} may be thousands or decimals: the table has decimal commas, and nothing tells which these {} are",
        page.quote(first),
        if open.len() == 1 { "digits" } else { "figures" }
    );
    Some(page.unread(first.index()..last.index() + 1, why))
}

/// The heads of all columns: of several lines joined, the upper ones going on to the right over cells without one.
fn join_heads(lines: &[Vec<String>], width: usize) -> Vec<String> {
    let blank = String::new();
    let mut spread: Vec<Vec<&str>> = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let mut texts: Vec<&str> =
            (0..width).map(|column| line.get(column).unwrap_or(&blank).as_str()).collect();
        if at + 1 < lines.len() {
            for column in 2..width {
                if texts[column].is_empty() {
                    texts[column] = texts[column - 1];
                }
            }
        }
        spread.push(texts);
    }
    let period = period(&spread);
    let joined = |column: usize| {
        let mut head = String::new();
        let (last, upper) = match spread.split_last() {
            Some((last, upper)) => (last[column], upper),
            None => return head,
        };
        let group = match period {
            Some(period) if column > 0 => {
                let from = 1 + (column - 1) / period * period;
                from..from + period
            }
            _ => column..column + 1,
        };
        let mut before = "";
        for text in upper.iter().flat_map(|line| &line[group.clone()]).copied().chain([last]) {
            if !text.is_empty() && text != before {
                head.push_str(if head.is_empty() { "" } else { " " });
                head.push_str(text);
                before = text;
            }
        }
        head
    };
    (0..width).map(joined).collect()
}

/// Over how many columns the upper line goes: where the lower one repeats (`IOPS | BW | IOPS | BW`) and the upper one has one
/// text over several cells (`4K | random read | 4K | random write`), so that only both cells of it tell the columns apart.
fn period(lines: &[Vec<&str>]) -> Option<usize> {
    let [upper, lower] = lines else { return None };
    let (upper, lower) = (upper.get(1..)?, lower.get(1..)?);
    let alone = |at: usize| (upper[at], lower[at]);
    let unique: std::collections::HashSet<_> = (0..lower.len()).map(alone).collect();
    if unique.len() == lower.len() {
        return None;
    }
    let period = 1 + lower.iter().skip(1).position(|text| Some(text) == lower.first())?;
    let repeats =
        lower.len() % period == 0 && lower.iter().zip(&lower[period..]).all(|(one, other)| one == other);
    let groups: std::collections::HashSet<_> = upper.chunks(period).collect();
    (period > 1 && repeats && groups.len() == lower.len() / period).then_some(period)
}

/// Whether only the texts of two cells of the upper line tell the columns of the lower one apart, see [`period`].
pub(super) fn repeats(upper: &[String], lower: &[String]) -> bool {
    let lines = [upper, lower].map(|line| line.iter().map(String::as_str).collect());
    upper.len() == lower.len() && period(&lines).is_some()
}

/// A text without the marks that make it bold, without tags and targets of links: `**IOPS**<br>(k)` is `IOPS (k)`,
/// `[host](host.txt)` is `host`.
fn plain(text: &str) -> String {
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

/// What links of Markdown show of themselves.
fn without_targets(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        let (before, behind) = (&rest[..at], &rest[at + 2..]);
        let (Some(opens), Some(closes)) = (before.rfind('['), behind.find(')')) else { break };
        shown.push_str(before[..opens].trim_end_matches('!'));
        shown.push_str(&before[opens + 1..]);
        rest = &behind[closes + 1..];
    }
    shown.push_str(rest);
    shown
}

/// A head as a shape gives it.
pub(super) fn head(text: &str) -> String {
    plain(text)
}

/// Whether the first column is one of results too: rates are no labels.
fn all_rates(rows: &[Vec<Option<Cell>>], head: Option<Measure>) -> bool {
    let rate = |unit| {
        matches!(
            unit,
            Unit::PerSecond | Unit::BytesPerSecond | Unit::BitsPerSecond | Unit::Percent | Unit::Mwips
        )
    };
    let of_cell = |cell: &Cell| {
        cell.figure.is_some_and(|figure| {
            rate(figure.unit) || figure.unit == Unit::Bare && head.is_some_and(|head| rate(head.unit))
        })
    };
    !rows.is_empty()
        && rows.iter().all(|row| row.first().is_some_and(|cell| cell.as_ref().is_some_and(of_cell)))
}

/// Whether cells are nothing but percentages, each below a figure that is none and has none; those of a row with a label of its
/// own stand in brackets.
fn shares_of(above: &Row, cells: &[Option<Cell>], named: bool) -> bool {
    let fits = |(above, share): (&Option<Cell>, &Option<Cell>)| match (above, share) {
        (_, None) => true,
        (Some(above), Some(share)) => {
            let result = above.figure.is_some_and(|figure| figure.unit != Unit::Percent);
            let bare = !named && result && only_percent(share);
            above.figure.is_some() && above.share.is_none() && (only_share(share) || bare)
        }
        (None, Some(_)) => false,
    };
    cells.iter().any(Option::is_some) && above.cells.iter().zip(cells).all(fits)
}

fn join(above: &mut Row, cells: &[Option<Cell>], label: &str) {
    for (above, share) in above.cells.iter_mut().zip(cells) {
        if let (Some(above), Some(share)) = (above, share) {
            above.share = share.share.or(share.figure);
        }
    }
    // A label that goes over both rows was put into each.
    if !label.is_empty() && label != above.label {
        above.label.push_str(if above.label.is_empty() { "" } else { " " });
        above.label.push_str(label);
    }
}

/// Gives the figures of a row the units of their heads, else that of the row's label; where both say one and they differ,
/// neither, but for a column of percent.
fn give_units(row: &mut Row, measures: &[Option<Measure>]) {
    let own = units::of_head(&row.label);
    for (cell, head) in row.cells.iter_mut().zip(measures) {
        let Some(cell) = cell else { continue };
        let measure = match (*head, own) {
            (Some(head), Some(own)) if head.unit != own.unit && head.unit != Unit::Percent => continue,
            (head, own) => head.or(own),
        };
        let Some(measure) = measure else { continue };
        let spread = cell.more.iter_mut().filter(|more| more.hedge == crate::number::Hedge::PlusMinus);
        let own_unit = cell.figure.is_some_and(|figure| !matches!(figure.unit, Unit::Bare | Unit::Percent));
        for quantity in cell.figure.iter_mut().chain(spread) {
            units::give(quantity, measure);
        }
        // `24.3 MB/s (5942)` under `4k (IOPS)`: the head says what stands in the bracket.
        let is_other = own_unit && cell.figure.is_some_and(|figure| figure.unit != measure.unit);
        if let ([only], true) = (cell.more.as_mut_slice(), is_other) {
            units::give(only, measure);
        }
    }
}

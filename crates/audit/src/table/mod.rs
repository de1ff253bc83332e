//! Tables of a page, however they are drawn: rows with a label, columns with a head, cells with
//! figures. Each shape finds cells in lines, and [`grid`] makes tables of them. A new shape is one
//! file and one entry in [`ALL`].

mod cell;
mod grid;
mod pipe;
mod spaced;
mod stacked;
mod title;
pub(crate) mod units;

pub use cell::SPACES;

use crate::number::Quantity;
use crate::page::{AuditedPage, TextSpan, UnreadRange};
use grid::Grid;
use std::ops::Range;

struct TableShape {
    /// Returns true if a table, or its first row, may begin at a line. Called for every line of
    /// every page, so it must be cheap.
    begins: fn(&str) -> bool,
    find: fn(&TableQuery) -> FoundTables,
}

/// All shapes. If two may begin at a line, the earlier one is tried first.
const ALL: &[TableShape] = &[
    TableShape { begins: pipe::begins, find: pipe::find },
    TableShape { begins: spaced::begins, find: spaced::find },
    TableShape { begins: stacked::begins, find: stacked::find },
];

struct TableQuery<'a> {
    page: &'a AuditedPage,
    at: usize,
    /// First line that may have heads, possibly above `at`.
    floor: usize,
    /// Index of the line after the last that may belong to the table.
    end: usize,
}

/// Tables that a shape found, and the index of the first line at which the shape must be tried
/// again.
struct FoundTables {
    grids: Vec<Grid>,
    end: usize,
}

impl FoundTables {
    fn none(end: usize) -> FoundTables {
        FoundTables { grids: Vec::new(), end }
    }
}

/// Limit of rows: a longer table is a log, not results.
const MOST_ROWS: usize = 10_000;
const MOST_COLUMNS: usize = 256;

#[derive(Clone, Debug, PartialEq)]
pub struct PageTable {
    pub lines: Range<usize>,
    /// Text above the table that names it: a heading, a caption, a short line.
    pub title: Option<String>,
    pub corner: String,
    /// Texts of the heads, several lines joined by a space. An upper head extends to the right over
    /// empty columns.
    pub heads: Vec<String>,
    pub rows: Vec<TableRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableRow {
    /// Text before the cells, several lines joined by a space.
    pub label: String,
    pub line: usize,
    pub cells: Vec<Option<TableCell>>,
}

/// A cell with content. Pages have many cells, few of them with several figures, so that further
/// figures are stored separately.
#[derive(Clone, Debug, PartialEq)]
pub struct TableCell {
    pub spot: TextSpan,
    /// The figure; `None` if there is none, or if there are several of equal rank, such as a range.
    pub figure: Option<Quantity>,
    /// Share in brackets after the figure, or in the row below: `8.40 Gbps (101%)`.
    pub share: Option<Box<Quantity>>,
    /// Further figures: that in brackets in `102MiB/s (107MB/s)`, a deviation, both ends of a
    /// range.
    pub more: Box<[Quantity]>,
}

#[derive(Debug, Default)]
pub struct ScannedTables {
    pub tables: Vec<PageTable>,
    pub unread: Vec<UnreadRange>,
    /// Line ranges of tables that were not read at all.
    pub refused: Vec<Range<usize>>,
}

/// Returns the tables of a page outside the lines in `taken` (outputs of tools).
pub fn scan(page: &AuditedPage, taken: &[Range<usize>]) -> ScannedTables {
    let mut taken: Vec<Range<usize>> = taken.to_vec();
    taken.sort_by_key(|lines| lines.start);
    taken.push(page.len()..page.len());
    let mut scanner =
        Scanner { page, scanned: ScannedTables::default(), fenced: false, after_last: 0 };
    let mut from = 0;
    for lines in taken {
        scanner.stretch(from, lines.start.min(page.len()));
        (from.max(lines.start)..lines.end.min(page.len())).for_each(|line| scanner.fence(line));
        from = from.max(lines.end);
        scanner.after_last = from;
    }
    scanner.scanned
}

struct Scanner<'a> {
    page: &'a AuditedPage,
    scanned: ScannedTables,
    fenced: bool,
    /// Index of the line after the last table or output.
    after_last: usize,
}

impl Scanner<'_> {
    fn stretch(&mut self, from: usize, end: usize) {
        let mut settled = [from; ALL.len()];
        let (mut at, mut floor) = (from, from);
        while at < end {
            self.fence(at);
            let next =
                self.try_shapes(&TableQuery { page: self.page, at, floor, end }, &mut settled);
            if next > at {
                (floor, self.after_last) = (next, next);
                (at + 1..next).for_each(|line| self.fence(line));
                settled.fill(next);
            }
            at = next.max(at + 1);
        }
    }

    /// Tries every shape at a line. Returns the line after the tables found, or the line itself if
    /// there are none.
    fn try_shapes(&mut self, ask: &TableQuery, settled: &mut [usize]) -> usize {
        for (shape, settled) in ALL.iter().zip(settled) {
            if *settled > ask.at || !(shape.begins)(self.page.line_text(ask.at)) {
                continue;
            }
            let found = (shape.find)(ask);
            *settled = found.end.max(ask.at + 1);
            if !found.grids.is_empty() {
                return found
                    .grids
                    .into_iter()
                    .map(|grid| self.add_grid(grid))
                    .fold(ask.at, usize::max);
            }
        }
        ask.at
    }

    /// Adds a table, or records why it was not read. Returns the line after it.
    fn add_grid(&mut self, grid: Grid) -> usize {
        let (page, lines) = (self.page, grid.lines.clone());
        let after_last = self.after_last.min(lines.start);
        let title = title::title_above(page, lines.start, after_last, self.fenced).or_else(|| {
            let before =
                self.scanned.tables.last().filter(|before| before.lines.end == after_last)?;
            let adjacent =
                (after_last..lines.start).all(|line| page.line_text(line).trim().is_empty());
            before.title.clone().filter(|_| adjacent)
        });
        self.after_last = lines.end;
        if let Some(why) = grid.refusal() {
            self.scanned.unread.push(page.unread(lines.clone(), why));
            self.scanned.refused.push(lines.clone());
        } else {
            self.scanned.tables.extend(grid.to_page_table(page, title));
        }
        lines.end
    }

    fn fence(&mut self, line: usize) {
        self.fenced ^= title::fence(self.page.line_text(line).trim_start());
    }
}

#[cfg(test)]
mod tests;

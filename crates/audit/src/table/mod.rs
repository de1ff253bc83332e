//! Tables of a page, whatever they are drawn with: rows with a label, columns with a head, cells with figures. The shapes are a
//! family: each finds cells in lines, [`grid`] makes tables of them.
//!
//! A new shape is one file with a `SHAPE` and one entry in [`ALL`].

mod cell;
mod delimited;
mod grid;
mod markup;
mod pipe;
mod spaced;
mod stacked;
mod title;
pub(crate) mod units;

pub use cell::SPACES;

use crate::number::Quantity;
use crate::page::{Page, Spot, Unread};
use grid::Grid;
use std::ops::Range;

/// A shape that tables come in.
pub(crate) struct Shape {
    /// `Markdown`.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests name the shape that fails"))]
    pub name: &'static str,
    /// One line: what of it is read.
    #[cfg_attr(not(test), expect(dead_code, reason = "for those who read the family"))]
    pub help: &'static str,
    /// A small table with figures of our own: tests hold that it is found and read.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests read it"))]
    pub example: &'static str,
    /// Whether a table may begin at a line, or its first row stand there. Asked of every line of every page: cheap.
    pub begins: fn(&str) -> bool,
    /// Finds the tables there.
    pub find: fn(&Ask) -> Found,
}

/// Where a shape is asked for.
pub(crate) struct Ask<'a> {
    /// The page.
    pub page: &'a Page,
    /// Index of the line.
    pub at: usize,
    /// Heads may stand above it, but not above this line.
    pub floor: usize,
    /// Index of the line behind the last that may be of a table.
    pub end: usize,
    /// Whether it is within a fenced block of code.
    pub fenced: bool,
}

/// What a shape found.
pub(crate) struct Found {
    /// Tables, in order.
    pub grids: Vec<Grid>,
    /// Index of the line up to which it need not be asked again.
    pub end: usize,
}

/// All shapes. Where two may begin at a line, the earlier is tried first.
pub(crate) const ALL: &[&Shape] =
    &[&pipe::SHAPE, &markup::SHAPE, &delimited::TABS, &delimited::SIGNS, &spaced::SHAPE, &stacked::SHAPE];

/// More rows are a log, no results.
const MOST_ROWS: usize = 10_000;
/// More columns likewise.
const MOST_COLUMNS: usize = 256;

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Indices of its lines.
    pub lines: Range<usize>,
    /// The text above it that names it: a heading, a caption, a short line.
    pub title: Option<String>,
    /// Head of the column of labels.
    pub corner: String,
    /// Columns but that of the labels.
    pub columns: Vec<Column>,
    /// Rows under the head.
    pub rows: Vec<Row>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its head, of several lines joined by a space; the upper ones go on to the right over columns without one.
    pub head: String,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What stands before its cells; of several lines joined by a space.
    pub label: String,
    /// Index of its line.
    pub line: usize,
    /// As many as there are columns.
    pub cells: Vec<Option<Cell>>,
}

/// A cell with something in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Where its text stands.
    pub spot: Spot,
    /// Its figure: the first that is no share in brackets.
    pub figure: Option<Quantity>,
    /// A share that stands in brackets behind it or in the row below: `8.40 Gbps (101%)`.
    pub share: Option<Quantity>,
    /// Further figures: `102MiB/s (107MB/s)`.
    pub more: Vec<Quantity>,
}

/// Tables, and what looked like one and was not read.
#[derive(Debug, Default)]
pub struct Scanned {
    /// In the order of the page.
    pub tables: Vec<Table>,
    /// Why others were not read.
    pub unread: Vec<Unread>,
    /// Indices of the lines of those of which nothing was.
    pub refused: Vec<Range<usize>>,
}

/// Every table of a page outside the lines that are taken (outputs of tools), in order.
pub fn tables(page: &Page, taken: &[Range<usize>]) -> Vec<Table> {
    scan(page, taken).tables
}

/// The same, with what could not be read.
pub fn scan(page: &Page, taken: &[Range<usize>]) -> Scanned {
    let mut taken: Vec<Range<usize>> = taken.to_vec();
    taken.sort_by_key(|lines| lines.start);
    let mut scanner = Scanner { page, scanned: Scanned::default(), fenced: false, behind: 0 };
    let mut from = 0;
    for lines in &taken {
        scanner.stretch(from, lines.start.min(page.len()));
        for line in from.max(lines.start)..lines.end.min(page.len()) {
            scanner.fence(line);
        }
        from = from.max(lines.end);
        scanner.behind = from;
    }
    scanner.stretch(from, page.len());
    scanner.scanned
}

struct Scanner<'a> {
    page: &'a Page,
    scanned: Scanned,
    fenced: bool,
    /// Index of the line behind the last table or output.
    behind: usize,
}

impl Scanner<'_> {
    /// Looks at lines that nothing else has taken.
    fn stretch(&mut self, from: usize, end: usize) {
        let mut settled = [from; ALL.len()];
        let mut at = from;
        let mut floor = from;
        while at < end {
            self.fence(at);
            let next = self.ask(at, floor, end, &mut settled);
            if next > at {
                (floor, self.behind) = (next, next);
                (at + 1..next).for_each(|line| self.fence(line));
                settled.fill(next);
            }
            at = next.max(at + 1);
        }
    }

    /// Asks every shape at a line; the line behind what was found, else that line.
    fn ask(&mut self, at: usize, floor: usize, end: usize, settled: &mut [usize]) -> usize {
        let text = self.page.line(at);
        for (shape, settled) in ALL.iter().zip(settled) {
            if *settled > at || !(shape.begins)(text) {
                continue;
            }
            let found = (shape.find)(&Ask { page: self.page, at, floor, end, fenced: self.fenced });
            *settled = found.end.max(at + 1);
            let mut last = at;
            for mut grid in found.grids {
                grid.shifted(self.page);
                last = last.max(grid.lines.end);
                self.add(&grid);
            }
            if last > at {
                return last;
            }
        }
        at
    }

    fn add(&mut self, grid: &Grid) {
        let lines = grid.lines.clone();
        let between = self.behind.min(lines.start)..lines.start;
        let title = title::above(self.page, lines.start, between.start, self.fenced);
        let title = title.or_else(|| {
            let before = self.scanned.tables.last().filter(|before| before.lines.end == between.start)?;
            let adjacent = between.clone().all(|line| self.page.line(line).trim().is_empty());
            before.title.clone().filter(|_| adjacent)
        });
        self.behind = lines.end;
        match grid.refusal() {
            Some(why) => {
                self.scanned.unread.push(self.page.unread(lines.clone(), why));
                self.scanned.refused.push(lines);
            }
            None => {
                let (table, open) = grid.table(self.page, title).unzip();
                self.scanned.tables.extend(table);
                self.scanned.unread.extend(open.flatten());
            }
        }
    }

    fn fence(&mut self, line: usize) {
        let text = self.page.line(line).trim_start();
        if text.starts_with("```") || text.starts_with("~~~") {
            self.fenced = !self.fenced;
        }
    }
}

#[cfg(test)]
mod tests;

//! Figures next to each other, however they are laid out: the cells of a table, the items of a
//! list, lines of one shape, one line. Rules that check products and ratios read them in this form.

use super::words::{List, lists};
use crate::number::{NumberHedge, NumberUnit, Quantity, quantities};
use crate::page::AuditedPage;
use crate::table::{PageTable, TableCell, TableRow, units};
use std::ops::Range;

/// Part of a table's cells that a column of a grid holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridColumn {
    Figure,
    /// Percentage in brackets after the figure, or in the row below.
    Share,
    More(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub struct GridHead {
    /// Text of the head; for lines of text, the words before the figure.
    pub text: String,
    /// Index of the table's column; for lines of text, the index of the figure.
    pub source: usize,
    pub slot: GridColumn,
    pub lists: List,
}

impl GridHead {
    fn new(text: String, source: usize, slot: GridColumn) -> GridHead {
        GridHead { lists: lists(&text), text, source, slot }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Grid<'a> {
    pub title: String,
    pub corner: String,
    pub heads: Vec<GridHead>,
    pub labels: Vec<&'a str>,
    pub label_lists: Vec<List>,
    /// Index of each row's line.
    pub lines: Vec<usize>,
    pub cells: GridCells<'a>,
    /// True for lines of text, false for a table.
    pub is_text: bool,
}

/// Storage of a grid's figures.
#[derive(Clone, Debug, PartialEq)]
pub enum GridCells<'a> {
    /// The figures remain in the cells of a table. This saves memory: most figures of large pages
    /// are there.
    OfTable(&'a [TableRow]),
    /// Own rows, each with as many cells as there are columns.
    Own(Vec<Vec<Option<Quantity>>>),
}

impl GridCells<'_> {
    pub fn rows(&self) -> usize {
        match self {
            GridCells::OfTable(rows) => rows.len(),
            GridCells::Own(rows) => rows.len(),
        }
    }
}

/// Limit of columns; a wider table is data, and further columns are left out.
const MOST: usize = 500;
/// Length in bytes above which a line is a paragraph, whose figures are left out.
const LONGEST: usize = 300;
/// Limit of lines of one shape in a grid.
const MOST_ROWS: usize = 60;
/// Limit of lines without figures between two rows.
const GAP: usize = 2;
/// Largest distance in lines from a result to one that is compared with it.
const NEAR: usize = 8;

impl<'a> Grid<'a> {
    pub fn quantity_at(&self, row: usize, column: usize) -> Option<&Quantity> {
        match &self.cells {
            GridCells::OfTable(rows) => {
                let head = self.heads.get(column)?;
                of_cell(rows.get(row)?.cells.get(head.source)?.as_ref()?, head.slot)
            }
            GridCells::Own(rows) => rows.get(row)?.get(column)?.as_ref(),
        }
    }

    pub fn column(&self, column: usize) -> impl Iterator<Item = Option<&Quantity>> {
        (0..self.cells.rows()).map(move |row| self.quantity_at(row, column))
    }

    fn of_table(table: &'a PageTable) -> Option<Grid<'a>> {
        let mut heads = Vec::new();
        for (source, head) in table.heads.iter().enumerate().take(MOST) {
            let cells = || table.rows.iter().filter_map(|row| row.cells[source].as_ref());
            let more = cells().map(|cell| cell.more.len()).max().unwrap_or(0);
            let slots = [GridColumn::Figure, GridColumn::Share]
                .into_iter()
                .chain((0..more).map(GridColumn::More));
            for slot in slots.filter(|slot| cells().any(|cell| of_cell(cell, *slot).is_some())) {
                heads.push(GridHead::new(head.clone(), source, slot));
            }
        }
        let rows = table.rows.as_slice();
        (!heads.is_empty()).then(|| Grid {
            title: table.title.clone().unwrap_or_default(),
            corner: table.corner.clone(),
            labels: rows.iter().map(|row| row.label.as_str()).collect(),
            label_lists: rows.iter().map(|row| lists(&row.label)).collect(),
            lines: rows.iter().map(|row| row.line).collect(),
            heads,
            cells: GridCells::OfTable(rows),
            is_text: false,
        })
    }
}

fn of_cell(cell: &TableCell, slot: GridColumn) -> Option<&Quantity> {
    match slot {
        GridColumn::Figure => cell.figure.as_ref(),
        GridColumn::Share => cell.share.as_deref(),
        // The deviation of a figure is not a second figure.
        GridColumn::More(at) => {
            cell.more.get(at).filter(|more| more.hedge != NumberHedge::PlusMinus)
        }
    }
}

/// Returns the grids of a page: its tables, then those in lines outside tables and outputs of tools
/// (`taken`, in order).
pub fn grids<'a>(
    page: &'a AuditedPage,
    tables: &'a [PageTable],
    taken: &[Range<usize>],
) -> Vec<Grid<'a>> {
    let mut grids: Vec<Grid> = tables.iter().filter_map(Grid::of_table).collect();
    let mut run = GridRun::default();
    let mut next = taken.iter().peekable();
    for at in 0..page.len() {
        while next.peek().is_some_and(|range| range.end <= at) {
            next.next();
        }
        let is_taken = next.peek().is_some_and(|range| range.contains(&at));
        run.take_run_line(page, at, is_taken, &mut grids);
    }
    run.end_run(page, &mut grids);
    grids
}

struct GridLine {
    at: usize,
    figures: Vec<Quantity>,
}

#[derive(Default)]
struct GridRun {
    lines: Vec<GridLine>,
    /// Last line of the previous run, if it has one figure.
    before: Option<GridLine>,
    gap: usize,
    /// Last line of words, which names the run.
    title: String,
    next_title: String,
}

impl GridRun {
    fn take_run_line<'a>(
        &mut self,
        page: &'a AuditedPage,
        at: usize,
        is_taken: bool,
        grids: &mut Vec<Grid<'a>>,
    ) {
        let text = page.line_text(at);
        if is_taken || is_command(text) {
            self.end_run(page, grids);
            return;
        }
        let figures = if text.len() <= LONGEST { results(at, text) } else { Vec::new() };
        if figures.is_empty() {
            if text.bytes().any(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80) {
                self.next_title = text.chars().take(120).collect();
            }
            return self.pass(page, grids);
        }
        let line = GridLine { at, figures };
        if self.lines.last().is_some_and(|last| !alike(last, &line))
            || self.lines.len() >= MOST_ROWS
        {
            self.end_run(page, grids);
        }
        if self.lines.is_empty() {
            self.title = self.next_title.clone();
        }
        // A line with figures may be the head of those below: `4k random, iodepth 64:`.
        self.next_title = text.chars().take(120).collect();
        self.gap = 0;
        self.lines.push(line);
    }

    fn pass<'a>(&mut self, page: &'a AuditedPage, grids: &mut Vec<Grid<'a>>) {
        self.gap += 1;
        if self.gap > GAP {
            self.end_run(page, grids);
        }
    }

    fn end_run<'a>(&mut self, page: &'a AuditedPage, grids: &mut Vec<Grid<'a>>) {
        let lines = std::mem::take(&mut self.lines);
        self.gap = 0;
        // `Output: 10.2 s`, a command, `Output: 10.9 s (6 % slower)`.
        if let (Some(before), [line]) = (self.before.take(), lines.as_slice()) {
            let near =
                line.at - before.at <= NEAR && line.figures.len() == 2 && alike(&before, line);
            if near && label_of(page, &before) == label_of(page, line) {
                let pair = [before, GridLine { at: line.at, figures: line.figures.clone() }];
                grids.push(of_lines(page, &pair, String::new()));
            }
        }
        let figures = lines.iter().map(|line| line.figures.len()).sum::<usize>();
        if figures >= 2 {
            grids.push(of_lines(page, &lines, std::mem::take(&mut self.title)));
        }
        self.before = lines.into_iter().last().filter(|line| line.figures.len() == 1);
    }
}

/// Returns the figures of a line, also with a unit that precedes them. Leaves out those that number
/// the line (`Run 1: 512 MB/s`, `2. with a cache`) and shares of what follows (`95 % of 32 s`).
fn results(at: usize, text: &str) -> Vec<Quantity> {
    let mut figures = quantities(at, text);
    let numbers = |figure: &Quantity| {
        let plain = figure.unit == NumberUnit::Bare && figure.scale == 1.0 && figure.decimals == 0;
        let after = text
            .get(figure.figure.spot.end as usize..)
            .unwrap_or("")
            .trim_start_matches(['*', '`']);
        plain && after.starts_with([':', '.', ')', '：', '、', '）'])
    };
    if figures.len() > 1 && numbers(&figures[0]) {
        figures.remove(0);
    }
    // In `95 % of 32 s` the percentage belongs to the text after it.
    let of_next = |figure: &Quantity| {
        text.get(figure.figure.spot.end as usize..).unwrap_or("").starts_with(" of ")
    };
    if figures.len() > 1 {
        figures.retain(|figure| !(super::is_ratio(figure) && of_next(figure)));
    }
    // In `MB/s: 6.61, IO/s: 677` the unit precedes the figure.
    let mut from = 0;
    for figure in &mut figures {
        let start = figure.figure.spot.start as usize;
        let before = text.get(from..start).unwrap_or("").trim_end();
        if let Some(name) =
            before.strip_suffix([':', '=', '：']).filter(|_| figure.unit == NumberUnit::Bare)
        {
            let word = name.trim_end().rsplit([' ', ',', '[', '(', '|']).next().unwrap_or("");
            if let Some(measure) = units::of_head(word) {
                units::give(figure, measure);
            }
        }
        from = figure.figure.spot.end as usize;
    }
    figures
}

/// Returns true if a line is a command or an address, whose numbers are settings.
fn is_command(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['$', '#', '<', '{']) && !text.starts_with("# ") && !text.starts_with("##")
        || text.contains(" --")
        || text.contains("://")
}

/// Returns true if two lines have figures of the same units in the same order. Ratios do not count,
/// since the line of the base has none, unless a line has nothing else.
fn alike(one: &GridLine, other: &GridLine) -> bool {
    let units = |line: &GridLine| -> Vec<NumberUnit> {
        let units = line.figures.iter().map(|figure| figure.unit);
        let plain: Vec<NumberUnit> = units
            .clone()
            .filter(|unit| !matches!(unit, NumberUnit::Percent | NumberUnit::Times))
            .collect();
        if plain.is_empty() { units.collect() } else { plain }
    };
    units(one) == units(other)
}

/// Returns the words of a line before its first figure.
fn label_of<'a>(page: &'a AuditedPage, line: &GridLine) -> &'a str {
    let text = page.line_text(line.at);
    let end = line.figures.first().map_or(text.len(), |figure| figure.figure.spot.start as usize);
    text.get(..end)
        .unwrap_or("")
        .trim_matches(|letter: char| !letter.is_alphanumeric() && letter != ')')
}

fn of_lines<'a>(page: &'a AuditedPage, lines: &[GridLine], title: String) -> Grid<'a> {
    // A column is identified by a unit and the index of the figure among those of this unit.
    let key = |line: &GridLine, at: usize| {
        let unit = line.figures[at].unit;
        (unit, line.figures[..at].iter().filter(|figure| figure.unit == unit).count())
    };
    let widest = lines.iter().max_by_key(|line| line.figures.len()).map_or(0, |line| line.at);
    let widest = lines.iter().position(|line| line.at == widest).unwrap_or(0);
    let mut keys: Vec<(NumberUnit, usize)> =
        (0..lines[widest].figures.len()).map(|at| key(&lines[widest], at)).collect();
    for line in lines {
        for at in 0..line.figures.len() {
            let own = key(line, at);
            if !keys.contains(&own) {
                keys.push(own);
            }
        }
    }
    keys.truncate(MOST);
    let before = |line: &GridLine, at: usize| -> String {
        let text = page.line_text(line.at);
        let from = if at == 0 { 0 } else { line.figures[at - 1].figure.spot.end as usize };
        let to = line.figures[at].figure.spot.start as usize;
        let words = text.get(from..to).unwrap_or("");
        // Words after the last figure may also say what it is: `98368 random`.
        let after = text.get(line.figures[at].figure.spot.end as usize..).unwrap_or("");
        let after = after.split([',', ';', '|', '(', ')', '/']).next().unwrap_or("");
        format!("{} {}", words.trim(), if at + 1 == line.figures.len() { after.trim() } else { "" })
    };
    let cells = lines.iter().map(|line| {
        let mut row = vec![None; keys.len()];
        for (at, figure) in line.figures.iter().enumerate() {
            if let Some(column) = keys.iter().position(|one| *one == key(line, at)) {
                row[column] = Some(*figure);
            }
        }
        row
    });
    let heads = keys.iter().enumerate().map(|(source, wanted)| {
        let of = |line: &GridLine| (0..line.figures.len()).find(|at| key(line, *at) == *wanted);
        let (line, at) =
            lines.iter().find_map(|line| Some((line, of(line)?))).unwrap_or((&lines[widest], 0));
        let text = if at == 0 && lines.len() > 1 { String::new() } else { before(line, at) };
        GridHead::new(text, source, GridColumn::Figure)
    });
    let labels: Vec<&str> = lines.iter().map(|line| label_of(page, line)).collect();
    Grid {
        title,
        corner: String::new(),
        heads: heads.collect(),
        label_lists: labels.iter().map(|label| lists(label)).collect(),
        labels,
        lines: lines.iter().map(|line| line.at).collect(),
        cells: GridCells::Own(cells.collect()),
        is_text: true,
    }
}

//! Fields between tabs, commas or semicolons, where a head, the same number of fields in every line and a column of figures
//! make it evident.

use super::grid::{Grid, Line, head};
use super::{Ask, Found, Shape, cell, units};
use crate::number::{self, Unit};
use crate::page::{Page, Spot};
use csv_core::{ReadFieldResult, Reader, ReaderBuilder};

/// Fields between tabs.
pub const TABS: Shape = Shape {
    name: "tabs",
    help: "lines with as many tabs each, below a line of heads",
    example: "job\tIOPS\tBW\nrandread\t26.1k\t102MiB/s\nwrite\t25.2k\t98MiB/s\n",
    begins: |line| memchr::memchr(b'\t', line.as_bytes()).is_some(),
    find: tabs,
};

/// Fields between commas or semicolons.
pub const SIGNS: Shape = Shape {
    name: "CSV",
    help: "a file or paragraph of lines with as many commas or semicolons each, below a line of heads",
    example: "job;IOPS;MB/s\nrandread;26100;106,9\nwrite;25200;103,2\n",
    begins: |line| sign(line).is_some(),
    find: signs,
};

/// Bytes of a line of fields, and of a head.
const LONGEST: usize = 4096;
const LONGEST_HEAD: usize = 80;

fn tabs(ask: &Ask) -> Found {
    let tab = |line: usize| (TABS.begins)(ask.page.line(line));
    let last = (ask.at..ask.end).take_while(|line| tab(*line)).last().unwrap_or(ask.at);
    let mut grids = Vec::new();
    let mut at = ask.at;
    while at <= last {
        let (grid, end) = block(ask.page, at, last + 1, b'\t');
        grids.extend(grid);
        at = end;
    }
    Found { grids, end: last + 1 }
}

fn signs(ask: &Ask) -> Found {
    let none = |end: usize| Found { grids: Vec::new(), end };
    let page = ask.page;
    // It is all of a paragraph, of a fenced block, or of the file.
    let edge = |line: usize| {
        let text = page.line(line).trim();
        text.is_empty() || text.starts_with("```") || text.starts_with("~~~")
    };
    let first = ask.at == ask.floor || edge(ask.at - 1) || page.line(ask.at - 1).starts_with('#');
    // Code is indented, and has brackets that end elsewhere.
    let first = first && !page.line(ask.at).starts_with([' ', '\t']);
    let Some(delimiter) = sign(page.line(ask.at)).filter(|_| first) else { return none(ask.at + 1) };
    let count = |line: usize| memchr::memchr_iter(delimiter, page.line(line).as_bytes()).count();
    let quoted = page.line(ask.at).contains('"') || page.line(ask.at + 1).contains('"');
    if ask.at + 1 >= ask.end || !quoted && count(ask.at) != count(ask.at + 1) {
        return none(ask.at + 1);
    }
    let last = (ask.at..ask.end).take_while(|line| !edge(*line)).last().unwrap_or(ask.at);
    if last == ask.at + 1 && !ask.fenced {
        return none(last + 1);
    }
    match block(page, ask.at, last + 1, delimiter) {
        (Some(grid), end) if end == last + 1 => Found { grids: vec![grid], end },
        _ => none(last + 1),
    }
}

/// Whether one of the heads has a unit of results, so that one line below them is a table.
fn of_results(page: &Page, heads: &[Spot]) -> bool {
    let rate = |unit| matches!(unit, Unit::PerSecond | Unit::BytesPerSecond | Unit::BitsPerSecond);
    heads.iter().any(|spot| units::of_head(page.quote(*spot)).is_some_and(|head| rate(head.unit)))
}

/// Which sign is between the fields of a line.
fn sign(line: &str) -> Option<u8> {
    if line.len() > LONGEST {
        return None;
    }
    let count = |sign: u8| memchr::memchr_iter(sign, line.as_bytes()).take(2).count();
    match (count(b';'), count(b',')) {
        (2, _) => Some(b';'),
        (_, 2) => Some(b','),
        _ => None,
    }
}

/// The table whose heads stand at a line, and the line behind the last that has as many fields.
fn block(page: &Page, at: usize, end: usize, delimiter: u8) -> (Option<Grid>, usize) {
    let mut reader = Fields::new(delimiter);
    let heads = reader.of(page, at);
    let mut rows = Vec::new();
    for line in at + 1..end {
        let cells = reader.of(page, line);
        if cells.len() != heads.len() {
            break;
        }
        rows.push(Line { line, cells });
    }
    let next = at + 1 + rows.len();
    (sound(page, &heads, &rows).then(|| grid(page, &heads, rows, at..next)), next)
}

fn grid(page: &Page, heads: &[Spot], rows: Vec<Line>, lines: std::ops::Range<usize>) -> Grid {
    let heads = heads.iter().map(|spot| head(page.quote(*spot))).collect();
    Grid { lines, heads: vec![heads], rows, more: 0 }
}

/// Whether lines are a table beyond doubt.
fn sound(page: &Page, heads: &[Spot], rows: &[Line]) -> bool {
    let named = |spot: &Spot| {
        let text = page.quote(*spot);
        !text.is_empty() && text.len() <= LONGEST_HEAD && !cell::is_figure(text) && !code(text)
    };
    let names: std::collections::HashSet<&str> = heads.iter().map(|spot| page.quote(*spot)).collect();
    let corner = heads.first().is_some_and(|spot| page.quote(*spot).is_empty());
    let least = if heads.len() > 2 && of_results(page, heads) { 1 } else { 2 };
    if heads.len() < 2 || rows.len() < least || !heads.iter().skip(usize::from(corner)).all(named) {
        return false;
    }
    let figures = (1..heads.len()).filter(|column| full(page, rows, *column)).count();
    // A name and a value is a list of settings, unless the values are results.
    let results = || {
        let text = |row: &Line| page.quote(row.cells[1]);
        let rate = |unit: Unit| !matches!(unit, Unit::Bare | Unit::Bytes | Unit::Things | Unit::Hertz);
        units::of_head(page.quote(heads[1])).is_some_and(|head| rate(head.unit))
            || rows.iter().all(|row| number::quantity(0, text(row)).is_some_and(|one| rate(one.unit)))
    };
    names.len() == heads.len() && figures > 0 && (heads.len() > 2 || results())
}

/// Whether a head is a piece of a program.
fn code(text: &str) -> bool {
    let count = |sign: char| text.matches(sign).count();
    count('(') != count(')') || count('[') != count(']') || text.contains(['{', '}', ';', '=', '<'])
}

/// Whether a column has figures and nothing else.
fn full(page: &Page, rows: &[Line], column: usize) -> bool {
    let mut figures = 0;
    for row in rows {
        let text = page.quote(row.cells[column]);
        if cell::is_figure(text) {
            figures += 1;
        } else if !matches!(text, "" | "-" | "n/a" | "N/A" | "nan" | "NaN") {
            return false;
        }
    }
    figures * 2 > rows.len()
}

/// Tells where the fields of lines stand, without quotes and spaces around them.
struct Fields {
    reader: Reader,
    out: [u8; LONGEST],
}

impl Fields {
    fn new(delimiter: u8) -> Fields {
        let reader = ReaderBuilder::new().delimiter(delimiter).quoting(delimiter != b'\t').build();
        Fields { reader, out: [0; LONGEST] }
    }

    /// Those of a line; none of one that is too long.
    fn of(&mut self, page: &Page, line: usize) -> Vec<Spot> {
        let text = page.line(line);
        let mut spots = Vec::new();
        if text.len() > LONGEST || text.is_empty() {
            return spots;
        }
        self.reader.reset();
        let (mut from, mut at) = (0, 0);
        loop {
            let (result, read, _) = self.reader.read_field(&text.as_bytes()[at..], &mut self.out);
            at += read;
            match result {
                ReadFieldResult::Field { record_end } => {
                    spots.push(trimmed(text, line, from, if record_end { at } else { at - 1 }));
                    from = at;
                    if record_end {
                        return spots;
                    }
                }
                // Asked once more, it says that the line ended.
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::OutputFull | ReadFieldResult::End => return spots,
            }
        }
    }
}

fn trimmed(text: &str, line: usize, from: usize, to: usize) -> Spot {
    let field = text.get(from..to).unwrap_or("");
    let edge = |letter: char| letter.is_whitespace() || letter == '"';
    let start = from + (field.len() - field.trim_start_matches(edge).len());
    Spot::new(line, start..start.max(from + field.trim_end_matches(edge).len()))
}

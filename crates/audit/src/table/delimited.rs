//! Fields between commas or semicolons, where a head, the same number of fields in every line and a column of figures
//! make it evident.

use super::grid::{Grid, Line, plain, trimmed};
use super::{Ask, Found, MOST_ROWS, cell, units};
use crate::number;
use crate::page::{Page, Spot};
use csv_core::{ReadFieldResult, Reader, ReaderBuilder};
use std::collections::HashSet;

const LONGEST: usize = 4096;
const LONGEST_HEAD: usize = 80;

pub(super) fn has_signs(line: &str) -> bool {
    sign(line).is_some()
}

fn sign(line: &str) -> Option<u8> {
    let twice = |sign: &u8| memchr::memchr_iter(*sign, line.as_bytes()).nth(1).is_some();
    [b';', b','].into_iter().filter(|_| line.len() <= LONGEST).find(twice)
}

/// It is all of a paragraph, of a fenced block, or of the file.
pub(super) fn signs(ask: &Ask) -> Found {
    let page = ask.page;
    let edge = |line: usize| {
        let text = page.line(line).trim();
        text.is_empty() || super::title::fence(text)
    };
    let first = ask.at == ask.floor || edge(ask.at - 1) || page.line(ask.at - 1).starts_with('#');
    // Code is indented, and has brackets that end elsewhere.
    let first = first && !page.line(ask.at).starts_with([' ', '\t']) && ask.at + 1 < ask.end;
    let Some(delimiter) = sign(page.line(ask.at)).filter(|_| first) else { return Found::none(ask.at + 1) };
    let lines = [page.line(ask.at), page.line(ask.at + 1)];
    let [head, row] = lines.map(|line| memchr::memchr_iter(delimiter, line.as_bytes()).count());
    if head != row && !lines.iter().any(|line| line.contains('"')) {
        return Found::none(ask.at + 1);
    }
    let end = (ask.at..ask.end).find(|line| edge(*line)).unwrap_or(ask.end);
    if end == ask.at + 2 && !ask.fenced {
        return Found::none(end);
    }
    let (grid, last) = block(page, ask.at, end, delimiter);
    Found { grids: grid.filter(|_| last == end).into_iter().collect(), end }
}

/// The table whose heads stand at a line, and the line behind the last that has as many fields.
fn block(page: &Page, at: usize, end: usize, delimiter: u8) -> (Option<Grid>, usize) {
    let mut reader = ReaderBuilder::new().delimiter(delimiter).build();
    let heads = fields(&mut reader, page, at);
    let rows: Vec<Line> = (at + 1..end)
        .map(|line| Line { line, cells: fields(&mut reader, page, line) })
        .take_while(|row| row.cells.len() == heads.len())
        .collect();
    let next = at + 1 + rows.len();
    if !sound(page, &heads, &rows[..rows.len().min(MOST_ROWS)]) {
        return (None, next);
    }
    let heads = vec![heads.iter().map(|spot| plain(page.quote(*spot))).collect()];
    (Some(Grid { lines: at..next, heads, rows }), next)
}

/// Whether lines are a table beyond doubt.
fn sound(page: &Page, heads: &[Spot], rows: &[Line]) -> bool {
    let heads: Vec<&str> = heads.iter().map(|spot| page.quote(*spot)).collect();
    let named =
        |text: &&str| !text.is_empty() && text.len() <= LONGEST_HEAD && !cell::is_figure(text) && !code(text);
    let rate = |head: &&str| units::of_head(head).is_some_and(|head| head.unit.is_rate());
    // One line below heads that have units of results is a table.
    let least = if heads.len() > 2 && heads.iter().any(rate) { 1 } else { 2 };
    let corner = heads.first().is_some_and(|text| text.is_empty());
    if heads.len() < 2 || rows.len() < least || !heads.iter().skip(usize::from(corner)).all(named) {
        return false;
    }
    // A name and a value is a list of settings, unless the values are results.
    let result = |row: &Line| number::quantity(0, page.quote(row.cells[1]));
    let results = || {
        units::of_head(heads[1]).is_some_and(|head| head.unit.is_of_results())
            || rows.iter().all(|row| result(row).is_some_and(|one| one.unit.is_of_results()))
    };
    let different = heads.iter().collect::<HashSet<_>>().len() == heads.len();
    let figures = || (1..heads.len()).any(|column| full(page, rows, column));
    different && figures() && (heads.len() > 2 || results())
}

fn code(text: &str) -> bool {
    let count = |sign: char| text.matches(sign).count();
    count('(') != count(')') || count('[') != count(']') || text.contains(['{', '}', ';', '=', '<'])
}

fn full(page: &Page, rows: &[Line], column: usize) -> bool {
    let texts = || rows.iter().map(|row| page.quote(row.cells[column]));
    let nothing = |text: &str| matches!(text, "" | "-" | "n/a" | "N/A" | "nan" | "NaN");
    let figures = texts().filter(|text| cell::is_figure(text)).count();
    figures * 2 > rows.len() && texts().all(|text| nothing(text) || cell::is_figure(text))
}

/// Where the fields of a line stand, without quotes and spaces around them; none of one that is too long.
fn fields(reader: &mut Reader, page: &Page, line: usize) -> Vec<Spot> {
    let text = page.line(line);
    let mut spots = Vec::new();
    if text.len() > LONGEST || text.is_empty() {
        return spots;
    }
    reader.reset();
    let mut out = [0; LONGEST];
    let (mut from, mut at) = (0, 0);
    let edge = |letter: char| letter.is_whitespace() || letter == '"';
    loop {
        let (result, read, _) = reader.read_field(&text.as_bytes()[at..], &mut out);
        at += read;
        match result {
            ReadFieldResult::Field { record_end } => {
                spots.push(trimmed(line, text, from..if record_end { at } else { at - 1 }, edge));
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

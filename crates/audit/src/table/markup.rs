//! `<table>` within a page of another kind, as Markdown allows it.

use super::grid::{Grid, Line, plain};
use super::{Ask, Found};
use crate::container::html::{Rows, span, tokens};
use crate::page::{Page, Spot};
use html5gum::Token;
use std::ops::Range;

pub(super) fn begins(line: &str) -> bool {
    tag(line, "<table").is_some()
}

/// Where a tag begins, in whatever case.
fn tag(text: &str, name: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'<', bytes).find(|at| {
        bytes.get(*at..*at + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
    })
}

pub(super) fn find(ask: &Ask) -> Found {
    if ask.fenced {
        return Found::none(ask.at + 1);
    }
    let place = |line: usize, name: &str| Some(ask.page.offset(line) + tag(ask.page.line(line), name)?);
    let close = (ask.at..ask.end).find_map(|line| Some((line + 1, place(line, "</table")?)));
    let (Some(from), Some((end, to))) = (place(ask.at, "<table"), close) else { return Found::none(ask.end) };
    let text = ask.page.text().get(from..to);
    let grid = text.and_then(|text| grid(ask.page, text, from, ask.at..end));
    Found { grids: grid.into_iter().collect(), end }
}

/// A cell that is not closed yet.
struct Open {
    text: Option<Spot>,
    at: Spot,
    columns: usize,
    rows: usize,
}

impl Open {
    /// Text of it: what is on the line of the first counts.
    fn add(&mut self, page: &Page, bytes: Range<usize>) {
        let text = page.text().get(bytes.clone()).unwrap_or("");
        let start = bytes.start + (text.len() - text.trim_start().len());
        let length = text.trim().lines().next().unwrap_or("").trim_end().len();
        let spot = page.spot_near(start..start + length, self.at.index());
        match &mut self.text {
            _ if length == 0 => {}
            Some(text) if text.line == spot.line => text.end = spot.end,
            Some(_) => {}
            none => *none = Some(spot),
        }
    }
}

/// The cells of one table; `None` where another stands in it.
fn grid(page: &Page, text: &str, offset: usize, lines: Range<usize>) -> Option<Grid> {
    let mut table: Rows<Spot> = Rows::new(lines.start);
    let mut open: Option<Open> = None;
    let (mut tables, mut line) = (0, lines.start);
    let close = |open: &mut Option<Open>, table: &mut Rows<Spot>| {
        if let Some(cell) = open.take() {
            table.cell(cell.text.unwrap_or(cell.at), cell.columns, cell.rows);
        }
    };
    for token in tokens(text) {
        match token {
            Token::StartTag(tag) => {
                let at = page.spot_near(offset + tag.span.end..offset + tag.span.end, line);
                line = at.index();
                match tag.name.as_slice() {
                    b"table" if tables > 0 => return None,
                    b"table" => tables += 1,
                    b"tr" => {
                        close(&mut open, &mut table);
                        table.row_ends(line);
                    }
                    b"td" | b"th" => {
                        close(&mut open, &mut table);
                        table.cell_begins(&tag.name);
                        let (columns, rows) = (span(&tag, b"colspan"), span(&tag, b"rowspan"));
                        open = Some(Open { text: None, at, columns, rows });
                    }
                    name => table.section(name, true),
                }
            }
            Token::EndTag(tag) => match tag.name.as_slice() {
                b"td" | b"th" => close(&mut open, &mut table),
                b"tr" => {
                    close(&mut open, &mut table);
                    table.row_ends(line);
                }
                name => table.section(name, false),
            },
            Token::String(string) => {
                if let Some(open) = &mut open {
                    open.add(page, offset + string.span.start..offset + string.span.end);
                }
            }
            _ => {}
        }
    }
    close(&mut open, &mut table);
    table.row_ends(line);
    // Without heads the first row is one.
    let heads = table.heads().max(1);
    let mut rows = table.rows.into_iter();
    let texts = |cells: Vec<Spot>| cells.iter().map(|spot| plain(page.quote(*spot))).collect();
    let heads = rows.by_ref().take(heads).map(|row| texts(row.cells)).collect();
    let rows: Vec<Line> = rows.map(|row| Line { line: row.line, cells: row.cells }).collect();
    (!rows.is_empty()).then_some(Grid { lines, heads, rows })
}

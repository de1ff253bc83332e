//! `<table>` within a page of another kind, as Markdown allows it.

use super::grid::{Grid, Line, plain};
use super::{Ask, Found};
use crate::container::html::{Placed, Rows, placed};
use crate::page::{Page, Spot};
use html5gum::{StartTag, Token};
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

/// Where the text of a cell stands: what is on the line of the first of it counts.
fn cell(page: &Page, offset: usize, tokens: &[Placed], empty: Spot) -> Spot {
    let mut found: Option<Spot> = None;
    for placed in tokens {
        let Token::String(string) = &placed.token else { continue };
        let from = offset + string.span.start;
        let text = page.text().get(from..offset + string.span.end).unwrap_or("");
        let start = from + (text.len() - text.trim_start().len());
        let length = text.trim().lines().next().unwrap_or("").trim_end().len();
        let spot = page.spot_near(start..start + length, placed.line);
        match &mut found {
            _ if length == 0 => {}
            Some(found) if found.line == spot.line => found.end = spot.end,
            Some(_) => {}
            none => *none = Some(spot),
        }
    }
    found.unwrap_or(empty)
}

/// The cells of one table; `None` where another stands in it.
fn grid(page: &Page, text: &str, offset: usize, lines: Range<usize>) -> Option<Grid> {
    let mut line = lines.start;
    let tokens = placed(text, |byte| {
        line = page.spot_near(offset + byte..offset + byte, line).index();
        line
    });
    let begins = |placed: &&Placed| matches!(placed.token, Token::StartTag(_)) && placed.name() == b"table";
    if tokens.iter().filter(begins).count() > 1 {
        return None;
    }
    let spot = |tag: &StartTag<usize>, inner: &[Placed]| {
        let empty = page.spot(offset + tag.span.end..offset + tag.span.end);
        cell(page, offset, inner, empty)
    };
    let table = Rows::read(&tokens, lines.start, spot, |_| {});
    // Without heads the first row is one.
    let heads = table.heads().max(1);
    let mut rows = table.rows.into_iter();
    let texts = |cells: Vec<Spot>| cells.iter().map(|spot| plain(page.quote(*spot))).collect();
    let heads = rows.by_ref().take(heads).map(|row| texts(row.cells)).collect();
    let rows: Vec<Line> = rows.map(|row| Line { line: row.line, cells: row.cells }).collect();
    (!rows.is_empty()).then_some(Grid { lines, heads, rows })
}

//! `<table>` within a page of another kind, as Markdown allows it.

use super::grid::{Grid, Line, head};
use super::{Ask, Found, Shape};
use crate::container::html::Spans;
use crate::page::{Page, Spot};
use html5gum::{DefaultEmitter, Token, Tokenizer};
use std::ops::Range;

/// The shape's entry in the family.
pub const SHAPE: Shape = Shape {
    name: "HTML",
    help: "a `<table>` among other text",
    example: "<table>\n<tr><th>job<th>IOPS</tr>\n<tr><td>a<td>100</tr>\n<tr><td>b<td>90</tr>\n</table>\n",
    begins: |line| tag(line, "<table").is_some(),
    find,
};

/// Where a tag begins, in whatever case.
fn tag(text: &str, name: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'<', bytes).find(|at| {
        bytes.get(*at..*at + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
    })
}

fn find(ask: &Ask) -> Found {
    let page = ask.page;
    let from = tag(page.line(ask.at), "<table").map(|start| page.offset(ask.at) + start);
    let close = (ask.at..ask.end).find(|line| tag(page.line(*line), "</table").is_some());
    let (Some(from), Some(last)) = (from.filter(|_| !ask.fenced), close) else {
        return Found { grids: Vec::new(), end: if ask.fenced { ask.at + 1 } else { ask.end } };
    };
    let end = page.offset(last) + tag(page.line(last), "</table").unwrap_or(0);
    let grid = page.text().get(from..end).and_then(|text| grid(page, text, from, ask.at..last + 1));
    Found { grids: grid.into_iter().collect(), end: last + 1 }
}

/// The cells of one table; `None` where another stands in it.
fn grid(page: &Page, text: &str, offset: usize, lines: Range<usize>) -> Option<Grid> {
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let mut spans: Spans<Spot> = Spans::default();
    let (mut heads, mut rows) = (Vec::new(), Vec::new());
    let mut open: Option<Open> = None;
    let (mut tables, mut line, mut all_heads, mut in_head) = (0, lines.start, true, false);
    let mut row = |spans: &mut Spans<Spot>, all_heads: bool, line: usize| {
        let cells = spans.end_row();
        if all_heads && rows.is_empty() && !cells.is_empty() {
            heads.push(cells);
        } else if !cells.is_empty() {
            rows.push(Line { line, cells });
        }
    };
    for Ok(token) in Tokenizer::new_with_emitter(text, emitter) {
        let close = |open: &mut Option<Open>, spans: &mut Spans<Spot>| {
            if let Some(cell) = open.take() {
                spans.cell(cell.spot(page), cell.columns, cell.rows);
            }
        };
        match token {
            Token::StartTag(tag) => match tag.name.as_slice() {
                b"table" => {
                    tables += 1;
                    if tables > 1 {
                        return None;
                    }
                }
                b"thead" => in_head = true,
                b"tbody" | b"tfoot" => in_head = false,
                b"tr" => {
                    close(&mut open, &mut spans);
                    row(&mut spans, all_heads || in_head, line);
                    all_heads = true;
                    line = page.spot_near(offset + tag.span.start..offset + tag.span.end, line).index();
                }
                name @ (b"td" | b"th") => {
                    close(&mut open, &mut spans);
                    all_heads &= name == b"th";
                    let span = |name: &[u8]| {
                        Spans::<Spot>::count(tag.attributes.get(name).map(|value| &**value.value))
                    };
                    let at = page.spot_near(offset + tag.span.end..offset + tag.span.end, line);
                    open = Some(Open { text: None, at, columns: span(b"colspan"), rows: span(b"rowspan") });
                }
                _ => {}
            },
            Token::EndTag(tag) => match tag.name.as_slice() {
                b"td" | b"th" => close(&mut open, &mut spans),
                b"tr" => {
                    close(&mut open, &mut spans);
                    row(&mut spans, all_heads || in_head, line);
                    all_heads = true;
                }
                b"thead" => in_head = false,
                _ => {}
            },
            Token::String(string) => {
                let blank = String::from_utf8_lossy(&string.value).trim().is_empty();
                if let Some(open) = open.as_mut().filter(|_| !blank) {
                    open.add(page, offset + string.span.start..offset + string.span.end);
                }
            }
            _ => {}
        }
    }
    if let Some(cell) = open.take() {
        spans.cell(cell.spot(page), cell.columns, cell.rows);
    }
    row(&mut spans, all_heads || in_head, line);
    if heads.is_empty() && rows.len() > 1 {
        heads.push(rows.remove(0).cells);
    }
    let texts = |cells: &Vec<Spot>| cells.iter().map(|spot| head(page.quote(*spot))).collect();
    let grid = Grid { lines, heads: heads.iter().map(texts).collect(), rows, more: 0 };
    (!grid.heads.is_empty() && !grid.rows.is_empty()).then_some(grid)
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
        let Some(text) = page.text().get(bytes.clone()) else { return };
        let start = bytes.start + (text.len() - text.trim_start().len());
        let first = text.trim_start();
        let length = first.find('\n').unwrap_or(first.len());
        let length = first[..length].trim_end().len();
        if length == 0 {
            return;
        }
        let spot = page.spot_near(start..start + length, self.at.index());
        match &mut self.text {
            Some(text) if text.line == spot.line => text.end = spot.end,
            Some(_) => {}
            none => *none = Some(spot),
        }
    }

    fn spot(&self, _page: &Page) -> Spot {
        self.text.unwrap_or(self.at)
    }
}

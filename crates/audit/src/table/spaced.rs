//! Cells between spaces: console tables whose columns are two spaces or a tab apart, and lines that lost their alignment, whose
//! figures are counted from the right.

use super::grid::{Grid, Line, head};
use super::title::{self, width};
use super::{Ask, Found, Shape, cell};
use crate::number::{self, Unit};
use crate::page::{Page, Spot};
use std::ops::Range;

/// The shape's entry in the family.
pub const SHAPE: Shape = Shape {
    name: "spaces",
    help: "columns two spaces apart, or lines of a label and figures below as many heads",
    example: "job       IOPS   BW\nrandread  26.1k  102MiB/s\nwrite     25.2k  98MiB/s\n",
    begins,
    find,
};

/// Longer lines are prose.
const LONGEST: usize = 400;

/// A row has at least two words that begin with a digit.
fn begins(line: &str) -> bool {
    if line.len() > LONGEST {
        return false;
    }
    let (mut words, mut space) = (0, true);
    for byte in line.bytes() {
        words += usize::from(space && (byte.is_ascii_digit() || byte == b'~' || byte == b'('));
        space = byte == b' ' || byte == b'\t';
    }
    words > 1
}

fn find(ask: &Ask) -> Found {
    let page = ask.page;
    // Heads stand right above, with at most a rule between.
    let mut top = ask.at;
    let rule = |line: usize| {
        let text = page.line(line).trim();
        text.len() > 3 && text.contains(['-', '=', '─']) && title::is_rule(text) && !text.starts_with("```")
    };
    if top > ask.floor && rule(top - 1) {
        top -= 1;
    }
    if top == ask.floor || top == 0 || drawn(page.line(top - 1)) {
        return Found { grids: Vec::new(), end: ask.at + 1 };
    }
    let heads = top - 1;
    // Most lines with figures follow others of their kind.
    let first = page.line(heads).split_whitespace().next().unwrap_or("");
    if !first.contains(char::is_alphabetic) && !matches!(first, "#" | "%") {
        return Found { grids: Vec::new(), end: ask.at + 1 };
    }
    let lines = ask.at..ask.end;
    let (grid, looked) = aligned(page, heads, lines.clone(), top < ask.at);
    if let Some(grid) = grid {
        return Found { end: grid.lines.end, grids: vec![grid] };
    }
    let (grid, also) = loose(page, heads, lines);
    // Rows that are no table below these heads are none below one of themselves.
    let end = grid.as_ref().map_or(ask.at + looked.max(also).max(1), |grid| grid.lines.end);
    Found { grids: grid.into_iter().collect(), end }
}

/// Whether a text may be a head: words, no figure, no code.
fn names(text: &str) -> bool {
    let words = text.contains(char::is_alphabetic) || text == "#" || text == "%";
    words && !cell::is_figure(text) && !text.contains(['"', '\'', '=', ';', '{', '}', '`'])
}

/// Whether a line has dashes for heads.
fn drawn(line: &str) -> bool {
    line.split_whitespace()
        .filter(|word| word.len() > 1 && word.bytes().all(|byte| b"-=:+|".contains(&byte)))
        .count()
        > 1
}

/// A word or several of a line.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
    /// Columns of the screen.
    left: usize,
    right: usize,
}

impl Part {
    fn spot(self, line: usize) -> Spot {
        Spot::new(line, self.start..self.end)
    }

    fn text(self, line: &str) -> &str {
        &line[self.start..self.end]
    }
}

/// The parts of a line that are at least two spaces or a tab apart.
fn far_apart(line: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut spaces, mut column) = (2, 0);
    for (at, letter) in line.char_indices() {
        match letter {
            ' ' => spaces += 1,
            '\t' => {
                spaces += 2;
                column += 7 - column % 8;
            }
            '\u{3000}' => spaces += 2,
            _ => {
                let right = column + width(letter);
                let end = at + letter.len_utf8();
                match parts.last_mut().filter(|_| spaces < 2) {
                    Some(part) => (part.end, part.right) = (end, right),
                    None => parts.push(Part { start: at, end, left: column, right }),
                }
                spaces = 0;
            }
        }
        column += width(letter);
    }
    parts
}

/// Columns that stand below each other: every line has as many parts as the heads, or one more where the corner is empty. With
/// how many lines were looked at.
fn aligned(page: &Page, heads: usize, lines: Range<usize>, ruled: bool) -> (Option<Grid>, usize) {
    let above = page.line(heads);
    if above.len() > LONGEST || sentence(above) {
        return (None, 0);
    }
    let parts = far_apart(above);
    if parts.len() < 2 && !ruled {
        return (None, 0);
    }
    let first = far_apart(page.line(lines.start)).len();
    // A label and one value is a list of settings, unless a rule makes it a table, or the values are results.
    let fits = first == parts.len() || first == parts.len() + 1;
    let rates = first == 2 && !ruled;
    if first < 2 || !fits || rates && first != parts.len() {
        return (None, 0);
    }
    let lost = first - parts.len();
    if !parts.iter().all(|part| names(part.text(above))) {
        return (None, 0);
    }
    let mut rows: Vec<Line> = Vec::new();
    let mut full = vec![true; first];
    for line in lines {
        let text = page.line(line);
        let cells = if text.len() > LONGEST { Vec::new() } else { far_apart(text) };
        if cells.len() != first
            || drawn(text)
            || !cells.iter().skip(lost).zip(&parts).all(|(cell, head)| below(*head, *cell))
        {
            break;
        }
        for (full, cell) in full.iter_mut().zip(&cells) {
            let text = cell.text(text);
            *full &= cell::is_figure(text) || matches!(text, "-" | "n/a" | "N/A");
        }
        if rates && !result(cells[1].text(text)) {
            break;
        }
        rows.push(Line { line, cells: cells.iter().map(|cell| cell.spot(line)).collect() });
    }
    let figures = full.iter().skip(1).filter(|full| **full).count();
    if rows.len() < 2 || figures == 0 || rows.iter().any(|row| setting(page.quote(row.cells[0]))) {
        return (None, rows.len());
    }
    (grid(above, heads, &parts, lost, rows), 0)
}

fn grid(above: &str, heads: usize, parts: &[Part], lost: usize, rows: Vec<Line>) -> Option<Grid> {
    let mut line: Vec<String> = parts.iter().map(|part| head(part.text(above))).collect();
    line.splice(0..0, (0..lost).map(|_| String::new()));
    let end = rows.last()?.line + 1;
    Some(Grid { lines: heads..end, heads: vec![line], rows, more: 0 })
}

/// Whether a cell stands below its head: they have a column in common, or their ends are one.
fn below(head: Part, cell: Part) -> bool {
    cell.left < head.right + 2 && head.left < cell.right + 2
}

/// Whether a text is a figure with a unit of results.
fn result(text: &str) -> bool {
    let rate =
        |unit| matches!(unit, Unit::PerSecond | Unit::BytesPerSecond | Unit::BitsPerSecond | Unit::Mwips);
    cell::is_figure(text) && number::quantity(0, text).is_some_and(|one| rate(one.unit))
}

/// `CPU:` of a list of settings.
fn setting(label: &str) -> bool {
    label.ends_with([':', '：', '='])
}

/// Whether a line is of prose.
fn sentence(line: &str) -> bool {
    line.trim_end().ends_with(['.', '。', ':', '：', ';', '；', ',', '，', '!', '?'])
}

/// Lines of a label and figures below as many heads, a word each: `读取 (Read) 写入 (Write)`.
fn loose(page: &Page, heads: usize, lines: Range<usize>) -> (Option<Grid>, usize) {
    let above = page.line(heads);
    if above.len() > LONGEST || sentence(above) {
        return (None, 0);
    }
    let parts = words(above);
    let figure = |text: &str, part: &Part| cell::is_figure(part.text(text));
    if parts.len() < 2 || !parts.iter().all(|part| names(part.text(above))) {
        return (None, 0);
    }
    let mut rows: Vec<Line> = Vec::new();
    let mut count = 0;
    for line in lines {
        let text = page.line(line);
        if !begins(text) {
            break;
        }
        let cells = figures(text);
        let behind = cells.iter().rev().take_while(|part| figure(text, part)).count();
        let label = cells.len() - behind;
        if behind < 2 || label == 0 || !rows.is_empty() && behind != count {
            break;
        }
        let (first, last) = (cells[0], cells[label - 1]);
        let named = &text[first.start..last.end];
        let mut letters = named.chars().filter(|letter| !letter.is_ascii_digit());
        if setting(named) || sentence(named) || !letters.any(char::is_alphabetic) {
            break;
        }
        count = behind;
        let mut spots = vec![Spot::new(line, first.start..last.end)];
        spots.extend(cells[label..].iter().map(|part| part.spot(line)));
        rows.push(Line { line, cells: spots });
    }
    match (count + 1).checked_sub(parts.len()) {
        Some(lost @ (0 | 1)) if rows.len() > 1 => (grid(above, heads, &parts, lost, rows), 0),
        _ => (None, rows.len()),
    }
}

/// The words of a line; what stands in brackets goes with the word before it.
fn words(line: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut space, mut depth) = (true, 0usize);
    for (at, letter) in line.char_indices() {
        let open = matches!(letter, '(' | '（' | '[');
        if letter.is_whitespace() && depth == 0 {
            space = true;
            continue;
        }
        let end = at + letter.len_utf8();
        match parts.last_mut().filter(|_| !space || open) {
            Some(part) => part.end = end,
            None => parts.push(Part { start: at, end, left: 0, right: 0 }),
        }
        space = false;
        depth = match letter {
            '(' | '（' | '[' => depth + 1,
            ')' | '）' | ']' => depth.saturating_sub(1),
            _ => depth,
        };
    }
    parts
}

/// The same of a row: a unit goes with the number before it.
fn figures(line: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for part in words(line) {
        let word = part.text(line).split(['(', '（']).next().unwrap_or("").trim();
        let unit = crate::number::measure(word).is_some();
        match parts
            .last_mut()
            .filter(|before| unit && line[before.start..before.end].bytes().all(plain_number))
        {
            Some(before) => before.end = part.end,
            None => parts.push(part),
        }
    }
    parts
}

fn plain_number(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'.' || byte == b','
}

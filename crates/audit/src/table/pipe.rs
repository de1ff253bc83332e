//! Cells between pipes: Markdown with or without outer pipes, `a | b |` without a line of dashes,
//! and the boxes that databases and consoles draw.

use super::grid::{Grid, RuledLine, strip_markup, trimmed};
use super::{FoundTables, MOST_ROWS, TableQuery, cell};
use crate::number::{self, NumberUnit};
use crate::page::{AuditedPage, TextSpan};

const HEADS: usize = 4;

pub(super) fn begins(line: &str) -> bool {
    memchr::memchr(b'|', line.as_bytes()).is_some() || line.trim_start().starts_with(BOXES)
}

const BOXES: &[char] =
    &['+', '│', '┃', '║', '┌', '├', '└', '┏', '┣', '┗', '╔', '╠', '╚', '╒', '╞', '╘'];

enum PipeLineKind {
    /// Cells, and true if pipes enclose them.
    Cells(Vec<TextSpan>, bool),
    /// `|---|---|`: its number of columns, and true if it belongs to a box.
    Rule(usize, bool),
}

struct PipeRun<'a> {
    page: &'a AuditedPage,
    at: usize,
    lines: Vec<PipeLineKind>,
}

pub(super) fn find(ask: &TableQuery) -> FoundTables {
    let mut run = PipeRun { page: ask.page, at: ask.at, lines: Vec::new() };
    // Lines of the open Markdown table.
    let mut open = None;
    loop {
        let line = ask.at + run.lines.len();
        let Some(kind) = (line < ask.end).then(|| pipe_line_kind(ask.page, line)).flatten() else {
            break;
        };
        let last = run.lines.last_mut();
        if last.as_deref().is_some_and(|head| begins_table(head, &kind)) {
            open = Some(0);
        } else if let Some(lines) = &mut open {
            *lines += 1;
            // Rows of a log are only counted. One may still be the head of the next table until the
            // line below it is known.
            if let (true, Some(PipeLineKind::Cells(cells, _))) = (*lines > MOST_ROWS + HEADS, last)
            {
                *cells = Vec::new();
            }
        }
        run.lines.push(kind);
    }
    let end = ask.at + run.lines.len().max(1);
    FoundTables { grids: run.grids(), end }
}

/// Returns true if a line is the rule below a head with as many cells, as in Markdown.
fn begins_table(head: &PipeLineKind, rule: &PipeLineKind) -> bool {
    matches!((head, rule), (PipeLineKind::Cells(cells, _), PipeLineKind::Rule(columns, false)) if cells.len() == *columns)
}

fn pipe_line_kind(page: &AuditedPage, line: usize) -> Option<PipeLineKind> {
    let text = page.line_text(line).trim_end();
    let start = text.len() - text.trim_start_matches([' ', '\t', '>']).len();
    let body = &text[start..];
    if !begins(body) && !body.starts_with("--") {
        return None;
    }
    if let Some(columns) = ruled(body) {
        return Some(PipeLineKind::Rule(columns, !body.contains('|') || body.starts_with('+')));
    }
    let closed = body.ends_with(PIPES);
    // ` | host | VM` of a table without outer pipes: its first cell is empty.
    let start = if start == 1 && !closed && text.starts_with(" |") { 0 } else { start };
    let boxed = closed && text[start..].starts_with(PIPES);
    let cells = split_cells(line, text, start);
    (cells.len() > 1 || boxed && !cells.is_empty()).then_some(PipeLineKind::Cells(cells, boxed))
}

const PIPES: &[char] = &['|', '│', '┃', '║'];

fn ruled(body: &str) -> Option<usize> {
    let (mut columns, mut dashes, mut ruled) = (0, false, false);
    for letter in body.chars() {
        match letter {
            '-' | '=' | '─' | '━' | '═' | '┄' => dashes = true,
            ':' | ' ' => {}
            '|' | '+' | '│' | '┃' | '║' | '\u{250c}'..='\u{254b}' | '\u{2552}'..='\u{256c}' =>
            {
                columns += usize::from(dashes);
                (ruled, dashes) = (true, false);
            }
            _ => return None,
        }
    }
    columns += usize::from(dashes);
    (columns > 0 && ruled).then_some(columns)
}

/// Splits a line at unescaped pipes into trimmed cells; the outer pipes are ignored.
fn split_cells(line: usize, text: &str, start: usize) -> Vec<TextSpan> {
    let mut cells = Vec::new();
    let (mut from, mut escaped) = (start, false);
    for (at, letter) in text[start..].char_indices().map(|(at, letter)| (start + at, letter)) {
        if PIPES.contains(&letter) && !escaped {
            if at > start {
                cells.push(trimmed(line, text, from..at, char::is_whitespace));
            }
            from = at + letter.len_utf8();
        }
        escaped = letter == '\\' && !escaped;
    }
    if from < text.len() {
        cells.push(trimmed(line, text, from..text.len(), char::is_whitespace));
    }
    cells
}

impl PipeRun<'_> {
    fn cells(&self, at: usize) -> Option<&[TextSpan]> {
        match self.lines.get(at)? {
            PipeLineKind::Cells(cells, _) => Some(cells),
            _ => None,
        }
    }

    fn boxed(&self, at: usize) -> bool {
        matches!(self.lines[at], PipeLineKind::Cells(_, true))
    }

    fn is_below_heads(&self, at: usize) -> bool {
        let head = at.checked_sub(1).and_then(|above| self.cells(above));
        matches!(self.lines[at], PipeLineKind::Rule(columns, _) if head.is_some_and(|head| head.len() == columns))
    }

    fn texts(&self, cells: &[TextSpan]) -> Vec<String> {
        cells.iter().map(|spot| strip_markup(self.page.quote(*spot))).collect()
    }

    /// Returns how many cells after the first are figures.
    fn count_figures(&self, cells: &[TextSpan]) -> usize {
        cells.iter().skip(1).filter(|spot| cell::is_figure(self.page.quote(**spot))).count()
    }

    fn grids(&self) -> Vec<Grid> {
        if (0..self.lines.len()).any(|at| self.is_below_heads(at)) {
            return self.ruled();
        }
        let (mut grids, mut at) = (Vec::new(), 0);
        while at < self.lines.len() {
            let (grid, next) = self.unruled_table(at);
            grids.extend(grid);
            at = next.max(at + 1);
        }
        grids
    }

    /// Returns the tables with heads above a line of dashes.
    fn ruled(&self) -> Vec<Grid> {
        let mut grids: Vec<Grid> = Vec::new();
        // The line after the heads of the last table.
        let mut top = 0;
        for (at, kind) in self.lines.iter().enumerate() {
            match (kind, grids.last_mut()) {
                _ if at < top => {}
                (PipeLineKind::Cells(cells, _), Some(grid)) => {
                    let cells = cells.iter().copied().take(grid.heads[0].len()).collect();
                    grid.rows.push(RuledLine { line: self.at + at, cells });
                    grid.lines.end = self.at + at + 1;
                }
                (PipeLineKind::Rule(_, boxed), before)
                    if self.is_below_heads(at) && !(*boxed && before.is_some()) =>
                {
                    let Some((heads, texts)) = self.heads(top, at, *boxed) else { continue };
                    // Heads of a second table were read as rows of the first.
                    if let Some(before) = before {
                        before.rows.retain(|row| row.line < heads);
                        before.lines.end = heads;
                    }
                    top = at + 1;
                    grids.push(Grid {
                        lines: heads..self.at + top,
                        heads: texts,
                        rows: Vec::new(),
                    });
                }
                _ => {}
            }
        }
        grids
    }

    /// Returns the heads above a rule: the page's index of the first line and the texts of all
    /// lines, which have as many cells as the rule. None is above line `top` of the run. `None` if
    /// there are no such lines or the box is a drawing.
    fn heads(&self, top: usize, rule: usize, boxed: bool) -> Option<(usize, Vec<Vec<String>>)> {
        let columns = self.cells(rule - 1)?.len();
        let fits = |at: &usize| self.cells(*at).is_some_and(|cells| cells.len() == columns);
        // Only the first table has several lines of heads: rows precede the heads of the others.
        let count =
            (top..rule).rev().take_while(fits).take(if top > 0 { 1 } else { HEADS }).count();
        let lines: Vec<_> =
            (rule - count..rule).filter_map(|at| Some(self.texts(self.cells(at)?))).collect();
        // A drawing may have boxes too.
        let figures = || lines.iter().flatten().all(|text| cell::is_figure(text));
        let empty = |column: usize| lines.iter().all(|line| line[column].is_empty());
        let drawing = boxed && (figures() || (1..columns).any(empty));
        (count > 0 && !drawing).then_some((self.at + rule - count, lines))
    }

    /// Returns true if a line is clear without a head: a label, and results with units.
    fn sound_alone(&self, cells: &[TextSpan]) -> bool {
        let unit = |text: &str| number::quantities(0, text).first().map(|one| one.unit);
        let result =
            |text: &str| cell::is_figure(text) && unit(text).is_some_and(NumberUnit::is_of_results);
        let mut texts = cells.iter().map(|spot| self.page.quote(*spot));
        let label = texts.next().is_some_and(|text| !text.is_empty() && !cell::is_figure(text));
        label && texts.all(|text| text.is_empty() || result(text)) && self.count_figures(cells) > 0
    }

    /// Returns a table without a line of dashes: a line of words, then lines with a label and
    /// figures. Also returns the line after it.
    fn unruled_table(&self, at: usize) -> (Option<Grid>, usize) {
        let Some(first) = self.cells(at) else { return (None, at) };
        let head = (self.count_figures(first) == 0).then(|| self.texts(first));
        let from = at + usize::from(head.is_some());
        let Some(width) = self.cells(from).map(<[TextSpan]>::len) else { return (None, from) };
        let mut rows: Vec<RuledLine> = Vec::new();
        let (mut of_figures, mut to) = (0, from);
        while let Some(cells) = self.cells(to).filter(|cells| cells.len() == width) {
            let some = self.count_figures(cells) > 0;
            let goes_on = match &head {
                None => self.sound_alone(cells),
                // Rows of words may appear among rows of figures in a boxed table, except for a
                // repetition of its head.
                Some(head) => {
                    some || self.boxed(to)
                        && !head
                            .iter()
                            .zip(self.texts(cells))
                            .skip(1)
                            .all(|(head, own)| *head == own)
                }
            };
            if !goes_on {
                break;
            }
            of_figures += usize::from(some);
            rows.push(RuledLine { line: self.at + to, cells: cells.to_vec() });
            to += 1;
        }
        let boxed = self.boxed(at);
        let least = if boxed && head.is_some() { 1 } else { 2 };
        let heads: Option<Vec<_>> = head.into_iter().map(|line| fit(line, width, boxed)).collect();
        let Some(heads) = heads.filter(|_| of_figures >= least && width > 1) else {
            return (None, to);
        };
        // At least one column has figures in most of its cells.
        let full = (1..width).any(|column| {
            let texts = rows.iter().map(|row| self.page.quote(row.cells[column]));
            texts.filter(|text| text.is_empty() || cell::is_figure(text)).count() * 2 >= rows.len()
        });
        (full.then_some(Grid { lines: self.at + at..self.at + to, heads, rows }), to)
    }
}

/// Fits heads to the width of the rows. An empty corner may be missing, and its pipe may be missing
/// too or be left at the end. Returns `None` if they do not fit.
fn fit(mut line: Vec<String>, width: usize, boxed: bool) -> Option<Vec<String>> {
    let (last, others) = line.split_last()?;
    let whole = others.iter().all(|text| !text.is_empty());
    match width.checked_sub(line.len())? {
        0 if last.is_empty() && whole && !boxed => line.rotate_right(1),
        0 => {}
        1 if whole && !last.is_empty() => line.insert(0, String::new()),
        _ => return None,
    }
    Some(line)
}

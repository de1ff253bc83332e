//! One cell per line, with blank lines between, as in pages that lost their tables. The number of
//! columns follows from the regularity of the lines that hold figures.

use super::grid::{Grid, RuledLine, strip_markup, trimmed};
use super::title::text_columns;
use super::{FoundTables, TableQuery, cell};
use crate::page::AuditedPage;

const LONGEST: usize = 160;
/// Limit of blank lines between two cells.
const BLANK: usize = 3;
/// Limit of columns without that of the labels.
const MOST: usize = 64;

pub(super) fn begins(line: &str) -> bool {
    line.len() <= LONGEST && line.bytes().any(|byte| byte.is_ascii_digit())
}

/// Finds a table whose first figure is at the queried line: after a label, before further figures.
pub(super) fn find(ask: &TableQuery) -> FoundTables {
    let figure = |line: &usize| cell::is_figure(stacked_cell_text(ask.page, *line));
    let first =
        ask.at > ask.floor && stacked_cell_text(ask.page, ask.at - 1).is_empty() && figure(&ask.at);
    let label = first.then(|| previous_cell(ask, ask.at)).flatten().filter(|label| !figure(label));
    let Some(label) = label else { return FoundTables::none(ask.at + 1) };
    // Lines of each row, that of the label first.
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let (mut next, mut end) = (Some(label), ask.at + 1);
    while let Some(label) = next.filter(|label| !figure(label)) {
        let mut cells = vec![label];
        next = after(ask, label);
        while let Some(line) = next.filter(|line| figure(line) && cells.len() <= MOST + 1) {
            cells.push(line);
            next = after(ask, line);
        }
        let like_first = rows.first().is_none_or(|first| first.len() == cells.len());
        if !(3..MOST + 2).contains(&cells.len()) || !like_first {
            break;
        }
        end = cells[cells.len() - 1] + 1;
        rows.push(cells);
    }
    let heads = (rows.len() > 1 && alike(ask.page, &rows))
        .then(|| heads(ask, label, rows[0].len()))
        .flatten();
    let grid = heads.map(|heads| grid(ask.page, &heads, &rows, end));
    FoundTables { grids: grid.into_iter().collect(), end }
}

fn stacked_cell_text(page: &AuditedPage, line: usize) -> &str {
    page.line_text(line).trim()
}

/// Returns the line of the cell before `line`, if one to [`BLANK`] blank lines are between them.
fn previous_cell(ask: &TableQuery, line: usize) -> Option<usize> {
    let low = line.saturating_sub(BLANK + 1).max(ask.floor);
    let found = (low..line).rev().find(|at| !stacked_cell_text(ask.page, *at).is_empty())?;
    (found + 1 < line && short(ask.page, found)).then_some(found)
}

fn after(ask: &TableQuery, line: usize) -> Option<usize> {
    let high = (line + BLANK + 2).min(ask.end);
    let found = (line + 1..high).find(|at| !stacked_cell_text(ask.page, *at).is_empty())?;
    (found > line + 1 && short(ask.page, found)).then_some(found)
}

fn short(page: &AuditedPage, line: usize) -> bool {
    page.line_text(line).len() <= LONGEST
        && !stacked_cell_text(page, line).starts_with(['#', '•', '*', '-', '>', '|', '`'])
}

/// Returns true if each position has percentages in all rows or in none.
fn alike(page: &AuditedPage, rows: &[Vec<usize>]) -> bool {
    let percent = |line: &usize| stacked_cell_text(page, *line).ends_with(['%', '％']);
    rows.iter().all(|row| row.iter().skip(1).map(percent).eq(rows[0].iter().skip(1).map(percent)))
}

/// Returns the lines of heads above the first label: one per column, preceded by the corner's if
/// there is one.
fn heads(ask: &TableQuery, label: usize, columns: usize) -> Option<Vec<Option<usize>>> {
    let mut lines = vec![label];
    for _ in 1..columns {
        let at = previous_cell(ask, lines[0])
            .filter(|at| !cell::is_figure(stacked_cell_text(ask.page, *at)))?;
        lines.insert(0, at);
    }
    lines.pop();
    let longest =
        lines.iter().map(|line| text_columns(stacked_cell_text(ask.page, *line))).max()?;
    // The line above them is the corner or a title: a title is longer than the heads.
    let corner = previous_cell(ask, lines[0]).filter(|at| {
        let text = stacked_cell_text(ask.page, *at);
        2 * text_columns(text) <= 3 * longest
            && !text.ends_with([':', '：', '.', '。'])
            && !cell::is_figure(text)
    });
    // Without a title above, it is the title.
    let corner = corner.filter(|corner| previous_cell(ask, *corner).is_some());
    Some(std::iter::once(corner).chain(lines.into_iter().map(Some)).collect())
}

fn grid(page: &AuditedPage, heads: &[Option<usize>], rows: &[Vec<usize>], end: usize) -> Grid {
    let head = |line: &Option<usize>| {
        line.map_or_else(String::new, |line| strip_markup(page.line_text(line)))
    };
    let spot = |line: &usize| {
        let text = page.line_text(*line);
        trimmed(*line, text, 0..text.len(), char::is_whitespace)
    };
    let line = |row: &Vec<usize>| RuledLine { line: row[0], cells: row.iter().map(spot).collect() };
    let first = heads.iter().flatten().next().copied().unwrap_or(rows[0][0]);
    let heads = vec![heads.iter().map(head).collect()];
    Grid { lines: first..end, heads, rows: rows.iter().map(line).collect() }
}

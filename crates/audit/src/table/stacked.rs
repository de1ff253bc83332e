//! One cell a line, blank lines between, as pages that lost their tables have it: how many columns there are is found from the
//! regularity of which lines hold figures.

use super::grid::{Grid, Line, head};
use super::title::wide;
use super::{Ask, Found, Shape, cell};
use crate::page::{Page, Spot};

/// The shape's entry in the family.
pub const SHAPE: Shape = Shape {
    name: "one cell a line",
    help: "heads, then labels each followed by as many figures, all on lines of their own with blank lines between",
    example: "VM\n\nhost\n\nVM/host\n\nwrite\n\n410k\n\n440k\n\n93%\n\nread\n\n500k\n\n520k\n\n96%\n",
    begins: |line| line.len() <= LONGEST && line.bytes().any(|byte| byte.is_ascii_digit()),
    find,
};

/// Bytes of a cell's line.
const LONGEST: usize = 160;
/// Blank lines between two cells.
const BLANK: usize = 3;
/// Columns but that of the labels.
const MOST: usize = 64;

fn find(ask: &Ask) -> Found {
    let none = |end: usize| Found { grids: Vec::new(), end };
    // Its first figure is where it is looked for: behind a label, before further figures.
    let figure = |line: usize| cell::is_figure(ask.page.line(line).trim());
    if ask.at == ask.floor || !blank(ask.page, ask.at - 1) || !figure(ask.at) {
        return none(ask.at + 1);
    }
    let Some(label) = before(ask, ask.at) else { return none(ask.at + 1) };
    if figure(label) {
        return none(ask.at + 1);
    }
    let mut rows: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut next = Some(label);
    let mut end = ask.at + 1;
    while let Some(label) = next.filter(|label| !figure(*label)) {
        let mut cells = Vec::new();
        let mut at = after(ask, label);
        while let Some(line) = at.filter(|line| figure(*line) && cells.len() <= MOST) {
            cells.push(line);
            at = after(ask, line);
        }
        if cells.len() < 2
            || cells.len() > MOST
            || rows.first().is_some_and(|first| first.1.len() != cells.len())
        {
            break;
        }
        end = cells[cells.len() - 1] + 1;
        rows.push((label, cells));
        next = at;
    }
    let end = end.max(ask.at + 1);
    if rows.len() < 2 || !alike(ask.page, &rows) {
        return none(end);
    }
    let grid = heads(ask, label, rows[0].1.len()).map(|heads| grid(ask.page, &heads, &rows));
    Found { grids: grid.into_iter().collect(), end }
}

/// The line of the cell before that of a line: blank lines between, and nothing longer.
fn before(ask: &Ask, line: usize) -> Option<usize> {
    let low = line.saturating_sub(BLANK + 1).max(ask.floor);
    let found = (low..line).rev().find(|at| !blank(ask.page, *at))?;
    (found + 1 < line && short(ask.page, found)).then_some(found)
}

/// That of the cell behind it.
fn after(ask: &Ask, line: usize) -> Option<usize> {
    let high = (line + BLANK + 2).min(ask.end);
    let found = (line + 1..high).find(|at| !blank(ask.page, *at))?;
    (found > line + 1 && short(ask.page, found)).then_some(found)
}

fn blank(page: &Page, line: usize) -> bool {
    page.line(line).trim().is_empty()
}

fn short(page: &Page, line: usize) -> bool {
    let text = page.line(line);
    text.len() <= LONGEST && !text.trim_start().starts_with(['#', '•', '*', '-', '>', '|', '`'])
}

/// Whether each position has percentages in all rows or in none.
fn alike(page: &Page, rows: &[(usize, Vec<usize>)]) -> bool {
    let percent = |line: &usize| page.line(*line).trim_end().ends_with(['%', '％']);
    let first: Vec<bool> = rows[0].1.iter().map(percent).collect();
    rows.iter().all(|(_, cells)| cells.iter().map(percent).eq(first.iter().copied()))
}

/// The lines of heads above the first label: as many as there are columns, and that of the corner.
fn heads(ask: &Ask, label: usize, columns: usize) -> Option<Vec<Option<usize>>> {
    let mut lines = Vec::with_capacity(columns + 1);
    let mut at = label;
    for _ in 0..columns {
        at = before(ask, at)?;
        if cell::is_figure(ask.page.line(at).trim()) {
            return None;
        }
        lines.push(at);
    }
    let longest = lines.iter().map(|line| wide(ask.page.line(*line).trim())).max()?;
    // The line above them is the corner, or a title: a title is longer than the heads are.
    let text = |at: usize| ask.page.line(at).trim();
    let corner = before(ask, at).filter(|at| {
        2 * wide(text(*at)) <= 3 * longest
            && !text(*at).ends_with([':', '：', '.', '。'])
            && !cell::is_figure(text(*at))
    });
    let above = corner.and_then(|corner| before(ask, corner));
    // Without a title above it is the title.
    let mut heads: Vec<Option<usize>> = vec![corner.filter(|_| above.is_some())];
    heads.extend(lines.into_iter().rev().map(Some));
    Some(heads)
}

fn grid(page: &Page, heads: &[Option<usize>], rows: &[(usize, Vec<usize>)]) -> Grid {
    let spot = |line: usize| {
        let text = page.line(line);
        let start = text.len() - text.trim_start().len();
        Spot::new(line, start..start.max(text.trim_end().len()))
    };
    let texts =
        heads.iter().map(|line| line.map_or_else(String::new, |line| head(page.line(line)))).collect();
    let first = heads.iter().flatten().min().copied().unwrap_or(rows[0].0);
    let line = |(label, cells): &(usize, Vec<usize>)| Line {
        line: *label,
        cells: std::iter::once(label).chain(cells).map(|line| spot(*line)).collect(),
    };
    let last = rows.last().and_then(|(_, cells)| cells.last()).copied().unwrap_or(first);
    Grid { lines: first..last + 1, heads: vec![texts], rows: rows.iter().map(line).collect(), more: 0 }
}

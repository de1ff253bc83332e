//! The shapes that tables are drawn in.

use super::draft::Draft;

/// What is in a table: texts with the marks of their figures.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// Head of the labels.
    pub corner: String,
    /// Heads of the columns, of one or two lines.
    pub heads: Vec<[String; 2]>,
    /// Label and cells; a row of shares below its own has no label.
    pub rows: Vec<(String, Vec<String>)>,
}

/// How a table is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Markdown; the rule stands behind all lines of heads.
    Markdown,
    /// Markdown; the rule stands behind the first line of heads, as GitHub needs it.
    MarkdownFirst,
    /// `a | b` without pipes at the ends.
    Bare,
    /// One cell a line, blank lines between.
    Stacked,
    /// Columns aligned by spaces.
    Spaced,
    /// CSV in a fenced block.
    Csv,
    /// Between tabs.
    Tabs,
    /// HTML, a row a line.
    Html,
    /// HTML, a cell a line.
    HtmlCells,
}

impl Shape {
    /// All.
    pub const ALL: [Shape; 9] = [
        Shape::Markdown,
        Shape::MarkdownFirst,
        Shape::Bare,
        Shape::Stacked,
        Shape::Spaced,
        Shape::Csv,
        Shape::Tabs,
        Shape::Html,
        Shape::HtmlCells,
    ];
}

/// The lines of a table, figures as marks.
pub fn lay_out(draft: &Draft, grid: &Grid, shape: Shape) -> Vec<String> {
    let joined = |head: &[String; 2]| format!("{} {}", head[0], head[1]).trim().to_owned();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let two = grid.heads.iter().any(|head| !head[1].is_empty());
    let heads = |line: usize| {
        let mut before = "";
        let mut heads = vec![if line == 0 { grid.corner.clone() } else { String::new() }];
        for head in &grid.heads {
            // The upper line says a thing once; it goes on to the right.
            let same = line == 0 && !head[0].is_empty() && head[0] == before;
            heads.push(if same { String::new() } else { head[line].clone() });
            before = if line == 0 { &head[0] } else { "" };
        }
        heads
    };
    let single = || [grid.corner.clone()].into_iter().chain(grid.heads.iter().map(joined)).collect();
    match (two, shape) {
        (true, Shape::Markdown | Shape::MarkdownFirst | Shape::Bare) => rows.extend([heads(0), heads(1)]),
        _ => rows.push(single()),
    }
    let head_rows = rows.len();
    rows.extend(
        grid.rows.iter().map(|(label, cells)| {
            [label.clone()].into_iter().chain(cells.iter().cloned()).collect::<Vec<_>>()
        }),
    );
    match shape {
        Shape::Markdown | Shape::MarkdownFirst => {
            let mut lines: Vec<String> = rows.iter().map(|row| format!("| {} |", row.join(" | "))).collect();
            let heads = if shape == Shape::Markdown { head_rows } else { 1 };
            lines.insert(heads, format!("|{}", "---|".repeat(rows[0].len())));
            lines
        }
        Shape::Bare => {
            let mut lines: Vec<String> = rows.iter().map(|row| row.join(" | ")).collect();
            lines.insert(head_rows, vec!["---"; rows[0].len()].join("|"));
            lines
        }
        Shape::Stacked => rows
            .iter()
            .flatten()
            .filter(|cell| !cell.is_empty())
            .flat_map(|cell| [cell.clone(), String::new()])
            .collect(),
        Shape::Spaced => aligned(draft, &rows),
        Shape::Csv => {
            let comma = rows.iter().flatten().any(|cell| draft.filled(cell).contains(','));
            let sign = if comma { ";" } else { "," };
            let own = rows.iter().map(|row| row.join(sign));
            ["```".to_owned()].into_iter().chain(own).chain(["```".to_owned()]).collect()
        }
        Shape::Tabs => rows.iter().map(|row| row.join("\t")).collect(),
        Shape::Html | Shape::HtmlCells => html(&rows, head_rows, shape == Shape::HtmlCells),
    }
}

fn html(rows: &[Vec<String>], heads: usize, apart: bool) -> Vec<String> {
    let mut lines = vec!["<table>".to_owned()];
    for (at, row) in rows.iter().enumerate() {
        let tag = if at < heads { "th" } else { "td" };
        let cells: Vec<String> = row.iter().map(|cell| format!("<{tag}>{cell}</{tag}>")).collect();
        if apart {
            lines.push("  <tr>".to_owned());
            lines.extend(cells.into_iter().map(|cell| format!("    {cell}")));
            lines.push("  </tr>".to_owned());
        } else {
            lines.push(format!("<tr>{}</tr>", cells.concat()));
        }
    }
    lines.push("</table>".to_owned());
    lines
}

fn aligned(draft: &Draft, rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width_at = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| width(&draft.filled(cell))).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width_at).collect();
    let line = |row: &Vec<String>| {
        let mut line = String::new();
        for (cell, wide) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(wide + 2 - width(&draft.filled(cell))));
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Columns of a terminal; Chinese letters take two.
fn width(text: &str) -> usize {
    text.chars().map(|letter| if letter as u32 >= 0x2e80 { 2 } else { 1 }).sum()
}

//! Rows of a table: cells that span several columns and rows are put into rows of one cell per
//! column.

use super::PlacedNode;
use html5gum::{StartTag, Token};
use std::rc::Rc;

/// Limit of columns; further ones are dropped.
const MOST_COLUMNS: usize = 512;
/// Limit of the copies that spans make beyond the number of cells. Otherwise a few bytes could
/// request millions.
const COPIES: usize = 10_000;

fn cell_span(tag: &StartTag<usize>, name: &[u8]) -> usize {
    let text = tag.attributes.get(name).and_then(|text| std::str::from_utf8(&text.value).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(1).clamp(1, 65_534)
}

pub(super) struct HtmlRows {
    pub rows: Vec<HtmlRow>,
    open: Vec<Rc<str>>,
    /// For each column, the number of further rows that its cell spans, and that cell.
    below: Vec<(usize, Rc<str>)>,
    copies: usize,
}

pub(super) struct HtmlRow {
    pub line: usize,
    pub cells: Vec<Rc<str>>,
    head: bool,
}

impl HtmlRows {
    /// Reads the content of a table that begins at line `line`. `cell` returns the text of a cell.
    /// Nodes outside cells, such as those of a caption, are returned beside the rows.
    pub fn read_rows(
        tokens: &[PlacedNode],
        mut line: usize,
        mut cell: impl FnMut(&[PlacedNode]) -> Rc<str>,
    ) -> (HtmlRows, Vec<&PlacedNode>) {
        let mut asides = Vec::new();
        let mut table =
            HtmlRows { rows: Vec::new(), open: Vec::new(), below: Vec::new(), copies: COPIES };
        let (mut in_head, mut all_heads, mut at) = (false, true, 0);
        while let Some(placed) = tokens.get(at) {
            at += 1;
            match (&placed.token, placed.name()) {
                (Token::StartTag(tag), b"td" | b"th") => {
                    all_heads &= *tag.name == b"th";
                    let rest = &tokens[at..];
                    let ends = |one: &PlacedNode| {
                        matches!(one.name(), b"td" | b"th" | b"tr" | b"thead" | b"tbody" | b"tfoot")
                    };
                    let inner = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
                    table.add_cell(
                        cell(inner),
                        cell_span(tag, b"colspan"),
                        cell_span(tag, b"rowspan"),
                    );
                    at += inner.len();
                }
                (_, b"tr") => {
                    table.row_ends(line, in_head || all_heads);
                    (all_heads, line) = (true, placed.line);
                }
                (token, b"thead" | b"tbody" | b"tfoot") => {
                    in_head = placed.name() == b"thead" && matches!(token, Token::StartTag(_));
                }
                _ => asides.push(placed),
            }
        }
        table.row_ends(line, in_head || all_heads);
        (table, asides)
    }

    fn add_cell(&mut self, cell: Rc<str>, columns: usize, rows: usize) {
        self.go_on_from_above();
        self.copies += 1;
        for _ in 0..columns.min(MOST_COLUMNS) {
            if self.open.len() >= MOST_COLUMNS || self.copies == 0 {
                return;
            }
            if rows > 1 {
                let column = self.open.len();
                self.below.resize(self.below.len().max(column + 1), (0, "".into()));
                self.below[column] = (rows - 1, cell.clone());
            }
            self.copies -= 1;
            self.open.push(cell.clone());
        }
    }

    fn row_ends(&mut self, line: usize, head: bool) {
        if !self.open.is_empty() {
            self.go_on_from_above();
            self.rows.push(HtmlRow { line, head, cells: std::mem::take(&mut self.open) });
        }
    }

    /// Returns the number of head rows at the top.
    pub fn heads(&self) -> usize {
        self.rows.iter().take_while(|row| row.head).count()
    }

    fn go_on_from_above(&mut self) {
        while let Some((rows, cell)) =
            self.below.get_mut(self.open.len()).filter(|(rows, _)| *rows > 0)
        {
            if self.copies == 0 {
                return;
            }
            *rows -= 1;
            self.copies -= 1;
            self.open.push(cell.clone());
        }
    }
}

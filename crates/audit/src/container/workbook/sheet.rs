//! The cells of a sheet as lines: what stands together is a table, a lone cell above it its title.

use crate::page::{Page, Unread};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Bytes of lines that a sheet may become: empty cells between full ones take some too.
const MOST_LINES: usize = 64 << 20;

/// A cell: its column from 0, and what it shows.
pub(super) type Cell = (u32, Rc<str>);
/// A row: its number from 1, and its cells.
pub(super) type Row = (u32, Vec<Cell>);

/// A sheet, its cells in the order of rows and columns.
#[derive(Default)]
pub(super) struct Sheet {
    pub name: String,
    /// Rows that have cells.
    pub rows: Vec<Row>,
    /// What could not be read of it.
    pub unread: Vec<Unread>,
}

impl Sheet {
    /// A note on a row.
    pub fn note(&mut self, row: u32, why: impl Into<String>) {
        self.unread.push(Unread { line: row.max(1), last: row.max(1), why: why.into() });
    }

    /// The sheet as a page.
    pub fn page(mut self, workbook: &str) -> Page {
        self.rows.retain_mut(|(_, cells)| {
            cells.retain(|(_, text)| !text.trim().is_empty());
            cells.sort_by_key(|(column, _)| *column);
            !cells.is_empty()
        });
        self.rows.sort_by_key(|(number, _)| *number);
        let mut lines = Vec::new();
        let mut bytes = 0;
        let mut cut = None;
        for block in self.rows.chunk_by(|(one, _), (next, _)| one + 1 >= *next) {
            for part in parts(block) {
                part.show(&mut lines, &mut bytes);
            }
            cut = cut.or_else(|| (bytes >= MOST_LINES).then_some(block[0].0));
        }
        if let Some(row) = cut {
            self.note(
                row,
                format!("a sheet of more than {} MiB of lines: the rest is not read", MOST_LINES >> 20),
            );
        }
        let mut page = Page::rendered(format!("{workbook} [{}]", self.name), &lines);
        page.unread = self.unread;
        page
    }
}

/// Columns of a block of rows that stand together: an empty one parts two tables.
struct Part<'s> {
    first: u32,
    last: u32,
    /// Rows that have cells there.
    rows: Vec<(u32, &'s [Cell])>,
}

fn parts(block: &[Row]) -> Vec<Part<'_>> {
    let full: BTreeSet<u32> =
        block.iter().flat_map(|(_, cells)| cells.iter().map(|(column, _)| *column)).collect();
    let mut parts: Vec<Part> = Vec::new();
    for column in full {
        match parts.last_mut().filter(|part| part.last + 1 == column) {
            Some(part) => part.last = column,
            None => parts.push(Part { first: column, last: column, rows: Vec::new() }),
        }
    }
    for (number, cells) in block {
        let mut left = cells.as_slice();
        while let Some((column, _)) = left.first() {
            let at = parts.partition_point(|part| part.last < *column);
            let (of_part, rest) =
                left.split_at(left.partition_point(|(column, _)| *column <= parts[at].last));
            parts[at].rows.push((*number, of_part));
            left = rest;
        }
    }
    parts
}

impl Part<'_> {
    /// Shows it as lines, the last one empty.
    fn show(&self, lines: &mut Vec<(u32, String)>, bytes: &mut usize) {
        let mut begun = false;
        let mut before = None;
        for (number, cells) in &self.rows {
            if *bytes >= MOST_LINES {
                return;
            }
            if before.is_some_and(|before| before + 1 < *number) {
                lines.push((*number - 1, String::new()));
            }
            before = Some(*number);
            let line = match cells {
                [(column, text)] if self.first == self.last || !begun && *column == self.first => {
                    one_line(text)
                }
                _ => {
                    begun = true;
                    between_pipes(cells, self.first, self.last)
                }
            };
            *bytes += line.len() + 1;
            lines.push((*number, line));
        }
        lines.push((before.unwrap_or(1), String::new()));
    }
}

fn between_pipes(cells: &[Cell], first: u32, last: u32) -> String {
    let mut line = String::from("|");
    let mut cells = cells.iter().peekable();
    for column in first..=last {
        if let Some((_, text)) = cells.next_if(|(at, _)| *at == column) {
            line.push(' ');
            line.push_str(&one_line(text).replace('|', "\\|"));
        }
        line.push_str(" |");
    }
    line
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

//! Tables as text. In a terminal, columns that do not fit are left out by their rank, never cut or wrapped.

use unicode_width::UnicodeWidthStr;

/// A column: a head, cells, and how much it matters (0 stays always).
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) head: String,
    pub(super) rank: u8,
    pub(super) cells: Vec<String>,
}

/// Columns of equal length.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
}

const INDENT: usize = 2;
const GAP: usize = 2;
/// Names longer than half of the width are shortened in the middle.
const NAME_PART: usize = 2;

impl Table {
    pub(super) fn push(&mut self, head: &str, rank: u8, cells: Vec<String>) {
        self.columns.push(Column { head: head.to_owned(), rank, cells });
    }

    /// Below the heads.
    pub(super) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// At most `width` columns wide; the first column is left-aligned, the others right.
    pub(super) fn text(&self, width: usize) -> String {
        let mut shown = self.columns.clone();
        for column in shown.iter_mut().take(1) {
            let most = (width / NAME_PART).max(8);
            column.cells.iter_mut().for_each(|cell| *cell = shortened(cell, most));
        }
        while total_width(&shown) > width && drop_least(&mut shown) {}
        let rows = self.rows();
        let head = shown.iter().map(|column| column.head.clone()).collect();
        let lines = std::iter::once(head)
            .chain((0..rows).map(|row| shown.iter().map(|column| column.cells[row].clone()).collect()));
        lines.map(|cells: Vec<String>| line(&shown, &cells)).collect()
    }

    /// As [`Table::text`], but no column of this rank or a lower one is left out: where they are too wide together, these
    /// stand in parts.
    pub(super) fn text_with(&self, rank: u8, width: usize) -> String {
        let kept = self.columns.iter().filter(|column| column.rank <= rank).cloned().collect();
        let kept = Table { columns: kept };
        let fits = kept.text(usize::MAX).lines().all(|line| line.width() <= width);
        if fits { self.text(width) } else { kept.in_parts(width) }
    }

    /// All columns, in as many tables as it takes; each begins with the first column.
    pub(super) fn in_parts(&self, width: usize) -> String {
        let Some((first, others)) = self.columns.split_first() else { return String::new() };
        let mut parts: Vec<Table> = Vec::new();
        for column in others {
            let fits = |part: &&mut Table| total_width(&part.columns) + GAP + width_of(column) <= width;
            match parts.last_mut().filter(fits) {
                Some(part) => part.columns.push(column.clone()),
                None => parts.push(Table { columns: vec![first.clone(), column.clone()] }),
            }
        }
        parts.iter().map(|part| part.text(width)).collect::<Vec<_>>().join("\n")
    }

    /// All columns, as a pipe table.
    pub(super) fn markdown(&self) -> String {
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rows = self.rows();
        let mut out = row(self.columns.iter().map(|column| escaped(&column.head)).collect());
        out += &row(self
            .columns
            .iter()
            .enumerate()
            .map(|(at, _)| if at == 0 { "---" } else { "---:" }.to_owned())
            .collect());
        for at in 0..rows {
            out += &row(self.columns.iter().map(|column| escaped(&column.cells[at])).collect());
        }
        out
    }
}

/// A cell or a sentence that Markdown must not read as markup.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '\\' | '#' => out.extend(['\\', c]),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn total_width(columns: &[Column]) -> usize {
    INDENT + columns.iter().map(width_of).sum::<usize>() + GAP * columns.len().saturating_sub(1)
}

fn width_of(column: &Column) -> usize {
    column.cells.iter().map(|cell| cell.width()).chain([column.head.width()]).max().unwrap_or(0)
}

/// Leaves out the column of the highest rank; false when all that are left must stay.
fn drop_least(columns: &mut Vec<Column>) -> bool {
    let least = (0..columns.len()).rev().max_by_key(|at| columns[*at].rank);
    match least {
        Some(at) if columns[at].rank > 0 => {
            columns.remove(at);
            true
        }
        _ => false,
    }
}

fn line(columns: &[Column], cells: &[String]) -> String {
    let mut out = " ".repeat(INDENT);
    for (at, (column, cell)) in columns.iter().zip(cells).enumerate() {
        let padding = " ".repeat(width_of(column).saturating_sub(cell.width()));
        match at {
            0 => out += &format!("{cell}{padding}"),
            _ => out += &format!("{}{padding}{cell}", " ".repeat(GAP)),
        }
    }
    format!("{}\n", out.trim_end())
}

fn shortened(name: &str, most: usize) -> String {
    if name.width() <= most {
        return name.to_owned();
    }
    let kept = most.saturating_sub(3);
    let (front, back) = (kept - kept / 3, kept / 3);
    let letters: Vec<char> = name.chars().collect();
    let tail: String = letters[letters.len() - back.min(letters.len())..].iter().collect();
    let head: String = letters[..front.min(letters.len())].iter().collect();
    format!("{head}...{tail}")
}

/// Words wrapped at `width`, further lines indented; a word that is longer stays whole, and a figure stays with
/// its half-width.
pub(crate) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let kept = text.replace(" +- ", "\u{a0}+-\u{a0}").replace("+- ", "+-\u{a0}").replace(" %", "\u{a0}%");
    let mut lines = vec![String::new()];
    for word in kept.split([' ', '\n', '\t']).filter(|word| !word.is_empty()) {
        let line = lines.last_mut().map_or(0, |line| line.width());
        match lines.last_mut() {
            Some(last) if line == 0 || last == indent => last.push_str(word),
            Some(last) if line + 1 + word.width() <= width => *last += &format!(" {word}"),
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines.iter().map(|line| format!("{}\n", line.replace('\u{a0}', " "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_are_left_out_by_rank() {
        let mut table = Table::default();
        table.push("stack", 0, vec!["a".into(), "long name of a stack that goes on".into()]);
        table.push("IOPS", 0, vec!["1".into(), "2".into()]);
        table.push("minor", 2, vec!["x".repeat(10); 2]);
        table.push("major", 1, vec!["y".repeat(10); 2]);
        assert_eq!(table.text(80).lines().next().unwrap().split_whitespace().count(), 4);
        let narrow = table.text(40);
        assert!(!narrow.contains("minor") && narrow.contains("major") && narrow.contains("..."), "{narrow}");
        assert!(narrow.lines().all(|line| line.width() <= 40));
    }

    #[test]
    fn markdown_cells_cannot_break_the_table() {
        let mut table = Table::default();
        table.push("stack", 0, vec!["file | loop\n<b>".into()]);
        let text = table.markdown();
        assert!(text.ends_with("| file \\| loop \\<b\\> |\n"), "{text}");
    }

    #[test]
    fn wrapping() {
        assert_eq!(wrapped("one two three", 8, "  "), "one two\n  three\n");
        assert_eq!(wrapped("incredible", 4, "  "), "incredible\n");
        assert_eq!(wrapped("costs 5.1 % +- 0.3 % of it", 16, " "), "costs\n 5.1 % +- 0.3 %\n of it\n");
    }
}

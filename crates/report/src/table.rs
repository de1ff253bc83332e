//! Tables as text. In a terminal, columns that do not fit are left out by rank and listed; names of
//! rows are wrapped. Nothing is cut.

use iotax_units::harmless::escape_line;
use unicode_width::UnicodeWidthStr;

/// A column. If room is short, columns of the highest rank are left out first; those of rank 0
/// always stay.
#[derive(Clone, Debug)]
pub struct TextColumn {
    pub head: String,
    pub(super) rank: u8,
    pub cells: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct TextTable {
    name: &'static str,
    pub columns: Vec<TextColumn>,
}

/// A row of a table: a whole, or a direction below it.
pub(super) struct PartRow<'a, W, D> {
    pub(super) whole: &'a W,
    pub(super) direction: Option<&'a D>,
}

impl<'a, W, D> PartRow<'a, W, D> {
    pub(super) fn whole_and_directions(
        whole: &'a W,
        directions: &'a [D],
    ) -> impl Iterator<Item = PartRow<'a, W, D>> {
        let directions = directions.iter().map(Some);
        std::iter::once(None).chain(directions).map(move |direction| PartRow { whole, direction })
    }
}

const INDENT: usize = 2;
const GAP: usize = 2;
/// Parts of the width that the names of rows may take: a half, or a third if more important columns
/// have room then.
const NAME_PARTS: [usize; 2] = [2, 3];
/// Rank up to which a column is worth a name in several lines.
const IMPORTANT: u8 = 2;
const NARROWEST_NAME: usize = 12;

/// Columns that had no room, in the order of the tables.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    /// Heads of the columns left out, by the name of their table.
    heads: Vec<(String, Vec<String>)>,
    /// Width at which all tables have room for all their columns.
    needs: usize,
}

impl LeftOut {
    fn add(&mut self, table: &TextTable, shown: &[TextColumn]) {
        let lost = table.columns.iter().map(|column| &column.head);
        let lost: Vec<_> =
            lost.filter(|head| shown.iter().all(|column| column.head != **head)).collect();
        if !lost.is_empty() {
            self.needs = self.needs.max(table.needed_width());
        }
        for head in lost {
            let of = table.name_or_head();
            let at = self.heads.iter().position(|(name, _)| name == of).unwrap_or_else(|| {
                self.heads.push((of.to_owned(), Vec::new()));
                self.heads.len() - 1
            });
            if !head.is_empty() && !self.heads[at].1.contains(head) {
                self.heads[at].1.push(head.clone());
            }
        }
    }

    /// Returns a sentence with the columns left out; `None` if all had room.
    pub(super) fn to_sentence(&self, width: usize) -> Option<String> {
        let lists = self.heads.iter().filter(|(_, heads)| !heads.is_empty());
        let lists: Vec<String> =
            lists.map(|(table, heads)| format!("{} ({table})", heads.join(", "))).collect();
        let said = || {
            format!(
                "not shown at {width} columns: {}; shown at {} columns and in --format markdown",
                lists.join("; "),
                self.needs
            )
        };
        (!lists.is_empty()).then(said)
    }
}

impl TextTable {
    pub fn named_table(name: &'static str) -> TextTable {
        TextTable { name, columns: Vec::new() }
    }

    /// Returns the table's name, or if it has none, the head of its first column.
    fn name_or_head(&self) -> &str {
        let head = self.columns.first().map_or("", |column| column.head.as_str());
        if self.name.is_empty() { head } else { self.name }
    }

    /// Adds a column. If room is short, columns of the highest rank are left out first.
    pub fn push(&mut self, head: &str, rank: u8, cells: Vec<String>) {
        let cells = cells.iter().map(|cell| escape_line(cell)).collect();
        self.columns.push(TextColumn { head: escape_line(head), rank, cells });
    }

    /// Adds a column only if one of its cells has a figure.
    pub(super) fn push_known(&mut self, head: &str, rank: u8, cells: Vec<String>) {
        if cells.iter().any(|cell| !cell.is_empty() && cell != "-") {
            self.push(head, rank, cells);
        }
    }

    pub(super) fn of_rows(&self, kept: &[usize]) -> TextTable {
        let columns = self.columns.iter().map(|column| TextColumn {
            cells: kept.iter().filter_map(|at| column.cells.get(*at).cloned()).collect(),
            ..column.clone()
        });
        TextTable { columns: columns.collect(), ..*self }
    }

    pub(super) fn row_count(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    pub(super) fn is_blank(&self) -> bool {
        self.columns.iter().skip(1).flat_map(|column| &column.cells).all(|cell| cell == "-")
    }

    /// Returns the table as text, at most `width` columns wide. The first column is left-aligned,
    /// the others right. Columns left out are noted in `left_out`. If the columns that must stay
    /// are too wide together, the table is split into parts.
    pub fn to_text(&self, width: usize, left_out: &mut LeftOut) -> String {
        let shown = self.laid(width);
        left_out.add(self, &shown);
        if total_width(&shown) <= width {
            return columns_text(&shown);
        }
        let stays = |column: &&TextColumn| shown.iter().any(|kept| kept.head == column.head);
        TextTable { columns: self.columns.iter().filter(stays).cloned().collect(), ..*self }
            .in_parts(width)
    }

    /// Like [`TextTable::to_text`], but leaves out no column of this rank or a lower one. If these
    /// are too wide together, they are split into parts.
    pub(super) fn text_with(&self, rank: u8, width: usize, left_out: &mut LeftOut) -> String {
        let kept = self.columns.iter().filter(|column| column.rank <= rank).cloned().collect();
        let kept = TextTable { columns: kept, ..*self };
        if kept.laid(width).len() == kept.columns.len() {
            return self.to_text(width, left_out);
        }
        left_out.add(self, &kept.columns);
        kept.in_parts(width)
    }

    /// Returns true if all columns have room in `width`.
    pub(super) fn fits(&self, width: usize) -> bool {
        let laid = self.laid(width);
        laid.len() == self.columns.len() && total_width(&laid) <= width
    }

    /// Returns the least width at which no column is left out.
    fn needed_width(&self) -> usize {
        // Bisection, since others' names may be long.
        let (mut too_narrow, mut wide) = (0, total_width(&self.columns));
        while too_narrow < wide {
            let width = usize::midpoint(too_narrow, wide);
            match self.fits(width) {
                true => wide = width,
                false => too_narrow = width + 1,
            }
        }
        wide
    }

    /// Returns the columns that fit into `width`, with the names of rows wrapped.
    fn laid(&self, width: usize) -> Vec<TextColumn> {
        let mut best: Vec<TextColumn> = Vec::new();
        for part in NAME_PARTS {
            let mut shown = self.with_names((width / part).max(NARROWEST_NAME));
            while total_width(&shown) > width && drop_least(&mut shown) {}
            // A name is better left on one line than split for a figure that few look at.
            let important = |columns: &[TextColumn]| {
                columns.iter().filter(|column| column.rank <= IMPORTANT).count()
            };
            if best.is_empty() || important(&shown) > important(&best) {
                best = shown;
            }
        }
        best
    }

    /// Returns the columns with names of rows that are at most `most` wide.
    fn with_names(&self, most: usize) -> Vec<TextColumn> {
        let mut columns = self.columns.clone();
        for column in columns.iter_mut().take(1) {
            column.cells.iter_mut().for_each(|cell| *cell = fold_name(cell, most));
        }
        columns
    }

    /// Returns all columns, in as many tables as needed; each begins with the first column.
    pub(super) fn in_parts(&self, width: usize) -> String {
        let columns = self.with_names((width / NAME_PARTS[0]).max(NARROWEST_NAME));
        let Some((first, others)) = columns.split_first() else { return String::new() };
        let mut parts: Vec<Vec<TextColumn>> = Vec::new();
        for column in others {
            let fits =
                |part: &&mut Vec<TextColumn>| total_width(part) + GAP + width_of(column) <= width;
            match parts.last_mut().filter(fits) {
                Some(part) => part.push(column.clone()),
                None => parts.push(vec![first.clone(), column.clone()]),
            }
        }
        parts.iter().map(|part| columns_text(part)).collect::<Vec<_>>().join("\n")
    }

    pub fn markdown(&self) -> String {
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rows = self.row_count();
        let mut out =
            row(self.columns.iter().map(|column| escape_markdown(&column.head)).collect());
        out += &row(self
            .columns
            .iter()
            .enumerate()
            .map(|(at, _)| if at == 0 { "---" } else { "---:" }.to_owned())
            .collect());
        for at in 0..rows {
            out += &row(self
                .columns
                .iter()
                .map(|column| escape_markdown(&column.cells[at]))
                .collect());
        }
        out
    }
}

/// Escapes a cell or a sentence that Markdown must not read as markup or HTML.
pub fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = 'x';
    for c in escape_line(text).chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '\\' | '#' => out.extend(['\\', c]),
            // After a blank, as in our mark of emulated figures, it ends no strike-through.
            '~' if !before.is_whitespace() => out += "\\~",
            '&' => out += "&amp;",
            c => out.push(c),
        }
        before = c;
    }
    out
}

fn total_width(columns: &[TextColumn]) -> usize {
    INDENT + columns.iter().map(width_of).sum::<usize>() + GAP * columns.len().saturating_sub(1)
}

fn width_of(column: &TextColumn) -> usize {
    let lines = column.cells.iter().flat_map(|cell| cell.split('\n'));
    lines.map(UnicodeWidthStr::width).chain([column.head.width()]).max().unwrap_or(0)
}

/// Leaves out the column of the highest rank, the last if there are several; returns false if all
/// remaining columns must stay.
fn drop_least(columns: &mut Vec<TextColumn>) -> bool {
    let least = (0..columns.len()).max_by_key(|at| columns[*at].rank);
    match least {
        Some(at) if columns[at].rank > 0 => {
            columns.remove(at);
            true
        }
        _ => false,
    }
}

fn columns_text(columns: &[TextColumn]) -> String {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let heads = columns.iter().map(|column| column.head.as_str()).collect::<Vec<_>>();
    let row =
        |at: usize| columns.iter().map(|column| column.cells[at].as_str()).collect::<Vec<_>>();
    std::iter::once(heads)
        .chain((0..rows).map(row))
        .map(|cells| row_text(columns, &cells))
        .collect()
}

/// Returns one row as text. The figures go next to the first line of a name.
fn row_text(columns: &[TextColumn], cells: &[&str]) -> String {
    let (name, more) = match cells.first().and_then(|name| name.split_once('\n')) {
        Some((name, more)) => (name, Some(more)),
        None => (cells.first().copied().unwrap_or_default(), None),
    };
    let mut out = " ".repeat(INDENT);
    for (at, (column, cell)) in columns.iter().zip(cells).enumerate() {
        let cell = if at == 0 { name } else { cell };
        let padding = " ".repeat(width_of(column).saturating_sub(cell.width()));
        match at {
            0 => out += &format!("{cell}{padding}"),
            _ => out += &format!("{}{padding}{cell}", " ".repeat(GAP)),
        }
    }
    let more = more.into_iter().flat_map(|more| more.split('\n'));
    let more: String = more.map(|line| format!("{}{line}\n", " ".repeat(INDENT))).collect();
    format!("{}\n{more}", out.trim_end())
}

/// Wraps a name into lines of at most `most`, after spaces and commas, else anywhere. A mark stays
/// with its name, and a state is not split.
fn fold_name(name: &str, most: usize) -> String {
    if name.width() <= most {
        return name.to_owned();
    }
    let indent = " ".repeat(INDENT + name.len() - name.trim_start().len());
    let mut lines = vec![indent[INDENT..].to_owned()];
    let kept = name
        .trim_start()
        .replace(" *", "\u{a0}*")
        .replace(" ~", "\u{a0}~")
        .replace("not kept up", "not\u{a0}kept\u{a0}up")
        .replace("healthy again", "healthy\u{a0}again");
    for piece in
        kept.split_inclusive([' ', ',']).flat_map(|piece| split_at_most(piece, most - indent.len()))
    {
        let fits = |line: &String| line.width() + piece.trim_end().width() <= most;
        match lines.last_mut().filter(|line| fits(line)) {
            Some(line) => *line += &piece,
            None => lines.push(format!("{indent}{piece}")),
        }
    }
    lines.iter().map(|line| line.trim_end().replace('\u{a0}', " ")).collect::<Vec<_>>().join("\n")
}

/// Splits a word into pieces of at most `most` characters.
fn split_at_most(word: &str, most: usize) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters.chunks(most.max(1)).map(|piece| piece.iter().collect()).collect()
}

/// Wraps words at `width`, with further lines indented. A longer word stays whole, and a figure
/// stays with its half-width.
pub fn wrap_words(text: &str, width: usize, indent: &str) -> String {
    let kept = escape_line(text)
        .replace(" +- ", "\u{a0}+-\u{a0}")
        .replace("+- ", "+-\u{a0}")
        .replace(" \u{b1} ", "\u{a0}\u{b1}\u{a0}")
        .replace("\u{b1} ", "\u{b1}\u{a0}")
        .replace(" %", "\u{a0}%");
    let mut lines = vec![String::new()];
    for word in kept.split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last_mut().map_or(0, |line| line.width());
        match lines.last_mut() {
            Some(last) if line == 0 || last == indent => last.push_str(word),
            Some(last) if line + 1 + word.width() <= width => *last += &format!(" {word}"),
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines.iter().map(|line| format!("{}\n", line.replace('\u{a0}', " "))).collect()
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_are_left_out_by_rank_and_told() {
        let mut table = TextTable::default();
        table.push("stack", 0, vec!["a".into(), "long name of a stack that goes on ~".into()]);
        table.push("IOPS", 0, vec!["1".into(), "2".into()]);
        table.push("minor", 2, vec!["x".repeat(10); 2]);
        table.push("major", 1, vec!["y".repeat(10); 2]);
        table.push("other", 1, vec!["z".repeat(10); 2]);
        let mut left_out = LeftOut::default();
        assert_eq!(
            table.to_text(80, &mut left_out).lines().next().unwrap().split_whitespace().count(),
            5
        );
        assert_eq!(left_out.to_sentence(80), None);
        let narrow = table.to_text(40, &mut left_out);
        assert_eq!(
            narrow,
            "  stack                 IOPS       major\n  a                        1  yyyyyyyyyy\n  long name of a stack     2  yyyyyyyyyy\n    that goes on ~\n"
        );
        let said = left_out.to_sentence(40).unwrap();
        assert!(
            said.starts_with("not shown at 40 columns: minor, other (stack); shown at "),
            "{said}"
        );
    }

    #[test]
    fn columns_that_must_stay_stand_in_parts_where_they_are_too_wide() {
        let mut table = TextTable::default();
        table.push("stack", 0, vec!["file *".into(), "loop".into()]);
        for head in ["mean of reads", "p99 of reads", "mean of writes", "p99 of writes"] {
            table.push(head, 0, vec!["38.5 (37.2 to 43.0) us".into(); 2]);
        }
        table.push("p99.9 of writes", 1, vec!["71.9 (62.4 to 75.6) us".into(); 2]);
        let mut left_out = LeftOut::default();
        let text = table.to_text(80, &mut left_out);
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        assert!(
            ["mean of reads", "p99 of reads", "mean of writes"]
                .iter()
                .all(|head| text.contains(head))
        );
        assert!(
            left_out.to_sentence(80).unwrap().contains("p99.9 of writes (stack);"),
            "{:?}",
            left_out.to_sentence(80)
        );
        assert_eq!(
            table.to_text(200, &mut left_out).lines().count(),
            3,
            "in one where there is room"
        );
    }

    #[test]
    fn names_are_folded_and_never_cut() {
        assert_eq!(
            fold_name("vm cache=writeback,num-queues=1 * ~ (not kept up)", 26),
            "vm cache=writeback,\n  num-queues=1 * ~\n  (not kept up)"
        );
        assert_eq!(fold_name("  of the baseline", 12), "  of the\n    baseline");
        assert_eq!(fold_name("incredible *", 8), "incred\n  ible *");
        assert_eq!(
            fold_name("mdraid(level=5) healthy again ~", 25),
            "mdraid(level=5)\n  healthy again ~"
        );
        for most in 12..50 {
            let name =
                "4 drives | mdraid(level=5,chunk=64KiB) | split(8) | vhost-scsi | vm(vcpus=6) x8 ~";
            let lines = fold_name(name, most);
            assert!(lines.lines().all(|line| line.width() <= most), "{lines}");
            let letters = |text: &str| text.replace(char::is_whitespace, "");
            assert_eq!(letters(&lines), letters(name));
        }
    }

    #[test]
    fn markdown_cells_cannot_break_the_table() {
        let mut table = TextTable::default();
        table.push("stack", 0, vec!["file | loop\n<b>".into()]);
        let text = table.markdown();
        assert!(text.ends_with("| file \\| loop \\<b\\> |\n"), "{text}");
        assert_eq!(escape_markdown("vm ~: a~~b~ &lt;"), "vm ~: a\\~\\~b\\~ &amp;lt;");
    }

    #[test]
    fn wrapping() {
        assert_eq!(wrap_words("one two three", 8, "  "), "one two\n  three\n");
        assert_eq!(wrap_words("incredible", 4, "  "), "incredible\n");
        assert_eq!(
            wrap_words("costs 5.1 % +- 0.3 % of it", 16, " "),
            "costs\n 5.1 % +- 0.3 %\n of it\n"
        );
    }
}

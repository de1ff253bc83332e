//! From tokens to lines.

use super::{Rows, span, tokens};
use crate::page::Unread;
use html5gum::{StartTag, Token};
use std::ops::Range;
use std::rc::Rc;

/// A line and the number that it has in the source.
type Numbered = (u32, String);

/// Elements whose content nobody sees.
const DROPPED: &str = "script style title template noscript svg math select iframe";
/// Elements that begin and end a paragraph.
const PARAGRAPHS: &str = "p div section article main aside header footer blockquote ul ol dl figure figcaption hr form fieldset details summary address body";
/// Elements that begin and end a line.
const LINES: &str = "li dt dd option tr legend caption";

fn is_of(list: &str, name: &[u8]) -> bool {
    list.split(' ').any(|one| one.as_bytes() == name)
}

/// Tables within tables within tables: deeper ones are no tables.
const DEEPEST: usize = 8;
/// A cell with more lines or bytes is a part of a page's layout.
const CELL_LINES: usize = 6;
const CELL_BYTES: usize = 400;

/// The lines that a page shows, and what of it is lost.
pub(super) fn lines(text: &str) -> (Vec<Numbered>, Option<Unread>) {
    let mut renderer = Renderer { source: text.as_bytes(), line: 1, ..Renderer::default() };
    for token in tokens(text) {
        match token {
            Token::StartTag(tag) => {
                renderer.go_to(tag.span.start);
                renderer.element(&tag.name, Some(&tag));
            }
            Token::EndTag(tag) => {
                renderer.go_to(tag.span.start);
                renderer.element(&tag.name, None);
            }
            Token::String(string) => {
                renderer.go_to(string.span.start);
                renderer.text(&String::from_utf8_lossy(&string.value), string.span.end);
            }
            _ => {}
        }
    }
    renderer.finish()
}

#[derive(Default)]
struct Renderer<'t> {
    source: &'t [u8],
    /// Byte and number of the line that was reached.
    at: usize,
    line: u32,
    shown: Vec<Numbered>,
    current: String,
    current_line: u32,
    /// `- ` or `## ` before the next text.
    mark: &'static str,
    /// Depth of `<pre>`.
    listing: usize,
    /// Whether a listing's first line end is still to be dropped.
    fresh: bool,
    /// The element that is dropped, how deep it is within itself, and its line.
    dropped: Option<(Vec<u8>, usize, u32)>,
    tables: Vec<Table>,
}

/// A table that is not closed yet. The lines of its cells are shown at once, and taken back where it is no layout.
struct Table {
    rows: Rows<Rc<str>>,
    /// The open cell: the first line that it shows, its columns and rows.
    cell: Option<(usize, usize, usize)>,
    /// The lines that each cell shows.
    cells: Vec<Range<usize>>,
    /// Whether it lays out a page: listings, headings or tables stand in it.
    layout: bool,
}

impl Renderer<'_> {
    fn go_to(&mut self, byte: usize) {
        let to = byte.clamp(self.at, self.source.len());
        self.line = self.line_at(to);
        self.at = to;
    }

    /// The number of the line that a byte behind the one that was reached is in.
    fn line_at(&self, byte: usize) -> u32 {
        let source = self.source.get(self.at..byte).unwrap_or_default();
        let ends = memchr::memchr_iter(b'\n', source).count();
        self.line.saturating_add(u32::try_from(ends).unwrap_or(u32::MAX))
    }

    /// An element begins (`tag`), or ends.
    fn element(&mut self, name: &[u8], tag: Option<&StartTag<usize>>) {
        let begins = tag.is_some();
        let whole = tag.is_some_and(|tag| tag.self_closing);
        if let Some((dropped, depth, _)) = &mut self.dropped {
            match dropped == name {
                true if begins => *depth += usize::from(!whole),
                true => *depth -= 1,
                false => {}
            }
            if *depth == 0 {
                self.dropped = None;
            }
            return;
        }
        let in_table = !self.tables.is_empty();
        match name {
            _ if begins && !whole && is_of(DROPPED, name) => {
                self.dropped = Some((name.to_vec(), 1, self.line))
            }
            b"br" if begins => self.break_line(),
            b"pre" if begins => {
                self.layout();
                self.paragraph();
                self.shows((self.line, "```".to_string()));
                self.listing += 1;
                self.fresh = true;
            }
            b"pre" if self.listing > 0 => {
                self.break_line();
                self.listing -= 1;
                self.shows((self.line, "```".to_string()));
            }
            [b'h', level @ b'1'..=b'6'] => {
                if begins {
                    self.layout();
                }
                self.paragraph();
                self.mark = if begins { &"###### "[usize::from(b'6' - level)..] } else { "" };
            }
            b"li" => {
                self.break_line();
                self.mark = if begins { "- " } else { "" };
            }
            // `10<sup>6</sup>` is no 106.
            b"sup" | b"sub" if begins && !self.current.is_empty() => self.current.push('^'),
            b"table" if begins => self.table_starts(),
            b"table" => self.table_ends(),
            b"td" | b"th" if in_table => match tag {
                Some(tag) => self.cell_starts(tag),
                None => self.cell_ends(),
            },
            b"tr" if in_table => self.row_ends(),
            _ if is_of(PARAGRAPHS, name) => self.paragraph(),
            _ if is_of(LINES, name) => self.break_line(),
            _ => self.in_table(|table| table.rows.section(name, begins)),
        }
    }

    fn text(&mut self, text: &str, end: usize) {
        if self.dropped.is_some() {
            return;
        }
        // An end of a line that is written `&#10;` begins no line of the source.
        let last = self.line_at(end);
        if self.listing > 0 {
            return self.listed(text, last);
        }
        let mut line = self.line;
        for letter in text.chars() {
            if matches!(letter, '\n' | '\t' | ' ' | '\r' | '\u{c}') {
                line = (line + u32::from(letter == '\n')).min(last);
                if !self.current.is_empty() && !self.current.ends_with(' ') {
                    self.current.push(' ');
                }
            } else {
                if self.current.is_empty() {
                    self.current_line = line;
                    self.current.push_str(std::mem::take(&mut self.mark));
                }
                self.current.push(letter);
            }
        }
    }

    /// Text of a listing: each line stays one, empty ones too.
    fn listed(&mut self, text: &str, last: u32) {
        let own = if std::mem::take(&mut self.fresh) { text.strip_prefix('\n') } else { None };
        let mut line = (self.line + u32::from(own.is_some())).min(last);
        for (at, part) in own.unwrap_or(text).split('\n').enumerate() {
            if at > 0 {
                let whole = std::mem::take(&mut self.current);
                let number = if whole.is_empty() { line } else { self.current_line };
                self.shows((number, whole.trim_end().to_string()));
                line = (line + 1).min(last);
            }
            if self.current.is_empty() {
                self.current_line = line;
            }
            self.current.push_str(part);
        }
    }

    fn break_line(&mut self) {
        let line = std::mem::take(&mut self.current);
        let line = line.trim_end();
        if !line.is_empty() {
            self.shows((self.current_line, line.to_string()));
        }
    }

    /// Ends the line and leaves one empty.
    fn paragraph(&mut self) {
        self.break_line();
        let blank = self.shown.last().is_none_or(|(_, line)| line.is_empty());
        if self.listing == 0 && !blank {
            self.shows((self.line, String::new()));
        }
    }

    fn shows(&mut self, line: Numbered) {
        self.shown.push(line);
    }

    fn in_table(&mut self, change: impl FnOnce(&mut Table)) {
        if let Some(table) = self.tables.last_mut() {
            change(table);
        }
    }

    /// What stands here makes the table around it a layout.
    fn layout(&mut self) {
        self.in_table(|table| table.layout |= table.cell.is_some());
    }

    fn table_starts(&mut self) {
        self.paragraph();
        self.layout();
        if self.tables.len() < DEEPEST {
            let rows = Rows::new(self.line as usize);
            self.tables.push(Table { rows, cell: None, cells: Vec::new(), layout: false });
        }
    }

    fn cell_starts(&mut self, tag: &StartTag<usize>) {
        self.cell_ends();
        self.break_line();
        let cell = (self.shown.len(), span(tag, b"colspan"), span(tag, b"rowspan"));
        self.in_table(|table| {
            table.rows.cell_begins(&tag.name);
            table.cell = Some(cell);
        });
    }

    fn cell_ends(&mut self) {
        let Some((from, columns, rows)) = self.tables.last_mut().and_then(|table| table.cell.take()) else {
            return;
        };
        self.break_line();
        let lines = self.shown[from..].iter().map(|(_, line)| line.trim());
        let parts: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let long =
            parts.len() > CELL_LINES || parts.iter().map(|part| part.len()).sum::<usize>() > CELL_BYTES;
        let text = parts.join(" ").replace('|', "\\|");
        self.paragraph();
        let lines = from..self.shown.len();
        self.in_table(|table| {
            table.layout |= long;
            table.rows.cell(if table.layout { "".into() } else { text.into() }, columns, rows);
            table.cells.push(lines);
        });
    }

    fn row_ends(&mut self) {
        self.cell_ends();
        self.break_line();
        let line = self.line as usize;
        self.in_table(|table| table.rows.row_ends(line));
    }

    fn table_ends(&mut self) {
        if self.tables.is_empty() {
            return;
        }
        self.row_ends();
        let Some(table) = self.tables.pop() else { return };
        let heads = table.rows.heads();
        let rows = table.rows.rows;
        let wide = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
        if table.layout || wide < 2 {
            return;
        }
        for lines in table.cells.into_iter().rev() {
            self.shown.drain(lines);
        }
        self.paragraph();
        // A few rows much wider than all others fill nobody's memory.
        let cells: usize = rows.iter().map(|row| row.cells.len()).sum();
        let padded = if rows.len() * wide < 8 * cells + 10_000 { wide } else { 0 };
        for (at, mut row) in rows.into_iter().enumerate() {
            row.cells.resize(row.cells.len().max(padded), "".into());
            let number = u32::try_from(row.line).unwrap_or(u32::MAX);
            self.shows((number, format!("| {} |", row.cells.join(" | "))));
            if at + 1 == heads {
                self.shows((number, format!("|{}", "---|".repeat(wide))));
            }
        }
        self.paragraph();
    }

    fn finish(mut self) -> (Vec<Numbered>, Option<Unread>) {
        // What is dropped ends nothing else: it ends first.
        let dropped = self.dropped.take();
        while !self.tables.is_empty() {
            self.table_ends();
        }
        self.break_line();
        while self.listing > 0 {
            self.element(b"pre", None);
        }
        let unclosed = dropped.map(|(name, _, line)| {
            let name = String::from_utf8_lossy(&name);
            let why = format!("HTML: <{name}> is never closed, what is behind it is not shown");
            Unread { line, last: self.line, why }
        });
        (self.shown, unclosed)
    }
}

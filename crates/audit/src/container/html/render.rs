//! From tokens to lines.

use super::Spans;
use crate::page::Unread;
use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

/// A line and the number that it has in the source.
type Numbered = (u32, String);

/// Elements whose content nobody sees.
const DROPPED: &[&[u8]] =
    &[b"script", b"style", b"title", b"template", b"noscript", b"svg", b"math", b"select", b"iframe"];

/// Elements that begin and end a paragraph.
const PARAGRAPHS: &[&[u8]] = &[
    b"p",
    b"div",
    b"section",
    b"article",
    b"main",
    b"aside",
    b"header",
    b"footer",
    b"blockquote",
    b"ul",
    b"ol",
    b"dl",
    b"figure",
    b"figcaption",
    b"hr",
    b"form",
    b"fieldset",
    b"details",
    b"summary",
    b"address",
    b"body",
];

/// Elements that begin and end a line.
const LINES: &[&[u8]] = &[b"li", b"dt", b"dd", b"option", b"tr", b"legend", b"caption"];

/// Tables within tables within tables: deeper ones are no tables.
const DEEPEST: usize = 8;
/// A cell with more lines or bytes is a part of a page's layout.
const CELL_LINES: usize = 6;
const CELL_BYTES: usize = 400;

/// The lines that a page shows, and what of it is lost.
pub(super) fn lines(text: &str) -> (Vec<Numbered>, Option<Unread>) {
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let mut renderer = Renderer::new(text);
    for Ok(token) in Tokenizer::new_with_emitter(text, emitter) {
        match token {
            Token::StartTag(tag) => {
                renderer.go_to(tag.span.start);
                renderer.starts(&tag);
            }
            Token::EndTag(tag) => {
                renderer.go_to(tag.span.start);
                renderer.ends(&tag.name);
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
    /// The element that is dropped, and how deep it is within itself.
    dropped: Option<(Vec<u8>, usize)>,
    dropped_at: u32,
    tables: Vec<Table>,
}

/// A table that is not closed yet.
#[derive(Default)]
struct Table {
    /// What is shown before it: its caption, text that is in no cell.
    before: Vec<Numbered>,
    spans: Spans<Text>,
    rows: Vec<Row>,
    /// The open cell.
    cell: Option<Cell>,
    /// Number of the source line of the open row.
    line: u32,
    /// Cells as they come, for what turns out to be a layout.
    cells: Vec<Vec<Numbered>>,
    in_head: bool,
    all_heads: bool,
    /// Whether it lays out a page: listings, headings or tables stand in it.
    layout: bool,
}

#[derive(Default)]
struct Cell {
    lines: Vec<Numbered>,
    columns: usize,
    rows: usize,
}

#[derive(Clone, Default)]
struct Text(std::rc::Rc<str>);

struct Row {
    line: u32,
    head: bool,
    cells: Vec<Text>,
}

impl<'t> Renderer<'t> {
    fn new(text: &'t str) -> Renderer<'t> {
        Renderer {
            source: text.as_bytes(),
            at: 0,
            line: 1,
            shown: Vec::new(),
            current: String::new(),
            current_line: 1,
            mark: "",
            listing: 0,
            fresh: false,
            dropped: None,
            dropped_at: 1,
            tables: Vec::new(),
        }
    }

    fn go_to(&mut self, byte: usize) {
        let to = byte.clamp(self.at, self.source.len());
        let ends = memchr::memchr_iter(b'\n', &self.source[self.at..to]).count();
        self.line = self.line.saturating_add(u32::try_from(ends).unwrap_or(u32::MAX));
        self.at = to;
    }

    fn starts(&mut self, tag: &StartTag<usize>) {
        let name = tag.name.as_slice();
        if let Some((dropped, depth)) = &mut self.dropped {
            *depth += usize::from(dropped == name && !tag.self_closing);
            return;
        }
        if DROPPED.contains(&name) && !tag.self_closing {
            self.dropped = Some((name.to_vec(), 1));
            self.dropped_at = self.line;
            return;
        }
        match name {
            b"br" => self.break_line(),
            b"pre" => {
                self.layout();
                self.paragraph();
                self.shows((self.line, "```".to_string()));
                self.listing += 1;
                self.fresh = true;
            }
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.layout();
                self.paragraph();
                self.mark = ["# ", "## ", "### ", "#### ", "##### ", "###### "][usize::from(name[1] - b'1')];
            }
            b"li" => {
                self.break_line();
                self.mark = "- ";
            }
            // `10<sup>6</sup>` is no 106.
            b"sup" | b"sub" if !self.current.is_empty() => self.current.push('^'),
            b"table" => self.table_starts(),
            b"thead" => self.in_table(|table| table.in_head = true),
            b"tbody" | b"tfoot" => self.in_table(|table| table.in_head = false),
            b"tr" if !self.tables.is_empty() => self.row_ends(),
            b"td" | b"th" if !self.tables.is_empty() => self.cell_starts(tag),
            _ if PARAGRAPHS.contains(&name) => self.paragraph(),
            _ if LINES.contains(&name) => self.break_line(),
            _ => {}
        }
    }

    fn ends(&mut self, name: &[u8]) {
        if let Some((dropped, depth)) = &mut self.dropped {
            if dropped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.dropped = None;
                }
            }
            return;
        }
        match name {
            b"pre" if self.listing > 0 => {
                self.break_line();
                self.listing -= 1;
                self.shows((self.line, "```".to_string()));
            }
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.paragraph();
                self.mark = "";
            }
            b"li" => {
                self.break_line();
                self.mark = "";
            }
            b"table" => self.table_ends(),
            b"thead" => self.in_table(|table| table.in_head = false),
            b"tr" if !self.tables.is_empty() => self.row_ends(),
            b"td" | b"th" if !self.tables.is_empty() => self.cell_ends(),
            _ if PARAGRAPHS.contains(&name) => self.paragraph(),
            _ if LINES.contains(&name) => self.break_line(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, end: usize) {
        if self.dropped.is_some() {
            return;
        }
        // An end of a line that is written `&#10;` begins no line of the source.
        let source = self.source.get(self.at..end).unwrap_or_default();
        let ends = u32::try_from(memchr::memchr_iter(b'\n', source).count()).unwrap_or(u32::MAX);
        let last = self.line.saturating_add(ends);
        if self.listing > 0 {
            return self.listed(text, last);
        }
        let mut line = self.line;
        for letter in text.chars() {
            match letter {
                '\n' | '\t' | ' ' | '\r' | '\u{c}' => {
                    line = (line + u32::from(letter == '\n')).min(last);
                    if !self.current.is_empty() && !self.current.ends_with(' ') {
                        self.current.push(' ');
                    }
                }
                _ => {
                    if self.current.is_empty() {
                        self.current_line = line;
                        self.current.push_str(std::mem::take(&mut self.mark));
                    }
                    self.current.push(letter);
                }
            }
        }
    }

    /// Text of a listing: each line stays one, empty ones too.
    fn listed(&mut self, text: &str, last: u32) {
        let text = match std::mem::take(&mut self.fresh) {
            true => text.strip_prefix('\n').map_or((text, 0), |rest| (rest, 1)),
            false => (text, 0),
        };
        let (text, mut line) = (text.0, (self.line + text.1).min(last));
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                let whole = std::mem::take(&mut self.current);
                let number = if whole.is_empty() { line } else { self.current_line };
                self.shows((number, whole.trim_end().to_string()));
                line = (line + 1).min(last);
            }
            if !part.is_empty() {
                if self.current.is_empty() {
                    self.current_line = line;
                }
                self.current.push_str(part);
            }
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
        let line = self.line;
        let sink = self.sink();
        if self.listing == 0 && sink_needs_blank(&self.shown, sink) {
            self.shows((line, String::new()));
        }
    }

    fn sink(&self) -> Option<&Vec<Numbered>> {
        let table = self.tables.last()?;
        Some(table.cell.as_ref().map_or(&table.before, |cell| &cell.lines))
    }

    fn shows(&mut self, line: Numbered) {
        let sink = match self.tables.last_mut() {
            Some(table) => table.cell.as_mut().map_or(&mut table.before, |cell| &mut cell.lines),
            None => &mut self.shown,
        };
        sink.push(line);
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
            self.tables.push(Table { line: self.line, all_heads: true, ..Table::default() });
        }
    }

    fn cell_starts(&mut self, tag: &StartTag<usize>) {
        self.cell_ends();
        self.break_line();
        let head = tag.name.as_slice() == b"th";
        let span = |name: &[u8]| Spans::<Text>::count(tag.attributes.get(name).map(|value| &**value.value));
        let (columns, rows) = (span(b"colspan"), span(b"rowspan"));
        self.in_table(|table| {
            table.all_heads &= head;
            table.cell = Some(Cell { lines: Vec::new(), columns, rows });
        });
    }

    fn cell_ends(&mut self) {
        if self.tables.last().is_some_and(|table| table.cell.is_some()) {
            self.break_line();
        }
        self.in_table(|table| {
            let Some(cell) = table.cell.take() else { return };
            let parts: Vec<&str> =
                cell.lines.iter().map(|(_, line)| line.trim()).filter(|line| !line.is_empty()).collect();
            let bytes: usize = parts.iter().map(|part| part.len()).sum();
            table.layout |= parts.len() > CELL_LINES || bytes > CELL_BYTES;
            let text = if table.layout { String::new() } else { parts.join(" ").replace('|', "\\|") };
            table.spans.cell(Text(text.into()), cell.columns, cell.rows);
            table.cells.push(cell.lines);
        });
    }

    fn row_ends(&mut self) {
        self.cell_ends();
        self.break_line();
        let line = self.line;
        self.in_table(|table| {
            let cells = table.spans.end_row();
            if !cells.is_empty() {
                table.rows.push(Row { line: table.line, head: table.in_head || table.all_heads, cells });
            }
            table.all_heads = true;
            table.line = line;
        });
    }

    fn table_ends(&mut self) {
        if self.tables.is_empty() {
            return;
        }
        self.row_ends();
        let Some(mut table) = self.tables.pop() else { return };
        for line in std::mem::take(&mut table.before) {
            self.shows(line);
        }
        let wide = table.rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
        if table.layout || wide < 2 {
            for lines in table.cells {
                lines.into_iter().for_each(|line| self.shows(line));
                self.paragraph();
            }
            return;
        }
        self.paragraph();
        let heads = table.rows.iter().take_while(|row| row.head).count();
        // A few rows much wider than all others fill nobody's memory.
        let cells: usize = table.rows.iter().map(|row| row.cells.len()).sum();
        let padded = table.rows.len() * wide < 8 * cells + 10_000;
        for (at, row) in table.rows.into_iter().enumerate() {
            let mut line = String::from("|");
            for column in 0..if padded { wide } else { row.cells.len() } {
                line.push(' ');
                line.push_str(row.cells.get(column).map_or("", |text| &text.0));
                line.push_str(" |");
            }
            self.shows((row.line, line));
            if at + 1 == heads {
                self.shows((row.line, format!("|{}", "---|".repeat(wide))));
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
            self.ends(b"pre");
        }
        let unclosed = dropped.map(|(name, _)| Unread {
            line: self.dropped_at,
            last: self.line,
            why: format!(
                "HTML: <{}> is never closed, what is behind it is not shown",
                String::from_utf8_lossy(&name)
            ),
        });
        (self.shown, unclosed)
    }
}

/// Whether the last line that was shown is one with something in it.
fn sink_needs_blank(shown: &[Numbered], sink: Option<&Vec<Numbered>>) -> bool {
    let last = sink.map_or(shown.last(), |sink| sink.last());
    last.is_some_and(|(_, line)| !line.is_empty())
}

//! Turns HTML tokens into lines.

use super::rows::HtmlRows;
use super::{PlacedNode, placed};
use crate::page::UnreadRange;
use html5gum::Token;
use std::rc::Rc;

type NumberedLine = (u32, String);

/// Elements whose content is not shown or is not text.
const DROPPED: &str = "script style title template noscript svg math select iframe";
/// Elements that begin and end a paragraph, including cells of tables that lay out a page.
const PARAGRAPHS: &str = "p div section article main aside header footer blockquote ul ol dl figure figcaption hr form fieldset details summary address body table tr td th";
/// Elements that begin and end a line.
const LINES: &str = "dt dd option legend caption";

fn is_of(list: &str, name: &[u8]) -> bool {
    list.split(' ').any(|one| one.as_bytes() == name)
}

/// Largest number of lines in a cell of a table. A larger cell shows that the table lays out the
/// page.
const CELL_LINES: usize = 6;
/// Largest number of bytes in such a cell.
const CELL_BYTES: usize = 400;

/// Returns the lines that a page shows, and the lines lost after an element that is never closed.
pub(super) fn rendered_lines(text: &str) -> (Vec<NumberedLine>, Option<UnreadRange>) {
    let all = placed(text);
    let mut renderer = HtmlRenderer::default();
    renderer.render(&all);
    (renderer.shown, renderer.lost)
}

/// Returns the number of tokens before the end tag of a table, or of all if it has none. `None` for
/// a table that lays out the page: it contains another table, or a listing or heading after the
/// start of its first cell.
fn table_token_count(tokens: &[PlacedNode]) -> Option<usize> {
    let mut in_cell = false;
    for (at, placed) in tokens.iter().enumerate() {
        match (&placed.token, placed.name()) {
            (Token::EndTag(_), b"table") => return Some(at),
            (Token::StartTag(_), b"table") => return None,
            (Token::StartTag(_), b"pre" | [b'h', b'1'..=b'6']) if in_cell => return None,
            (_, name) => in_cell |= matches!(name, b"td" | b"th"),
        }
    }
    Some(tokens.len())
}

#[derive(Default)]
struct HtmlRenderer {
    /// First line of the current token in the source; `last` is its last line.
    line: u32,
    last: u32,
    shown: Vec<NumberedLine>,
    current: String,
    current_line: u32,
    /// Mark to put before the next text: `- ` or `## `.
    mark: &'static str,
    listing: usize,
    /// True if a listing's first line end is still to be dropped.
    fresh: bool,
    /// Element that is being dropped, its nesting depth within itself, and its line.
    dropped: Option<(Vec<u8>, usize, u32)>,
    lost: Option<UnreadRange>,
}

impl HtmlRenderer {
    fn render(&mut self, tokens: &[PlacedNode]) {
        let mut at = 0;
        while let Some(one) = tokens.get(at) {
            at += 1;
            self.token(one);
            let begins = matches!(one.token, Token::StartTag(_)) && one.name() == b"table";
            let length = if begins && self.dropped.is_none() {
                table_token_count(&tokens[at..])
            } else {
                None
            };
            let shown = length
                .and_then(|length| self.render_table(&tokens[at..at + length]).map(|()| length));
            at += shown.unwrap_or(0);
        }
        // An element that is being dropped ends nothing else: it must end first.
        if let Some((name, _, line)) = self.dropped.take() {
            let name = String::from_utf8_lossy(&name);
            let why = format!("HTML: <{name}> is never closed, what follows it is not shown");
            self.lost = Some(UnreadRange { line, last: self.line, why });
        }
        self.break_line();
        while self.listing > 0 {
            self.element(b"pre", false);
        }
    }

    fn token(&mut self, placed: &PlacedNode) {
        (self.line, self.last) = (narrow(placed.line), narrow(placed.last));
        match (&placed.token, &mut self.dropped) {
            (Token::StartTag(tag), None) if !tag.self_closing && is_of(DROPPED, &tag.name) => {
                self.dropped = Some((tag.name.to_vec(), 1, self.line));
            }
            (Token::StartTag(_), None) => self.element(placed.name(), true),
            (Token::EndTag(_), None) => self.element(placed.name(), false),
            (Token::String(string), None) => self.add_text(&String::from_utf8_lossy(&string.value)),
            (Token::StartTag(tag), Some((name, depth, _))) if *name == *tag.name => {
                *depth += usize::from(!tag.self_closing)
            }
            (Token::EndTag(tag), Some((name, depth, _))) if *name == *tag.name => {
                *depth -= 1;
                self.dropped.take_if(|(_, depth, _)| *depth == 0);
            }
            _ => {}
        }
    }

    fn element(&mut self, name: &[u8], begins: bool) {
        match name {
            b"br" if begins => self.break_line(),
            b"pre" if begins => {
                self.paragraph();
                self.shown.push((self.line, "```".to_string()));
                self.listing += 1;
                self.fresh = true;
            }
            b"pre" if self.listing > 0 => {
                self.break_line();
                self.listing -= 1;
                self.shown.push((self.line, "```".to_string()));
            }
            [b'h', level @ b'1'..=b'6'] => {
                self.paragraph();
                self.mark = if begins { &"###### "[usize::from(b'6' - level)..] } else { "" };
            }
            b"li" => {
                self.break_line();
                self.mark = if begins { "- " } else { "" };
            }
            // `10<sup>6</sup>` is not 106.
            b"sup" | b"sub" if begins && !self.current.is_empty() => self.current.push('^'),
            _ if is_of(PARAGRAPHS, name) => self.paragraph(),
            _ if is_of(LINES, name) => self.break_line(),
            _ => {}
        }
    }

    /// Adds text. A line end written as `&#10;` does not begin a new line of the source.
    fn add_text(&mut self, text: &str) {
        if self.listing > 0 {
            return self.add_listing(text);
        }
        let mut line = self.line;
        for letter in text.chars() {
            if matches!(letter, '\n' | '\t' | ' ' | '\r' | '\u{c}') {
                line = (line + u32::from(letter == '\n')).min(self.last);
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

    /// Adds text of a listing. Keeps its line ends and indentation; drops spaces at line ends, and
    /// the newline after the opening tag.
    fn add_listing(&mut self, text: &str) {
        let own = if std::mem::take(&mut self.fresh) { text.strip_prefix('\n') } else { None };
        let mut line = (self.line + u32::from(own.is_some())).min(self.last);
        for (at, part) in own.unwrap_or(text).split('\n').enumerate() {
            if at > 0 {
                let whole = std::mem::take(&mut self.current);
                let number = if whole.is_empty() { line } else { self.current_line };
                self.shown.push((number, whole.trim_end().to_string()));
                line = (line + 1).min(self.last);
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
            self.shown.push((self.current_line, line.to_string()));
        }
    }

    /// Ends the line and, outside listings, adds an empty line unless nothing is shown yet or the
    /// last line is empty.
    fn paragraph(&mut self) {
        self.break_line();
        let blank = self.shown.last().is_none_or(|(_, line)| line.is_empty());
        if self.listing == 0 && !blank {
            self.shown.push((self.line, String::new()));
        }
    }

    /// Renders the content of a table. `None` if it has fewer than two columns, or if a large cell
    /// shows that it lays out the page.
    fn render_table(&mut self, tokens: &[PlacedNode]) -> Option<()> {
        let (mut layout, mut lost) = (false, None);
        let cell = |tokens: &[PlacedNode]| -> Rc<str> {
            let mut inner = HtmlRenderer::default();
            inner.render(tokens);
            let lines = inner.shown.iter().map(|(_, line)| line.trim());
            let parts: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
            layout |= parts.len() > CELL_LINES
                || parts.iter().map(|part| part.len()).sum::<usize>() > CELL_BYTES;
            lost = inner.lost.or(lost.take());
            parts.join(" ").replace('|', "\\|").into()
        };
        let (table, asides) = HtmlRows::read_rows(tokens, self.line as usize, cell);
        let (heads, rows) = (table.heads(), table.rows);
        let wide =
            rows.iter().map(|row| row.cells.len()).max().filter(|wide| *wide > 1 && !layout)?;
        self.lost = lost.or(self.lost.take());
        // Its caption.
        asides.into_iter().for_each(|aside| self.token(aside));
        self.line = tokens.last().map_or(self.line, |last| narrow(last.last));
        self.paragraph();
        // A few rows much wider than all others must not fill the memory.
        let cells: usize = rows.iter().map(|row| row.cells.len()).sum();
        let padded = if rows.len() * wide < 8 * cells + 10_000 { wide } else { 0 };
        for (at, mut row) in rows.into_iter().enumerate() {
            row.cells.resize(row.cells.len().max(padded), "".into());
            let number = narrow(row.line);
            self.shown.push((number, format!("| {} |", row.cells.join(" | "))));
            if at + 1 == heads {
                self.shown.push((number, format!("|{}", "---|".repeat(wide))));
            }
        }
        self.paragraph();
        Some(())
    }
}

fn narrow(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

//! Lines of a page as they are kept when the page is released (short ones whole, others cut around
//! the figure), and as they are shown: harmless, in the available columns. A short line is kept
//! once, however many findings quote it.

use iotax_audit::page::{AuditedPage, TextSpan};
use iotax_units::harmless::acts;
use serde::Serialize;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use unicode_width::UnicodeWidthChar;

/// Longest line that is kept in full, in bytes.
const WHOLE: usize = 600;
/// Bytes kept on either side of a spot in a longer line.
const AROUND: usize = 240;
/// Bytes between the positions of a long line for which counts of characters are cached.
const MARK: usize = 1 << 9;
/// Columns of a tab stop.
const TAB: usize = 4;
/// Columns kept free after the figure.
const MARGIN: usize = 8;

#[derive(Clone, Debug, PartialEq)]
pub struct Excerpt {
    /// The line, or part of it.
    pub text: String,
    /// True if the line continues before the excerpt, and after it.
    pub cut: (bool, bool),
}

/// Columns of a spot in characters, from 1; the end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Columns {
    pub column: usize,
    pub end_column: usize,
    /// Columns in units of UTF-16, as editors count them.
    #[serde(skip)]
    pub utf16: (usize, usize),
}

/// A spot with its quote, independent of its page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReleasedSpan {
    pub line: u32,
    /// `None` if the lines of the page are not those of the file.
    #[serde(flatten)]
    pub columns: Option<Columns>,
    #[serde(skip)]
    pub excerpt: Arc<Excerpt>,
    #[serde(skip)]
    pub span: Range<usize>,
}

impl ReleasedSpan {
    pub fn excerpt_text(&self) -> &str {
        &self.excerpt.text[self.span.clone()]
    }

    /// Returns the part of the line around the figure, at most `width` columns wide, and the
    /// columns of `spans` in it, from 0. The columns of a span outside that part are empty.
    pub fn window(&self, spans: &[Range<usize>], width: usize) -> (String, Vec<Range<usize>>) {
        let pieces = pieces(&self.excerpt.text);
        let end = pieces.last().map_or(0, |piece| piece.column + piece.width);
        let column = |byte: usize| {
            let at = pieces.partition_point(|piece| piece.byte < byte);
            pieces.get(at).map_or(end, |piece| piece.column)
        };
        let columns =
            |span: &Range<usize>| column(span.start)..column(span.end).max(column(span.start) + 1);
        let figure = columns(&self.span);
        let cut = self.excerpt.cut;
        let whole = cut == (false, false) && end <= width;
        // One column for each mark of a cut.
        let room = if whole { width } else { width.saturating_sub(2).max(MARGIN) };
        let before = (room.saturating_sub(figure.len()) / 2).max(MARGIN.min(room / 4));
        let from = match whole || figure.end + MARGIN <= room {
            true => 0,
            false => figure.start.saturating_sub(before).min(end.saturating_sub(room)),
        };
        let first = pieces.partition_point(|piece| piece.column < from);
        let from = pieces.get(first).map_or(from, |piece| piece.column);
        let rest = &pieces[first..];
        let shown =
            &rest[..rest.partition_point(|piece| piece.column + piece.width <= from + room)];
        let to = shown.last().map_or(from, |piece| piece.column + piece.width);
        let (before, after) = (first > 0 || cut.0, shown.len() < rest.len() || cut.1);
        let mark = |there: bool| if there { "\u{2026}" } else { "" };
        let text: String = shown.iter().map(|piece| piece.text.as_str()).collect();
        let shifted = |column: usize| column.clamp(from, to) - from + usize::from(before);
        let marks = spans.iter().map(columns).map(|span| shifted(span.start)..shifted(span.end));
        (format!("{}{text}{}", mark(before), mark(after)), marks.collect())
    }
}

struct QuotePiece {
    byte: usize,
    column: usize,
    width: usize,
    text: String,
}

fn pieces(line: &str) -> Vec<QuotePiece> {
    let mut column = 0;
    let piece = |(byte, c): (usize, char)| {
        let (text, width) = match c {
            '\t' => (" ".repeat(TAB - column % TAB), TAB - column % TAB),
            c if acts(c) => (c.escape_unicode().to_string(), c.escape_unicode().count()),
            c => (c.to_string(), c.width().unwrap_or(0)),
        };
        column += width;
        QuotePiece { byte, column: column - width, width, text }
    };
    line.char_indices().map(piece).collect()
}

pub struct Quotes<'a> {
    page: &'a AuditedPage,
    whole: HashMap<u32, Arc<Excerpt>>,
    rulers: HashMap<u32, Vec<(usize, usize)>>,
}

impl<'a> Quotes<'a> {
    pub fn new(page: &'a AuditedPage) -> Quotes<'a> {
        Quotes { page, whole: HashMap::new(), rulers: HashMap::new() }
    }

    /// Returns a spot with its line, or the part of it that is kept.
    pub fn quoted_spot(&mut self, spot: TextSpan) -> ReleasedSpan {
        let line = self.page.line_text(spot.index());
        let range = existing_bytes(line, spot);
        let span = range.start..ceil(line, range.end.min(range.start + WHOLE));
        let part = match line.len() {
            ..=WHOLE => 0..line.len(),
            _ => floor(line, span.start.saturating_sub(AROUND))..ceil(line, span.end + AROUND),
        };
        let cut = || {
            let cut = (part.start > 0, part.end < line.len());
            Arc::new(Excerpt { text: line[part.clone()].to_owned(), cut })
        };
        let excerpt = match part.len() == line.len() {
            true => Arc::clone(self.whole.entry(spot.line).or_insert_with(cut)),
            false => cut(),
        };
        ReleasedSpan {
            line: self.page.line_number(spot.index()),
            columns: self.columns(spot),
            excerpt,
            span: span.start - part.start..span.end - part.start,
        }
    }

    /// Returns the columns of a spot; `None` if the lines of the page are not those of the file.
    pub fn columns(&mut self, spot: TextSpan) -> Option<Columns> {
        let line = self.page.line_text(spot.index());
        let range = existing_bytes(line, spot);
        let (start, start16) = self.counts_before(spot.line, line, range.start);
        let (end, end16) = self.counts_before(spot.line, line, range.end);
        let columns =
            Columns { column: start + 1, end_column: end + 1, utf16: (start16 + 1, end16 + 1) };
        (!self.page.is_rendered()).then_some(columns)
    }

    /// Returns the numbers of characters and of UTF-16 units before a byte. Counts at every
    /// [`MARK`] bytes of a long line are cached, since thousands of spots may lie in one.
    fn counts_before(&mut self, index: u32, line: &str, byte: usize) -> (usize, usize) {
        if line.len() <= MARK {
            return counts(&line[..byte]);
        }
        let ruler = self.rulers.entry(index).or_insert_with(|| ruler(line));
        let (chars, utf16) = ruler[byte / MARK];
        let mark = floor(line, byte / MARK * MARK);
        let (more, more16) = counts(&line[mark..byte.max(mark)]);
        (chars + more, utf16 + more16)
    }
}

fn ruler(line: &str) -> Vec<(usize, usize)> {
    let mut marks = vec![(0, 0)];
    for mark in 1..=line.len() / MARK {
        let (chars, utf16) =
            counts(&line[floor(line, (mark - 1) * MARK)..floor(line, mark * MARK)]);
        let (before, before16) = marks[mark - 1];
        marks.push((before + chars, before16 + utf16));
    }
    marks
}

fn counts(text: &str) -> (usize, usize) {
    let chars = text.chars().count();
    // Only characters of four bytes take two units.
    (chars, chars + text.bytes().filter(|byte| *byte >= 0xf0).count())
}

/// Returns the bytes of a spot that exist, extended to character boundaries.
fn existing_bytes(line: &str, spot: TextSpan) -> Range<usize> {
    let start = floor(line, spot.start as usize);
    start..ceil(line, spot.end as usize).max(start)
}

fn floor(line: &str, byte: usize) -> usize {
    let byte = byte.min(line.len());
    (0..=byte).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil(line: &str, byte: usize) -> usize {
    let byte = byte.min(line.len());
    (byte..=line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(line.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn wide_characters_tabs_and_what_acts_have_their_columns() {
        for (line, width, shown, marks, column, utf16) in [
            ("写损失 😀 18.4 %", 40, "写损失 😀 18.4 %", 10..16, 7, 8),
            ("a\t损\t18.4 %", 40, "a   损  18.4 %", 8..14, 5, 5),
            ("\u{1b}[2J18.4 %", 40, "\\u{1b}[2J18.4 %", 9..15, 5, 5),
            (
                "before before before 18.4 % after after",
                26,
                "…e before 18.4 % after af…",
                10..16,
                22,
                22,
            ),
        ] {
            let (page, at) = (AuditedPage::new("p", line), line.find("18.4").unwrap());
            let place = Quotes::new(&page).quoted_spot(TextSpan::new(0, at..at + 6));
            assert_eq!(
                place.window(std::slice::from_ref(&place.span), width),
                (shown.to_owned(), vec![marks]),
                "{line}"
            );
            let columns = Columns { column, end_column: column + 6, utf16: (utf16, utf16 + 6) };
            assert_eq!((place.excerpt_text(), place.columns), ("18.4 %", Some(columns)));
        }
        let page = AuditedPage::rendered("p", &[(7, "| 18.4 % |".to_owned())]);
        let place = Quotes::new(&page).quoted_spot(TextSpan::new(0, 2..8));
        assert_eq!((place.line, place.columns, place.excerpt_text()), (7, None, "18.4 %"));
    }

    proptest! {
        #[test]
        fn any_spot_in_any_line_is_kept_and_shown_with_what_is_around_it(
            line in "(\\PC|[\t\u{1b}損😀a-z ]){0,40}", times in 1usize..400, start in 0usize..9000, long in 0usize..2000,
            width in 20usize..120,
        ) {
            let page = AuditedPage::new("p", line.repeat(times));
            let line = page.line_text(0);
            let spot = TextSpan::new(0, start..start + long);
            let range = existing_bytes(line, spot);
            let place = Quotes::new(&page).quoted_spot(spot);
            prop_assert!(line[range.clone()].starts_with(place.excerpt_text()));
            prop_assert!(place.excerpt.text.len() <= WHOLE.max(2 * AROUND + WHOLE + 16));
            let columns = place.columns.unwrap();
            prop_assert_eq!(columns.column, line[..range.start].chars().count() + 1);
            prop_assert_eq!(columns.utf16.1, line[..range.end].encode_utf16().count() + 1);
            let (text, marks) = place.window(std::slice::from_ref(&place.span), width);
            prop_assert!(text.width() <= width && !text.chars().any(acts), "{text:?}");
            prop_assert!(marks[0].end <= width.max(text.width() + 1));
            let figure: String = place.excerpt_text().chars().take(5).collect();
            prop_assert!(!figure.chars().all(|c| c.is_ascii_lowercase()) || text.contains(&figure), "{text}");
        }
    }
}

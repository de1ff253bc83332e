//! Lines of pages, made harmless and cut to the columns that a terminal has, around the figure.

pub use iotax_audit::harmless::{shown, shown_line};

use iotax_audit::harmless::acts;
use std::ops::Range;
use unicode_width::UnicodeWidthChar;

/// Columns of a tab stop.
const TAB: usize = 4;
/// Columns kept free after the figure.
const MARGIN: usize = 8;

struct Piece {
    byte: usize,
    column: usize,
    width: usize,
    text: String,
}

/// A part of a line that fits.
pub struct Window {
    /// Its text, with marks where it was cut.
    pub text: String,
    /// Columns of the spans from 0; of one that is outside none.
    pub marks: Vec<Range<usize>>,
}

/// The part of a line of at most `width` columns that shows the first span, with the columns of all spans. `cut` is whether there was
/// more of the line on either side.
pub fn window(line: &str, spans: &[Range<usize>], cut: (bool, bool), width: usize) -> Window {
    let pieces = pieces(line);
    let end = pieces.last().map_or(0, |piece| piece.column + piece.width);
    let column = |byte: usize| {
        let at = pieces.partition_point(|piece| piece.byte < byte);
        pieces.get(at).map_or(end, |piece| piece.column)
    };
    let figure = spans.first().map_or(0..0, |span| column(span.start)..column(span.end));
    let whole = cut == (false, false) && end <= width;
    // One column for each mark of a cut.
    let room = if whole { width } else { width.saturating_sub(2).max(MARGIN) };
    let from = match whole || figure.end + MARGIN <= room {
        true => 0,
        false => {
            let before = (room.saturating_sub(figure.len()) / 2).max(MARGIN.min(room / 4));
            figure.start.saturating_sub(before).min(end.saturating_sub(room))
        }
    };
    let first = pieces.partition_point(|piece| piece.column < from);
    let from = pieces.get(first).map_or(from, |piece| piece.column);
    let rest = &pieces[first..];
    let shown = &rest[..rest.partition_point(|piece| piece.column + piece.width <= from + room)];
    let to = shown.last().map_or(from, |piece| piece.column + piece.width);
    let before = first > 0 || cut.0;
    let mark = |there: bool| if there { "\u{2026}" } else { "" };
    let inner: String = shown.iter().map(|piece| piece.text.as_str()).collect();
    let shifted = |column: usize| column.clamp(from, to) - from + usize::from(before);
    let columns = |span: &Range<usize>| {
        let (start, end) = (column(span.start), column(span.end).max(column(span.start) + 1));
        let inside = start < to && end > from;
        shifted(start)..if inside { shifted(end).max(shifted(start) + 1) } else { shifted(start) }
    };
    Window {
        text: format!("{}{inner}{}", mark(before), mark(shown.len() < rest.len() || cut.1)),
        marks: spans.iter().map(columns).collect(),
    }
}

/// The text of every character, and its column.
fn pieces(line: &str) -> Vec<Piece> {
    let mut column = 0;
    let piece = |(byte, c): (usize, char)| {
        let text = match c {
            '\t' => " ".repeat(TAB - column % TAB),
            c if acts(c) => c.escape_unicode().collect(),
            c => c.to_string(),
        };
        let width = if c == '\t' || acts(c) { text.len() } else { c.width().unwrap_or(0) };
        let piece = Piece { byte, column, width, text };
        column += width;
        piece
    };
    line.char_indices().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    fn one(line: &str, figure: &str, width: usize) -> (String, Range<usize>) {
        let at = line.find(figure).unwrap();
        let Window { text, marks } = window(line, &[at..at + figure.len(), 0..1], (false, false), width);
        (text, marks[0].clone())
    }

    #[test]
    fn wide_characters_tabs_and_what_acts_have_their_columns() {
        assert_eq!(one("写损失 18.4 %", "18.4 %", 40), ("写损失 18.4 %".into(), 7..13));
        assert_eq!(one("a\t损\t7", "7", 40), ("a   损  7".into(), 8..9));
        assert_eq!(one("\u{1b}[2J94 %", "94 %", 40), ("\\u{1b}[2J94 %".into(), 9..13));
    }

    #[test]
    fn long_lines_are_cut_around_the_figure() {
        let line = format!("{} 94 % {}", "before ".repeat(30), "after ".repeat(30));
        let (text, marks) = one(&line, "94 %", 40);
        assert_eq!((text.width(), text.chars().next(), text.chars().last()), (40, Some('…'), Some('…')));
        assert_eq!(text.chars().skip(marks.start).take(marks.len()).collect::<String>(), "94 %");
    }

    proptest! {
        #[test]
        fn windows_fit_and_mark_the_figure(
            line in "[a-z \t\u{1b}写損é😀]{0,200}", start in 0usize..200, long in 0usize..60, width in 20usize..120,
            cut in any::<(bool, bool)>(),
        ) {
            let chars: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
            let begin = chars[start.min(chars.len() - 1)];
            let end = chars[(start + long).min(chars.len() - 1)];
            let window = window(&line, std::slice::from_ref(&(begin..end)), cut, width);
            prop_assert!(window.text.width() <= width, "{} > {width}: {}", window.text.width(), window.text);
            prop_assert!(window.marks[0].end <= width.max(window.text.width() + 1));
            prop_assert!(!window.text.chars().any(acts));
            let figure: String = line[begin..end].chars().take(5).collect();
            if figure.chars().all(|c| c.is_ascii_lowercase()) && !figure.is_empty() {
                prop_assert!(window.text.contains(&figure), "{figure} in {}", window.text);
            }
        }
    }
}

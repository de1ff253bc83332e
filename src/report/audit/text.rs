//! Lines of pages, made harmless and cut to the columns that a terminal has, around what is told of them.

pub use iotax_audit::harmless::{shown, shown_line};

use iotax_audit::harmless::acts;
use std::ops::Range;
use unicode_width::UnicodeWidthChar;

/// Columns of a tab stop.
const TAB: usize = 4;
/// Columns kept free to either side of what is told of a line.
const MARGIN: usize = 8;

/// A line as it is shown: text for every byte at which a character begins, and the column of it.
pub struct Laid {
    pieces: Vec<Piece>,
}

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
    /// What is told of the line: which of the spans, and its columns from 0.
    pub marks: Vec<(usize, Range<usize>)>,
}

/// Spans that share a window, and the columns from the first to the last.
struct Group {
    all: Range<usize>,
    spans: Vec<(usize, Range<usize>)>,
}

impl Laid {
    /// Lays out a line.
    pub fn new(line: &str) -> Laid {
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
        Laid { pieces: line.char_indices().map(piece).collect() }
    }

    /// Columns of some bytes; at least one.
    fn columns(&self, span: &Range<usize>) -> Range<usize> {
        let column = |byte: usize| {
            let at = self.pieces.partition_point(|piece| piece.byte < byte);
            self.pieces.get(at).map_or(self.width(), |piece| piece.column)
        };
        let start = column(span.start);
        start..column(span.end).max(start + 1)
    }

    fn width(&self) -> usize {
        self.pieces.last().map_or(0, |piece| piece.column + piece.width)
    }

    /// As many windows of at most `width` columns as show all spans. `cut` tells whether there was more of the line to either
    /// side. A span that is wider than a window is cut.
    pub fn windows(&self, spans: &[Range<usize>], cut: (bool, bool), width: usize) -> Vec<Window> {
        let mut columns: Vec<(usize, Range<usize>)> =
            spans.iter().map(|span| self.columns(span)).enumerate().collect();
        columns.sort_by_key(|(_, range)| (range.start, range.end));
        let mut groups: Vec<Group> = Vec::new();
        for (at, range) in columns {
            let fits = |group: &&mut Group| {
                let needs = range.end.saturating_sub(group.all.start) + 2 * MARGIN;
                self.whole(cut, width) || needs <= width
            };
            match groups.last_mut().filter(fits) {
                Some(group) => {
                    group.all.end = group.all.end.max(range.end);
                    group.spans.push((at, range));
                }
                None => groups.push(Group { all: range.clone(), spans: vec![(at, range)] }),
            }
        }
        groups.iter().map(|group| self.window(group, cut, width)).collect()
    }

    fn whole(&self, cut: (bool, bool), width: usize) -> bool {
        cut == (false, false) && self.width() <= width
    }

    fn window(&self, group: &Group, cut: (bool, bool), width: usize) -> Window {
        let all = &group.all;
        let whole = self.whole(cut, width);
        // One column for each mark of a cut.
        let room = if whole { width } else { width.saturating_sub(2).max(MARGIN) };
        let from = if whole || all.end + MARGIN <= room {
            0
        } else {
            let before = (room.saturating_sub(all.len()) / 2).max(MARGIN.min(room / 4));
            all.start.saturating_sub(before).min(self.width().saturating_sub(room))
        };
        let first = self.pieces.partition_point(|piece| piece.column < from);
        let from = self.pieces.get(first).map_or(from, |piece| piece.column);
        let rest = &self.pieces[first..];
        let shown = &rest[..rest.partition_point(|piece| piece.column + piece.width <= from + room)];
        let end = shown.last().map_or(from, |piece| piece.column + piece.width);
        let before = first > 0 || cut.0;
        let behind = shown.len() < rest.len() || cut.1;
        let mark = |there: bool| if there { "\u{2026}" } else { "" };
        let inner: String = shown.iter().map(|piece| piece.text.as_str()).collect();
        let shifted = |column: usize| column.clamp(from, end) - from + usize::from(before);
        let columns = |range: &Range<usize>| {
            let start = shifted(range.start);
            start..shifted(range.end).max(start + 1)
        };
        Window {
            text: format!("{}{inner}{}", mark(before), mark(behind)),
            marks: group.spans.iter().map(|(at, range)| (*at, columns(range))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    fn one(line: &str, told: &str, width: usize) -> (String, Range<usize>) {
        let at = line.find(told).unwrap();
        let span = at..at + told.len();
        let windows = Laid::new(line).windows(std::slice::from_ref(&span), (false, false), width);
        (windows[0].text.clone(), windows[0].marks[0].1.clone())
    }

    #[test]
    fn wide_characters_and_tabs_have_their_columns() {
        assert_eq!(one("写损失 18.4 %", "18.4 %", 40), ("写损失 18.4 %".into(), 7..13));
        assert_eq!(one("a\t损\t7", "7", 40), ("a   损  7".into(), 8..9));
    }

    #[test]
    fn what_acts_is_shown_and_does_nothing() {
        let (text, marks) = one("\u{1b}[2J94 %", "94 %", 40);
        assert_eq!((text.as_str(), marks), ("\\u{1b}[2J94 %", 9..13));
    }

    #[test]
    fn long_lines_are_cut_around_the_figure() {
        let line = format!("{} 94 % {}", "before ".repeat(30), "behind ".repeat(30));
        let (text, marks) = one(&line, "94 %", 40);
        assert_eq!((text.width(), text.chars().next(), text.chars().last()), (40, Some('…'), Some('…')));
        assert_eq!(text.chars().skip(marks.start).take(marks.len()).collect::<String>(), "94 %");
        let (text, marks) = one(&line, "behind behind", 40);
        assert!(text.starts_with('…') && text.ends_with('…'), "{text}");
        assert_eq!(text.chars().skip(marks.start).take(marks.len()).collect::<String>(), "behind behind");
    }

    #[test]
    fn spots_that_are_far_from_each_other_have_windows_of_their_own() {
        let line = format!("25.9k {} 20.3k", "x".repeat(100));
        let windows = Laid::new(&line).windows(&[107..112, 0..5], (false, false), 60);
        assert_eq!(windows.len(), 2);
        assert_eq!((windows[0].marks[0].0, windows[1].marks[0].0), (1, 0));
        assert!(windows[0].text.starts_with("25.9k") && windows[1].text.ends_with("20.3k"));
    }

    proptest! {
        #[test]
        fn windows_fit_and_mark_what_is_told(
            line in "[a-z \t\u{1b}写損é😀]{0,200}", start in 0usize..200, long in 0usize..60, width in 20usize..120,
            cut in any::<(bool, bool)>(),
        ) {
            let chars: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
            let begin = chars[start.min(chars.len() - 1)];
            let end = chars[(start + long).min(chars.len() - 1)];
            let span = begin..end;
            let windows = Laid::new(&line).windows(std::slice::from_ref(&span), cut, width);
            prop_assert_eq!(windows.len(), 1);
            let window = &windows[0];
            prop_assert!(window.text.width() <= width, "{} > {width}: {}", window.text.width(), window.text);
            prop_assert!(window.marks[0].1.end <= width.max(window.text.width() + 1));
            prop_assert!(!window.text.chars().any(acts));
            let told: String = line[begin..end].chars().take(5).collect();
            if told.chars().all(|c| c.is_ascii_lowercase()) && !told.is_empty() {
                prop_assert!(window.text.contains(&told), "{told} in {}", window.text);
            }
        }
    }
}

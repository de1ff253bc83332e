//! Lines of a page as they are kept when the page is released: whole where they are short, cut around the figure where they are long.
//! A short line is kept once, however many findings quote it.

use iotax_audit::page::{Page, Spot};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a line that is kept whole.
const WHOLE: usize = 600;
/// Bytes that are kept on either side of a spot in a longer one.
const AROUND: usize = 240;
/// A longer spot is cut.
const MOST: usize = 600;
/// Bytes between the marks of a ruler.
const MARK: usize = 1 << 9;

/// Text of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Excerpt {
    /// The line, or a part of it.
    pub text: String,
    /// Whether the line goes on before and after it.
    pub cut: (bool, bool),
}

/// Columns of a spot from 1; the end is after its last character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// In characters.
    pub chars: (usize, usize),
    /// In units of UTF-16, as editors count.
    pub utf16: (usize, usize),
}

/// A spot of a page that is released.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Number of its line, from 1.
    pub line: u32,
    /// `None` where the lines of the page are not those of the file.
    pub columns: Option<Columns>,
    /// The line.
    pub excerpt: Arc<Excerpt>,
    /// Its bytes in the excerpt.
    pub span: Range<usize>,
}

impl Place {
    /// What is printed there.
    pub fn text(&self) -> &str {
        &self.excerpt.text[self.span.clone()]
    }
}

/// Makes places of spots.
pub struct Quotes<'a> {
    page: &'a Page,
    whole: HashMap<u32, Arc<Excerpt>>,
    rulers: HashMap<u32, Vec<(usize, usize)>>,
}

impl<'a> Quotes<'a> {
    /// For a page.
    pub fn new(page: &'a Page) -> Quotes<'a> {
        Quotes { page, whole: HashMap::new(), rulers: HashMap::new() }
    }

    /// A spot with what is kept of its line.
    pub fn place(&mut self, spot: Spot) -> Place {
        let line = self.page.line(spot.index());
        let range = within(line, spot);
        let span = range.start..ceil(line, range.end.min(range.start + MOST));
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
        Place {
            line: self.page.number(spot.index()),
            columns: self.columns(spot),
            excerpt,
            span: span.start - part.start..span.end - part.start,
        }
    }

    /// Columns of a spot; `None` where the lines of the page are not those of the file.
    pub fn columns(&mut self, spot: Spot) -> Option<Columns> {
        let line = self.page.line(spot.index());
        let range = within(line, spot);
        let (start, start16) = self.before(spot.line, line, range.start);
        let (end, end16) = self.before(spot.line, line, range.end);
        let columns = Columns { chars: (start + 1, end + 1), utf16: (start16 + 1, end16 + 1) };
        (!self.page.is_rendered()).then_some(columns)
    }

    /// Characters and units of UTF-16 before a byte. The counts up to every mark of a long line are kept: thousands of spots may
    /// lie in one.
    fn before(&mut self, index: u32, line: &str, byte: usize) -> (usize, usize) {
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

/// Counts before each mark.
fn ruler(line: &str) -> Vec<(usize, usize)> {
    let mut marks = vec![(0, 0)];
    for mark in 1..=line.len() / MARK {
        let (chars, utf16) = counts(&line[floor(line, (mark - 1) * MARK)..floor(line, mark * MARK)]);
        let (before, before16) = marks[mark - 1];
        marks.push((before + chars, before16 + utf16));
    }
    marks
}

fn counts(text: &str) -> (usize, usize) {
    let chars = text.chars().count();
    // Only what takes four bytes is two units.
    (chars, chars + text.bytes().filter(|byte| *byte >= 0xf0).count())
}

/// Bytes of a spot that are there and begin and end with characters.
fn within(line: &str, spot: Spot) -> Range<usize> {
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

    #[test]
    fn columns_are_counted_in_characters_and_in_units_of_utf16() {
        let page = Page::new("p", "写损失 😀 18.4 %");
        let at = page.line(0).find("18.4").unwrap();
        let columns = Columns { chars: (7, 13), utf16: (8, 14) };
        assert_eq!(Quotes::new(&page).columns(Spot::new(0, at..at + 6)), Some(columns));
        let page = Page::rendered("p", &[(7, "| 18.4 % |".to_owned())]);
        let place = Quotes::new(&page).place(Spot::new(0, 2..8));
        assert_eq!((place.line, place.columns, place.text()), (7, None, "18.4 %"));
    }

    proptest! {
        #[test]
        fn any_spot_in_any_line_is_kept_with_what_is_around_it(
            line in "\\PC{0,40}", times in 1usize..400, start in 0usize..9000, long in 0usize..2000,
        ) {
            let page = Page::new("p", line.repeat(times));
            let line = page.line(0);
            let spot = Spot::new(0, start..start + long);
            let range = within(line, spot);
            let place = Quotes::new(&page).place(spot);
            prop_assert!(line[range.clone()].starts_with(place.text()));
            prop_assert!(place.excerpt.text.len() <= WHOLE.max(2 * AROUND + MOST + 16));
            let columns = place.columns.unwrap();
            prop_assert_eq!(columns.chars.0, line[..range.start].chars().count() + 1);
            prop_assert_eq!(columns.utf16.1, line[..range.end].encode_utf16().count() + 1);
        }
    }
}

//! Lines of a page as they are kept when the page is gone: whole where they are short, cut around what is told of them where they
//! are long, with the figures in them and how these stand. A line is kept once, however much is told of it.

use iotax_audit::claim::{Claim, Status};
use iotax_audit::page::{Page, Spot};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a line that is kept whole.
const WHOLE: usize = 600;
/// Bytes that are kept to either side of what is told of a longer one.
const AROUND: usize = 240;
/// What is told of is cut behind so many bytes.
const MOST: usize = 600;
/// Bytes between the marks of a ruler.
const MARK: usize = 1 << 9;

/// Text of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Excerpt {
    /// The line, or a part of it.
    pub text: String,
    /// Whether something of the line stands before and behind it.
    pub cut: (bool, bool),
    /// Figures in the text: their bytes and whether they hold.
    pub claims: Vec<(Range<usize>, Status)>,
}

/// Columns of a spot from 1; the end is behind its last character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// In characters.
    pub chars: (usize, usize),
    /// In units of UTF-16, as editors count.
    pub utf16: (usize, usize),
}

/// A spot of a page that is gone.
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
    /// What stands there.
    pub fn text(&self) -> &str {
        &self.excerpt.text[self.span.clone()]
    }
}

/// Makes places of spots.
pub struct Quotes<'a> {
    page: &'a Page,
    /// Claims of the lines that are quoted, by where they begin.
    claims: HashMap<u32, Vec<(Range<usize>, Status)>>,
    whole: HashMap<u32, Arc<Excerpt>>,
    rulers: Rulers<'a>,
}

impl<'a> Quotes<'a> {
    /// For the spots of some lines.
    pub fn new(page: &'a Page, claims: &[Claim], lines: impl Iterator<Item = u32>) -> Quotes<'a> {
        let mut quoted: HashMap<u32, Vec<(Range<usize>, Status)>> =
            lines.map(|line| (line, Vec::new())).collect();
        for claim in claims {
            if let Some(line) = quoted.get_mut(&claim.spot.line) {
                line.push((within(page.line(claim.spot.index()), claim.spot), claim.status));
            }
        }
        for line in quoted.values_mut() {
            line.sort_by_key(|(range, status)| (range.start, *status));
            line.dedup_by(|later, kept| later.0.start < kept.0.end);
        }
        Quotes { page, claims: quoted, whole: HashMap::new(), rulers: Rulers::new(page) }
    }

    /// Spots with what is kept of their lines; those that lie near each other in a long line share a part of it.
    pub fn places(&mut self, spots: &[Spot]) -> Vec<Place> {
        let mut order: Vec<usize> = (0..spots.len()).collect();
        order.sort_by_key(|at| spots[*at]);
        let mut parts: Vec<(u32, Range<usize>)> = Vec::new();
        let mut part_of = vec![0; spots.len()];
        for at in order {
            let spot = spots[at];
            let told = self.told(spot);
            match parts.last_mut().filter(|(line, part)| *line == spot.line && told.end - part.start < WHOLE)
            {
                Some((_, part)) => part.end = part.end.max(told.end),
                None => parts.push((spot.line, told)),
            }
            part_of[at] = parts.len() - 1;
        }
        let kept: Vec<_> = parts.into_iter().map(|(line, part)| self.kept(line, part)).collect();
        spots.iter().zip(part_of).map(|(spot, part)| self.place(*spot, &kept[part])).collect()
    }

    /// Bytes of a spot, of one without an end the first.
    fn told(&self, spot: Spot) -> Range<usize> {
        let line = self.page.line(spot.index());
        let range = within(line, spot);
        range.start..ceil(line, range.end.min(range.start + MOST))
    }

    /// The line, or the part of a long one and what is around it; and where that begins.
    fn kept(&mut self, index: u32, part: Range<usize>) -> (Arc<Excerpt>, usize) {
        let line = self.page.line(index as usize);
        let claims = self.claims.get(&index);
        if line.len() <= WHOLE {
            let whole = || Arc::new(excerpt(line, 0..line.len(), claims));
            return (Arc::clone(self.whole.entry(index).or_insert_with(whole)), 0);
        }
        let around = floor(line, part.start.saturating_sub(AROUND))..ceil(line, part.end + AROUND);
        (Arc::new(excerpt(line, around.clone(), claims)), around.start)
    }

    fn place(&mut self, spot: Spot, (excerpt, from): &(Arc<Excerpt>, usize)) -> Place {
        let told = self.told(spot);
        Place {
            line: self.page.number(spot.index()),
            columns: self.rulers.columns(spot),
            excerpt: Arc::clone(excerpt),
            span: told.start - from..told.end - from,
        }
    }
}

/// Columns of spots.
pub struct Rulers<'a> {
    page: &'a Page,
    rulers: HashMap<u32, Vec<(usize, usize)>>,
}

impl<'a> Rulers<'a> {
    /// For a page.
    pub fn new(page: &'a Page) -> Rulers<'a> {
        Rulers { page, rulers: HashMap::new() }
    }

    /// `None` where the lines of the page are not those of the file.
    pub fn columns(&mut self, spot: Spot) -> Option<Columns> {
        let line = self.page.line(spot.index());
        let range = within(line, spot);
        let (start, start16) = self.before(spot.line, line, range.start);
        let (end, end16) = self.before(spot.line, line, range.end);
        let columns = Columns { chars: (start + 1, end + 1), utf16: (start16 + 1, end16 + 1) };
        (!self.page.is_rendered()).then_some(columns)
    }

    /// Characters and units of UTF-16 before a byte. What was counted up to every mark of a long line is kept: thousands of spots
    /// may lie in one.
    fn before(&mut self, index: u32, line: &str, byte: usize) -> (usize, usize) {
        if line.len() <= MARK {
            return counts(&line[..byte]);
        }
        let ruler = self.rulers.entry(index).or_insert_with(|| ruler(line));
        let mark = byte / MARK;
        let (chars, utf16) = ruler[mark];
        let (more, more16) = counts(&line[floor(line, mark * MARK)..byte.max(floor(line, mark * MARK))]);
        (chars + more, utf16 + more16)
    }
}

/// Counts before each mark.
fn ruler(line: &str) -> Vec<(usize, usize)> {
    let mut marks = vec![(0, 0)];
    let mut from = 0;
    for mark in 1..=line.len() / MARK {
        let to = floor(line, mark * MARK);
        let (chars, utf16) = counts(&line[from..to]);
        let (before, before16) = marks[mark - 1];
        marks.push((before + chars, before16 + utf16));
        from = to;
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

fn excerpt(line: &str, part: Range<usize>, claims: Option<&Vec<(Range<usize>, Status)>>) -> Excerpt {
    let claims = claims.map(Vec::as_slice).unwrap_or_default();
    let first = claims.partition_point(|(range, _)| range.start < part.start);
    let inside = claims[first..].iter().take_while(|(range, _)| range.end <= part.end);
    Excerpt {
        text: line[part.clone()].to_owned(),
        cut: (part.start > 0, part.end < line.len()),
        claims: inside
            .map(|(range, status)| (range.start - part.start..range.end - part.start, *status))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn columns(line: &str, range: Range<usize>) -> Columns {
        let page = Page::new("p", line);
        Quotes::new(&page, &[], [0].into_iter()).places(&[Spot::new(0, range)])[0].columns.unwrap()
    }

    #[test]
    fn columns_are_counted_in_characters_and_in_units_of_utf16() {
        let line = "写损失 😀 18.4 %";
        let at = line.find("18.4").unwrap();
        assert_eq!(columns(line, at..at + 6), Columns { chars: (7, 13), utf16: (8, 14) });
    }

    #[test]
    fn rendered_lines_have_no_columns_in_the_file() {
        let page = Page::rendered("p [Sheet1]", &[(7, "| 18.4 % |".to_owned())]);
        let place = Quotes::new(&page, &[], [0].into_iter()).places(&[Spot::new(0, 2..8)]).remove(0);
        assert_eq!((place.line, place.columns, place.text()), (7, None, "18.4 %"));
    }

    #[test]
    fn a_long_line_is_kept_around_its_figure_only() {
        let line = format!("{}18.4 %{}", "写".repeat(100_000), "失".repeat(100_000));
        let page = Page::new("p", line.as_str());
        let start = line.find('1').unwrap();
        let figure = Spot::new(0, start..start + 6);
        let place = Quotes::new(&page, &[], [0].into_iter()).places(&[figure]).remove(0);
        assert_eq!((place.text(), place.excerpt.cut), ("18.4 %", (true, true)));
        assert!(place.excerpt.text.len() < 2 * AROUND + 16);
        assert_eq!(place.columns.unwrap().chars, (100_001, 100_007));
    }

    #[test]
    fn spots_that_are_near_each_other_in_a_long_line_share_a_part_of_it() {
        let line = format!("25.9k{}20.3k and 18.4 %", " x".repeat(5_000));
        let page = Page::new("p", line.as_str());
        let spots = ["18.4 %", "25.9k", "20.3k"].map(|text| {
            let start = line.find(text).unwrap();
            Spot::new(0, start..start + text.len())
        });
        let places = Quotes::new(&page, &[], [0].into_iter()).places(&spots);
        assert_eq!(places.iter().map(Place::text).collect::<Vec<_>>(), ["18.4 %", "25.9k", "20.3k"]);
        assert!(Arc::ptr_eq(&places[0].excerpt, &places[2].excerpt));
        assert!(!Arc::ptr_eq(&places[0].excerpt, &places[1].excerpt));
    }

    proptest! {
        #[test]
        fn any_spot_in_any_line_is_told(line in "\\PC{0,40}", times in 1usize..400, start in 0usize..9000, long in 0usize..2000) {
            let line = line.repeat(times);
            let page = Page::new("p", line.as_str());
            let line = page.line(0);
            let spot = Spot::new(0, start..start + long);
            let range = within(line, spot);
            let place = Quotes::new(&page, &[], [0].into_iter()).places(&[spot]).remove(0);
            prop_assert!(line[range.clone()].starts_with(place.text()));
            let columns = place.columns.unwrap();
            prop_assert_eq!(columns.chars.0, line[..range.start].chars().count() + 1);
            prop_assert_eq!(columns.utf16.1, line[..range.end].encode_utf16().count() + 1);
        }
    }
}

//! What a cell says: one figure, perhaps a share in brackets; or words, which are left alone.

use super::Cell;
use crate::number::{self, Hedge, Quantity, Shows, Style, Unit};
use crate::page::Spot;

/// Longer ones are sentences.
const LONGEST: usize = 120;

/// What stands for nothing.
const NOTHING: &[&str] = &[
    "", "-", "--", "---", "\u{2013}", "\u{2014}", "\u{2212}", "/", "n/a", "N/A", "NA", "na", "нет", "无",
    "…", "...",
];

/// Reads the cell whose text stands at `spot`; `None` where it says nothing.
pub(super) fn read(spot: Spot, text: &str, style: Style) -> Option<Cell> {
    if NOTHING.contains(&text) {
        return None;
    }
    let mut cell = Cell { spot, figure: None, share: None, more: Vec::new() };
    if text.len() > LONGEST || !text.bytes().any(|byte| byte.is_ascii_digit() || byte == 0xef) {
        return Some(cell);
    }
    let found = number::quantities_in(spot.index(), text, style);
    let Some(places) = Places::of(text, &found) else { return Some(cell) };
    let mut outside = Vec::new();
    for (mut quantity, place) in found.into_iter().zip(places.0) {
        quantity.figure.spot.start += spot.start;
        quantity.figure.spot.end += spot.start;
        match place {
            Place::Outside => outside.push(quantity),
            Place::Bracket if quantity.unit == Unit::Percent && cell.share.is_none() => {
                cell.share = Some(quantity)
            }
            Place::Bracket => cell.more.push(quantity),
            Place::Note => {}
        }
    }
    match outside.as_slice() {
        [only] => cell.figure = Some(*only),
        [figure, spread] if spread.hedge == Hedge::PlusMinus => {
            cell.figure = Some(*figure);
            cell.more.insert(0, *spread);
        }
        // A range, or two results: none of them is the figure.
        _ => cell.more.splice(0..0, outside).for_each(drop),
    }
    Some(cell)
}

/// Whether a text is a figure and nothing else, as far as words go.
pub(super) fn is_figure(text: &str) -> bool {
    read(Spot::default(), text, SPACES).is_some_and(|cell| cell.figure.is_some() || cell.share.is_some())
}

/// Nothing but a figure stands in a cell.
pub const SPACES: Style = Style { decimal_comma: false, spaces: true };

/// Whether it is nothing but a percentage in brackets: of the figure above it.
pub(super) fn only_share(cell: &Cell) -> bool {
    cell.figure.is_none() && cell.share.is_some() && cell.more.is_empty()
}

/// Whether it is nothing but a percentage without brackets.
pub(super) fn only_percent(cell: &Cell) -> bool {
    let percent = cell.figure.is_some_and(|figure| figure.unit == Unit::Percent);
    percent && cell.share.is_none() && cell.more.is_empty()
}

/// The style that the texts of a column show, and whether what may be either is left alone: where the column shows nothing
/// and others of the table have decimal commas.
pub(super) fn style<'t>(column: impl Iterator<Item = &'t str>, others: bool) -> (Style, bool) {
    let (mut comma, mut point) = (false, false);
    for text in column {
        match number::shows(text) {
            Shows::Comma => comma = true,
            Shows::Point => point = true,
            _ => {}
        }
    }
    (Style { decimal_comma: comma && !point, spaces: true }, comma == point && others)
}

/// Whether all points of a column may group thousands: each stands before exactly three digits, and nothing of a thousand or
/// more is printed without.
pub(super) fn groups_by_points<'t>(column: impl Iterator<Item = &'t str>) -> bool {
    let mut some = false;
    for text in column {
        let from = text.find(|letter: char| letter.is_ascii_digit()).unwrap_or(text.len());
        let digits = text[from..].bytes().take_while(u8::is_ascii_digit).count();
        match number::shows(text) {
            Shows::Either if text[from + digits..].starts_with('.') => some = true,
            Shows::Nothing if digits <= 3 => {}
            _ => return false,
        }
    }
    some
}

enum Place {
    Outside,
    Bracket,
    Note,
}

struct Places(Vec<Place>);

impl Places {
    /// Where each quantity stands; `None` where words or digits stand besides them, so that they are no result.
    fn of(text: &str, found: &[Quantity]) -> Option<Places> {
        let mut places = Vec::with_capacity(found.len());
        // `A is 2.1x slower`: words beside ratios say of what; `5000 points`: one word behind a lone figure counts it.
        let ratios = found.iter().all(|one| matches!(one.unit, Unit::Percent | Unit::Times));
        let counted = matches!(found, [only] if {
            let (before, behind) = (&text[..only.figure.spot.start as usize], &text[only.figure.spot.end as usize..]);
            !before.contains(char::is_alphabetic) && behind.trim().chars().all(char::is_alphabetic)
        });
        let free = if ratios { 6 } else { usize::from(counted) };
        let mut walk = Walk { text, at: 0, round: 0, square: 0, wordy: 0, free };
        for quantity in found {
            let spot = quantity.figure.spot;
            let word = walk.at;
            walk.to(spot.start as usize)?;
            let bare = quantity.unit == Unit::Bare && quantity.scale == 1.0;
            let end = spot.end as usize;
            // `10^6` is a power; `94%^1` has a note.
            if bare && text[end..].starts_with('^') {
                return None;
            }
            let note = text[..spot.start as usize].ends_with('^') && word > 0;
            places.push(match (walk.square, walk.round) {
                _ if note => Place::Note,
                (0, 0) => Place::Outside,
                (0, _) => Place::Bracket,
                _ => Place::Note,
            });
            walk.at = end;
        }
        walk.to(text.len())?;
        if walk.wordy > 0 {
            places
                .iter_mut()
                .filter(|place| matches!(place, Place::Bracket))
                .for_each(|place| *place = Place::Note);
        }
        Some(Places(places))
    }
}

/// Goes through what stands between quantities.
struct Walk<'t> {
    text: &'t str,
    at: usize,
    round: usize,
    square: usize,
    /// Words in brackets.
    wordy: usize,
    /// So many more words may stand outside.
    free: usize,
}

impl Walk<'_> {
    fn to(&mut self, end: usize) -> Option<()> {
        while self.at < end {
            let rest = &self.text[self.at..end];
            let letter = rest.chars().next()?;
            self.at += match letter {
                '(' | '（' => {
                    self.round += 1;
                    letter.len_utf8()
                }
                ')' | '）' => {
                    self.round = self.round.checked_sub(1)?;
                    letter.len_utf8()
                }
                '[' => {
                    self.square += 1;
                    1
                }
                ']' => {
                    self.square = self.square.checked_sub(1)?;
                    1
                }
                '<' if tag(rest) > 0 => tag(rest),
                '&' if rest.starts_with("&nbsp;") => "&nbsp;".len(),
                _ if self.square > 0 => letter.len_utf8(),
                _ if letter.is_alphanumeric() => self.word(rest)?,
                _ if harmless(letter) => letter.len_utf8(),
                _ if self.round > 0 => letter.len_utf8(),
                _ => return None,
            };
        }
        Some(())
    }

    /// A word besides the figure: only one that hedges it is no matter.
    fn word(&mut self, rest: &str) -> Option<usize> {
        let end = rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len());
        let word = &rest[..end];
        if number::hedges(word) || word == "左右" || HEDGING.contains(&word) {
            return Some(end);
        }
        if self.round == 0 {
            self.free = self.free.checked_sub(1)?;
            return Some(end);
        }
        self.wordy += 1;
        Some(end)
    }
}

/// Words of hedges of several.
const HEDGING: &[&str] = &["less", "more", "than", "up", "to", "at", "least", "ca"];

/// Signs that say nothing against a figure.
fn harmless(letter: char) -> bool {
    // Of other signs, as emoji, none says anything of a figure.
    letter.is_whitespace()
        || !letter.is_ascii() && !letter.is_alphanumeric() && !"€£¥".contains(letter)
        || "*`~≈<>≤≥+±_\\\"'^.,↑↓▲▼⬆⬇✅🏆/→⇒|;:@=-–—−".contains(letter)
}

/// Bytes of an HTML tag that a text begins with.
pub(super) fn tag(text: &str) -> usize {
    let named = text[1..].starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/');
    if named { text.find('>').map_or(0, |end| end + 1) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Option<f64>, Option<f64>, Vec<f64>) {
        let cell = read(Spot::new(3, 5..5 + text.len()), text, SPACES).unwrap();
        let value = |one: Quantity| one.figure.value;
        (cell.figure.map(value), cell.share.map(value), cell.more.into_iter().map(value).collect())
    }

    #[test]
    fn a_cell_is_a_figure_with_its_share_and_more() {
        assert_eq!(of("8.25 Gbps (104%)"), (Some(8.25e9), Some(104.0), vec![]));
        assert_eq!(of("512MB/s (536MiB/s)"), (Some(512e6), None, vec![536.0 * 1_048_576.0]));
        assert_eq!(of("(83%)"), (None, Some(83.0), vec![]));
        assert_eq!(of("**3 604,25**"), (Some(3_604.25), None, vec![]));
        assert_eq!(of("12.5 ± 0.5"), (Some(12.5), None, vec![0.5]));
        assert_eq!(of("~ 94 %[2]"), (Some(94.0), None, vec![]));
        assert_eq!(of("94%<br>(3x)"), (Some(94.0), None, vec![3.0]));
        assert_eq!(of("less than 5 %"), (Some(5.0), None, vec![]));
        assert_eq!(of("94%^1"), (Some(94.0), None, vec![]));
        assert_eq!(of("101% (8.40 Gbps)"), (Some(101.0), None, vec![8.4e9]));
        assert_eq!(of("410 (median of 3)"), (Some(410.0), None, vec![]));
        let cell = read(Spot::new(3, 5..11), "~195 k", SPACES).unwrap();
        assert_eq!(cell.figure.unwrap().figure.spot, Spot::new(3, 6..11));
    }

    #[test]
    fn words_versions_ranges_and_powers_are_no_figure() {
        for text in [
            "EPYC 7302",
            "4 vCPU, 16GB",
            "7.9.2009",
            "1/4",
            "2021-11-18",
            "10^6",
            "€12",
            "2x10G NIC",
            "a – 5",
        ] {
            assert_eq!(of(text).0, None, "{text}");
        }
        assert_eq!(of("92% ~ 94%"), (None, None, vec![92.0, 94.0]));
        assert_eq!(of("100-200"), (None, None, vec![100.0, 200.0]));
        assert_eq!(of("26.0k / 25.0k").0, None);
        for text in ["-", "n/a", "", "—"] {
            assert_eq!(read(Spot::default(), text, SPACES), None, "{text}");
        }
    }

    #[test]
    fn a_column_shows_what_its_points_are() {
        let comma = |texts: &[&str], others| style(texts.iter().copied(), others);
        assert_eq!(comma(&["1.234", "12,5"], false), (Style { decimal_comma: true, spaces: true }, false));
        assert_eq!(comma(&["1.234", "12.5"], true), (SPACES, false));
        assert_eq!(comma(&["1.234", "2.345"], true), (SPACES, true));
        assert_eq!(comma(&["1.234", "2.345"], false), (SPACES, false));
    }
}

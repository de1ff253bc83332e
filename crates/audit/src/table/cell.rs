//! Reads cells: one figure, perhaps with a share in brackets; cells of words are left alone.

use super::{TableCell, units};
use crate::number::{self, DecimalSign, NumberHedge, NumberUnit, Quantity, Style};
use crate::page::TextSpan;

/// Longest cell in bytes; a longer text is a sentence.
const LONGEST: usize = 120;

const NOTHING: &[&str] = &[
    "", "-", "--", "---", "\u{2013}", "\u{2014}", "\u{2212}", "/", "n/a", "N/A", "NA", "na", "нет",
    "无", "…", "...",
];

/// Reads the cell with the text at `spot`; `None` for an empty cell or one such as `-` and `n/a`.
pub(super) fn read_cell(spot: TextSpan, text: &str, style: Style) -> Option<TableCell> {
    if NOTHING.contains(&text) {
        return None;
    }
    let mut cell = TableCell { spot, figure: None, share: None, more: Box::default() };
    if text.len() > LONGEST || !text.bytes().any(|byte| byte.is_ascii_digit() || byte == 0xef) {
        return Some(cell);
    }
    let found = number::quantities_in(spot.index(), text, style);
    if let Some(named) = named_figures(text, &found) {
        cell.more = named.into_iter().map(|one| shifted(one, spot)).collect();
        return Some(cell);
    }
    let Some(places) = cell_positions(text, &found) else { return Some(cell) };
    let (mut outside, mut more) = (Vec::new(), Vec::new());
    for (quantity, place) in found.into_iter().zip(places) {
        let quantity = shifted(quantity, spot);
        match place {
            CellPosition::Outside => outside.push(quantity),
            CellPosition::Bracket
                if quantity.unit == NumberUnit::Percent && cell.share.is_none() =>
            {
                cell.share = Some(Box::new(quantity))
            }
            CellPosition::Bracket => more.push(quantity),
            CellPosition::Note => {}
        }
    }
    match outside.as_slice() {
        [only] => cell.figure = Some(*only),
        [figure, spread] if spread.hedge == NumberHedge::PlusMinus => {
            cell.figure = Some(*figure);
            more.insert(0, *spread);
        }
        // A range, or two results: neither is the figure.
        _ => more.splice(0..0, outside).for_each(drop),
    }
    cell.more = more.into();
    Some(cell)
}

fn shifted(mut quantity: Quantity, spot: TextSpan) -> Quantity {
    quantity.figure.spot.start += spot.start;
    quantity.figure.spot.end += spot.start;
    quantity
}

/// Reads `IOPS=5928, BW=23.2MiB/s`: figures with their names, each of which sets the unit of its
/// figure.
fn named_figures(text: &str, found: &[Quantity]) -> Option<Vec<Quantity>> {
    let (mut named, mut from) = (Vec::with_capacity(found.len()), 0);
    for quantity in found {
        let before = text
            .get(from..quantity.figure.spot.start as usize)?
            .trim_start_matches([',', ';', ' ']);
        let name = before.strip_suffix(['=', ':'])?.trim();
        if name.is_empty() || !name.chars().all(char::is_alphabetic) {
            return None;
        }
        let mut own = *quantity;
        units::of_head(name).into_iter().for_each(|measure| units::give(&mut own, measure));
        named.push(own);
        from = quantity.figure.spot.end as usize;
    }
    (named.len() >= 2 && text[from..].trim().is_empty()).then_some(named)
}

/// Returns true if a text is only a figure, with words that may accompany it.
pub(super) fn is_figure(text: &str) -> bool {
    read_cell(TextSpan::default(), text, SPACES)
        .is_some_and(|cell| cell.figure.is_some() || cell.share.is_some())
}

/// Style of a cell with nothing but a figure.
pub const SPACES: Style = Style { decimal_comma: false, spaces: true };

/// Returns the style of a column from its texts, and true if nothing in the column distinguishes
/// thousands from decimals.
pub(super) fn style<'t>(column: impl Iterator<Item = &'t str>) -> (Style, bool) {
    let (mut comma, mut point) = (false, false);
    for shown in column.map(number::shows) {
        comma |= shown == DecimalSign::Comma;
        point |= shown == DecimalSign::Point;
    }
    (Style { decimal_comma: comma && !point, spaces: true }, comma == point)
}

#[derive(PartialEq)]
enum CellPosition {
    Outside,
    Bracket,
    Note,
}

/// Returns the position of each quantity. `None` if other words or digits are next to them, so that
/// they are not results.
fn cell_positions(text: &str, found: &[Quantity]) -> Option<Vec<CellPosition>> {
    // In `A is 2.1x slower` the words next to the ratio say what it is about. In `5000 points` one
    // word after a lone figure counts it.
    let ratios =
        found.iter().all(|one| matches!(one.unit, NumberUnit::Percent | NumberUnit::Times));
    let after = |one: &Quantity| text[one.figure.spot.end as usize..].trim();
    let word = |text: &str| {
        !text.is_empty() && text.chars().all(|letter| letter.is_alphabetic() || letter == '/')
    };
    let counted = match found {
        [only] if word(after(only)) => after(only).split('/').count(),
        _ => 0,
    };
    let free = if ratios { 6 } else { counted };
    let mut walk = CellWalk { text, at: 0, round: 0, square: 0, wordy: false, free };
    let mut places = Vec::with_capacity(found.len());
    for quantity in found {
        let (start, end) = (quantity.figure.spot.start as usize, quantity.figure.spot.end as usize);
        let first = walk.at == 0;
        walk.to(start)?;
        // `10^6` is a power; `94%^1` has a note.
        if quantity.unit == NumberUnit::Bare
            && quantity.scale == 1.0
            && text[end..].starts_with('^')
        {
            return None;
        }
        let note = walk.square > 0 || !first && text[..start].ends_with('^');
        places.push(match (note, walk.round) {
            (true, _) => CellPosition::Note,
            (_, 0) => CellPosition::Outside,
            _ => CellPosition::Bracket,
        });
        walk.at = end;
    }
    walk.to(text.len())?;
    // Words in a bracket say what its figures are.
    places
        .iter_mut()
        .filter(|place| walk.wordy && **place == CellPosition::Bracket)
        .for_each(|place| *place = CellPosition::Note);
    Some(places)
}

struct CellWalk<'t> {
    text: &'t str,
    at: usize,
    round: usize,
    square: usize,
    wordy: bool,
    /// Number of words that may still appear outside brackets.
    free: usize,
}

impl CellWalk<'_> {
    fn to(&mut self, end: usize) -> Option<()> {
        while self.at < end {
            let rest = &self.text[self.at..end];
            let letter = rest.chars().next()?;
            let mut step = letter.len_utf8();
            match letter {
                '(' | '（' => self.round += 1,
                ')' | '）' => self.round = self.round.checked_sub(1)?,
                '[' => self.square += 1,
                ']' => self.square = self.square.checked_sub(1)?,
                '<' if tag(rest) > 0 => step = tag(rest),
                '&' if rest.starts_with("&nbsp;") => step = "&nbsp;".len(),
                _ if self.square > 0 => {}
                _ if letter.is_alphanumeric() => step = self.word_length(rest)?,
                _ if harmless(letter) || self.round > 0 => {}
                _ => return None,
            }
            self.at += step;
        }
        Some(())
    }

    /// Returns the length of a word next to the figure; `None` if no more such words may appear.
    fn word_length(&mut self, rest: &str) -> Option<usize> {
        let end = rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len());
        let hedge = number::hedges(&rest[..end]);
        if !hedge && self.round == 0 {
            self.free = self.free.checked_sub(1)?;
        }
        self.wordy |= !hedge && self.round > 0;
        Some(end)
    }
}

/// Returns true for characters next to a figure that do not change its meaning.
fn harmless(letter: char) -> bool {
    // Other symbols, such as emoji, say nothing about a figure.
    letter.is_whitespace()
        || !letter.is_ascii() && !letter.is_alphanumeric() && !"€£¥".contains(letter)
        || "*`~≈<>≤≥+±_\\\"'^.,↑↓▲▼⬆⬇✅🏆/→⇒|;:@=-–—−".contains(letter)
}

/// Returns the length of the HTML tag at the beginning of a text, which begins with `<`; 0 if it is
/// no tag.
pub(super) fn tag(text: &str) -> usize {
    let named = text[1..].starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/');
    if named { text.find('>').map_or(0, |end| end + 1) } else { 0 }
}

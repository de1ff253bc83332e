//! Where the figures that pins name stand on a page, and what they are there: the same figures, at the same spots, that
//! outputs, tables and sentences have.

use super::{Known, Place};
use crate::number::{Base, Figure, Hedge, Quantity, Unit, leading, quantities};
use crate::page::Page;
use crate::user_file::Fault;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Figures of the lines that pins name.
pub(super) struct Places<'a> {
    page: &'a Page,
    /// Indices of lines by their number: several where the page's lines are made.
    lines: HashMap<u32, Vec<u32>>,
    /// By line, in its order.
    figures: HashMap<u32, Vec<Quantity>>,
}

impl<'a> Places<'a> {
    /// The figures of some lines, by their numbers.
    pub fn of(known: &Known<'a>, numbers: impl Iterator<Item = u32>) -> Places<'a> {
        let page = known.page;
        let wanted: HashSet<u32> = numbers.collect();
        let mut lines: HashMap<u32, Vec<u32>> = HashMap::new();
        for index in 0..if wanted.is_empty() { 0 } else { page.len() } {
            let number = page.number(index);
            if wanted.contains(&number) {
                lines.entry(number).or_default().push(index as u32);
            }
        }
        let mut figures: HashMap<u32, Vec<Quantity>> =
            lines.values().flatten().map(|index| (*index, Vec::new())).collect();
        let mut add = |quantity: Quantity| {
            if let Some(line) = figures.get_mut(&quantity.figure.spot.line) {
                line.push(quantity);
            }
        };
        for output in known.outputs {
            output.said.figures(&mut |(_, unit, figure)| add(quantity(page, unit, figure)));
        }
        for cell in
            known.tables.iter().flat_map(|table| &table.rows).flat_map(|row| row.cells.iter().flatten())
        {
            cell.figure.iter().chain(&cell.share).chain(&cell.more).for_each(|one| add(*one));
        }
        known.clauses.iter().flat_map(|clause| &clause.figures).for_each(|one| add(*one));
        figures.values_mut().for_each(|line| line.sort_by_key(|one| one.figure.spot));
        Places { page, lines, figures }
    }

    /// Where a text stands, whatever it is.
    pub fn text(&self, place: &Place) -> Result<(u32, Range<usize>), Fault> {
        let mut found = self.found(place);
        let first = found.next().ok_or_else(|| self.missing(place))?;
        if found.next().is_some() { Err(self.several(place)) } else { Ok(first) }
    }

    /// The one figure that a place names.
    pub fn figure(&self, place: &Place) -> Result<Quantity, Fault> {
        let mut any = false;
        let mut found: Option<Quantity> = None;
        for (line, bytes) in self.found(place) {
            any = true;
            for one in self.within(line, &bytes, &place.text) {
                match found {
                    Some(known) if known.figure.spot != one.figure.spot => return Err(self.several(place)),
                    _ => found = Some(one),
                }
            }
        }
        match found {
            Some(found) => Ok(found),
            None if any => Err(place.wrong("figure", &format!("\"{}\" is no figure", shown(&place.text)))),
            None => Err(self.missing(place)),
        }
    }

    /// Where the text stands whole on lines of that number: `18.4` is no part of `118.4`.
    fn found(&self, place: &Place) -> impl Iterator<Item = (u32, Range<usize>)> {
        let lines = self.lines.get(&place.line).into_iter().flatten().copied();
        lines.flat_map(move |index| {
            let line = self.page.line(index as usize);
            let column = place.column.map(|column| line.char_indices().nth(column - 1).map(|(at, _)| at));
            // A column that is not there is none that anything stands at.
            let (from, end) = match column {
                Some(Some(at)) => (at, (at + place.text.len()).min(line.len())),
                Some(None) => (line.len(), line.len()),
                None => (0, line.len()),
            };
            let part = line.get(from..end).unwrap_or("");
            let all = part
                .match_indices(place.text.as_str())
                .map(move |(at, _)| from + at..from + at + place.text.len());
            all.filter(|bytes| is_whole(line, bytes)).map(move |bytes| (index, bytes))
        })
    }

    /// Figures that begin within some bytes of a line; where nothing else knows one, what the text itself says.
    fn within(&self, line: u32, bytes: &Range<usize>, text: &str) -> Vec<Quantity> {
        let known = self.figures.get(&line).map(Vec::as_slice).unwrap_or_default();
        let first = known.partition_point(|one| (one.figure.spot.start as usize) < bytes.start);
        let inside = known[first..].iter().take_while(|one| (one.figure.spot.start as usize) < bytes.end);
        // Two are enough to be too many.
        let mut found: Vec<Quantity> = inside.take(64).copied().collect();
        found.dedup_by_key(|one| one.figure.spot);
        if found.is_empty() {
            found = quantities(line as usize, text);
            for one in &mut found {
                one.figure.spot.start += bytes.start as u32;
                one.figure.spot.end += bytes.start as u32;
            }
        }
        found
    }

    fn several(&self, place: &Place) -> Fault {
        let columns: Vec<String> = self
            .found(place)
            .take(8)
            .map(|(line, bytes)| column(self.page.line(line as usize), bytes.start).to_string())
            .collect();
        let why = match columns.as_slice() {
            [_] => format!("\"{}\" has several figures; write one", shown(&place.text)),
            columns => format!(
                "\"{}\" stands several times on line {} of the page; write column = {}",
                shown(&place.text),
                place.line,
                columns.join(" or ")
            ),
        };
        place.wrong("figure", &why)
    }

    /// Says what stands there instead, and where the text is.
    fn missing(&self, place: &Place) -> Fault {
        let text = shown(&place.text);
        let Some(lines) = self.lines.get(&place.line) else {
            let last = self.page.number(self.page.len().saturating_sub(1));
            return place
                .wrong("line", &format!("there is no line {} on the page, which has {last}", place.line));
        };
        let there = self.page.line(lines[0] as usize).trim();
        let there = if there.is_empty() { "nothing".to_owned() } else { format!("\"{}\"", shown(there)) };
        let on = |index: &usize| {
            let line = self.page.line(*index);
            let all = line.match_indices(place.text.as_str());
            all.take(64).any(|(at, text)| is_whole(line, &(at..at + text.len())))
        };
        let elsewhere: Vec<String> = (0..self.page.len())
            .filter(on)
            .take(3)
            .map(|index| self.page.number(index).to_string())
            .collect();
        let elsewhere = match (place.column, elsewhere.as_slice()) {
            (_, []) => "; it is nowhere else on the page".to_owned(),
            (Some(column), _) if elsewhere.contains(&place.line.to_string()) => {
                format!("; it does not begin at column {column}")
            }
            (_, lines) => format!("; it is on line {}", lines.join(", ")),
        };
        place.wrong(
            "figure",
            &format!("\"{text}\" is not on line {} of the page, which has {there}{elsewhere}", place.line),
        )
    }
}

/// A figure of an output, whose digits are those that are printed.
fn quantity(page: &Page, unit: Unit, figure: Figure) -> Quantity {
    let (printed, _, decimals) = leading(page.quote(figure.spot)).unwrap_or((0.0, 0, 0));
    let scale = if printed == 0.0 { 1.0 } else { figure.value / printed };
    let decimals = u8::try_from(decimals).unwrap_or(u8::MAX);
    Quantity { figure, unit, scale, base: Base::None, decimals, hedge: Hedge::Plain }
}

/// Whether neither a digit nor a letter goes on where a text begins or ends with one.
fn is_whole(line: &str, bytes: &Range<usize>) -> bool {
    let text = &line[bytes.clone()];
    let (before, behind) = (&line[..bytes.start], &line[bytes.end..]);
    let digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    let point = |letter: Option<char>| matches!(letter, Some('.' | ','));
    let starts = digit(text.chars().next());
    let mut left = before.chars().rev();
    let last = left.next();
    let goes_on_left = starts && (digit(last) || (point(last) && digit(left.next())));
    let mut right = behind.chars();
    let next = right.next();
    let ends = text.chars().next_back();
    let goes_on_right = (digit(ends) && (digit(next) || (point(next) && digit(right.next()))))
        || (ends.is_some_and(|letter| letter.is_ascii_alphabetic())
            && next.is_some_and(|next| next.is_ascii_alphabetic()));
    !goes_on_left && !goes_on_right
}

fn column(line: &str, byte: usize) -> usize {
    line[..byte].chars().count() + 1
}

/// The beginning of a text, for a message.
fn shown(text: &str) -> String {
    const SHOWN: usize = 100;
    let short: String = text.chars().take(SHOWN).collect();
    let more = if text.chars().nth(SHOWN).is_some() { "\u{2026}" } else { "" };
    format!("{}{more}", crate::harmless::shown(&short))
}

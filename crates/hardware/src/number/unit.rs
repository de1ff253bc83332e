//! Units as people write them in Latin, Cyrillic and Chinese letters, with their sizes.

use super::words::number_words;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumberUnit {
    Bare,
    /// Percent, with the value as printed: 94 for `94 %`.
    Percent,
    /// I/Os, transactions or loops per second.
    PerSecond,
    BytesPerSecond,
    BitsPerSecond,
    Bytes,
    Nanoseconds,
    /// `4x`, `4 times`, `4倍`.
    Times,
    /// Hertz: a clock, never a measured result.
    Hertz,
    /// Millions of Whetstone instructions per second.
    Mwips,
    /// Cores, virtual machines, drives: countable things.
    Things,
}

impl NumberUnit {
    /// Returns true for a rate per second. In a text such a figure is nearly always a result.
    pub fn is_rate(self) -> bool {
        matches!(
            self,
            NumberUnit::PerSecond
                | NumberUnit::BytesPerSecond
                | NumberUnit::BitsPerSecond
                | NumberUnit::Mwips
        )
    }

    /// Returns true if settings never have this unit.
    pub fn is_of_results(self) -> bool {
        !matches!(
            self,
            NumberUnit::Bare | NumberUnit::Bytes | NumberUnit::Hertz | NumberUnit::Things
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefixBase {
    None,
    /// `MB`, `k`: 1000 by the standard; for bytes often 1024 in practice.
    Decimal,
    Binary,
}

/// A unit, with the size of a printed 1 in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    pub unit: NumberUnit,
    /// Factor from the printed number to the base of the unit: 1,000,000 for `MB/s`.
    pub scale: f64,
    pub base: PrefixBase,
}

/// Unit that a text begins with. `scale` is the factor from the printed number to the unit's base,
/// `bytes` the length of the unit's spelling.
pub(super) struct ReadUnit {
    pub unit: NumberUnit,
    pub scale: f64,
    pub base: PrefixBase,
    pub bytes: usize,
}

const PREFIXES: &[(char, i32)] =
    &[('k', 1), ('K', 1), ('M', 2), ('m', 2), ('G', 3), ('g', 3), ('T', 4), ('t', 4)];

/// Returns the unit of a text that contains nothing else, such as the head of a column.
pub fn whole_unit(text: &str) -> Option<Measure> {
    let read = read_unit(text).filter(|read| read.bytes == text.len())?;
    Some(Measure { unit: read.unit, scale: read.scale, base: read.base })
}

/// Returns the unit that a text begins with. `None` if letters or digits directly after it make it
/// another word.
pub(super) fn read_unit(text: &str) -> Option<ReadUnit> {
    // Most texts after a figure are not units.
    if !text.starts_with(|next: char| next.is_alphabetic() || matches!(next, '%' | '％' | '×')) {
        return None;
    }
    if let Some((word, factor)) =
        number_words().multiples.iter().find(|(word, _)| text.starts_with(word))
    {
        let after = &text[word.len()..];
        let space = after.len() - after.trim_start_matches(' ').len();
        if let Some(read) =
            read_unit(&after[space..]).filter(|read| space < 2 && read.unit != NumberUnit::Percent)
        {
            return Some(ReadUnit {
                scale: read.scale * factor,
                bytes: word.len() + space + read.bytes,
                ..read
            });
        }
        // `27万9572` continues with digits.
        let whole = ends(text, word.len()) || !word.starts_with(cyrillic);
        return whole.then_some(ReadUnit {
            unit: NumberUnit::Bare,
            scale: *factor,
            base: PrefixBase::Decimal,
            bytes: word.len(),
        });
    }
    unit_word(text)
        .or_else(|| counted_unit(text).filter(|read| ends(text, read.bytes)))
        .or_else(|| per_second(text))
}

pub fn cyrillic(letter: char) -> bool {
    ('а'..='я').contains(&letter) || ('А'..='Я').contains(&letter)
}

/// Returns true if a unit can end at this byte: no ASCII or Cyrillic letter, ASCII digit or
/// underscore follows. Chinese characters may follow, since Chinese is written without spaces.
fn ends(text: &str, at: usize) -> bool {
    !text[at..]
        .starts_with(|next: char| next.is_ascii_alphanumeric() || cyrillic(next) || next == '_')
}

fn unit_word(text: &str) -> Option<ReadUnit> {
    let begins =
        |name: &str| text.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
    for (name, (unit, scale)) in number_words().units(text).iter().filter(|(name, _)| begins(name))
    {
        // Endings of `процентов`.
        let percent = *unit == NumberUnit::Percent;
        let rest = text[name.len()..]
            .chars()
            .take_while(|next| percent && name.len() > 3 && next.is_alphabetic());
        let bytes = name.len() + rest.map(char::len_utf8).sum::<usize>();
        if ends(text, bytes) {
            return Some(ReadUnit { unit: *unit, scale: *scale, base: PrefixBase::None, bytes });
        }
    }
    None
}

/// Reads any word of 2 to 14 letters per second: `tx/s`, `req/sec`, `k rows/s`.
fn per_second(text: &str) -> Option<ReadUnit> {
    let (factor, from) = match text.as_bytes() {
        [b'k' | b'K', b' ', ..] => (1e3, 2),
        [b'M', b' ', ..] => (1e6, 2),
        _ => (1.0, 0),
    };
    let rest = &text[from..];
    let word = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let after = rest[word..].strip_prefix('/')?;
    let second = ["seconds", "second", "sec", "s"]
        .into_iter()
        .find(|second| after.starts_with(second) && ends(after, second.len()))?;
    let base = if factor > 1.0 { PrefixBase::Decimal } else { PrefixBase::None };
    let bytes = from + word + 1 + second.len();
    (2..=14).contains(&word).then_some(ReadUnit {
        unit: NumberUnit::PerSecond,
        scale: factor,
        base,
        bytes,
    })
}

/// Reads a unit with or without a prefix of 1000 or 1024 (`KiB/s`, `Gbit/s`, `k IOPS`), or a lone
/// `k`, `K` or `M`.
fn counted_unit(text: &str) -> Option<ReadUnit> {
    let latin = latin(text);
    let letter = |at: usize| latin.get(at).map(|(letter, _)| *letter);
    let prefix = PREFIXES.iter().find(|(prefix, _)| letter(0) == Some(*prefix));
    let binary = prefix.is_some() && letter(1) == Some('i');
    let prefix_letters = usize::from(prefix.is_some()) + usize::from(binary);
    let (scale, base) = match prefix {
        None => (1.0, PrefixBase::None),
        Some((_, power)) if binary => (1024f64.powi(*power), PrefixBase::Binary),
        Some((_, power)) => (1000f64.powi(*power), PrefixBase::Decimal),
    };
    for (name, unit) in &number_words().counted {
        let spaced = *unit == NumberUnit::PerSecond && letter(prefix_letters) == Some(' ');
        let from = prefix_letters + usize::from(spaced);
        let mut letters = latin.iter().skip(from).map(|(letter, _)| *letter);
        if name.chars().all(|own| letters.next() == Some(own)) {
            return Some(ReadUnit {
                unit: *unit,
                scale,
                base,
                bytes: latin[from + name.len() - 1].1,
            });
        }
    }
    // A lone prefix belongs to a count; `g` and `t` are grams and tonnes, `m` metres or minutes.
    let alone = letter(1).is_none_or(|next| !next.is_alphanumeric());
    let count = alone && matches!(prefix, Some(('k' | 'K' | 'M', _)));
    count.then(|| ReadUnit { unit: NumberUnit::Bare, scale, base, bytes: latin[0].1 })
}

/// Returns about the first 12 letters of a text in Latin, those of Cyrillic units and full-width
/// ones converted (`МБ/с` is `MB/s`, `Гбит/с` is `Gbit/s`). Each is paired with the byte offset
/// after it.
fn latin(text: &str) -> Vec<(char, usize)> {
    let mut letters: Vec<(char, usize)> = Vec::with_capacity(16);
    let mut end = 0;
    while letters.len() < 12 {
        let rest = &text[end..];
        let Some(letter) = rest.chars().next() else { break };
        let known = if letter.is_ascii() {
            None
        } else {
            number_words().latin.iter().find(|(own, _)| rest.starts_with(own))
        };
        end += known.map_or(letter.len_utf8(), |(own, _)| own.len());
        match (letter, known) {
            (_, Some((_, made))) => letters.extend(made.chars().map(|made| (made, end))),
            // `МБ/c` with a Latin c, as keyboards produce it.
            ('c', _) if letters.last().is_some_and(|(before, _)| *before == '/') => {
                letters.push(('s', end))
            }
            ('\u{ff21}'..='\u{ff5a}', _) => {
                letters.push((char::from_u32(letter as u32 - 0xfee0).unwrap_or(letter), end));
            }
            (other, _) => letters.push((other, end)),
        }
    }
    letters
}

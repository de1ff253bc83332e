//! Finds the figures in a line of text.

use super::unit::{self, NumberUnit, PrefixBase, cyrillic};
use super::words::number_words;
use super::{NumberHedge, Quantity, rounded};
use crate::TextSpan;

/// How a text groups digits, if more is known than the text itself shows, such as from the other
/// cells of a table's column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// True if the comma is the decimal sign and the point groups thousands: `1.234` is more than a
    /// thousand.
    pub decimal_comma: bool,
    /// True if single spaces group thousands. Safe only if the text is a single figure.
    pub spaces: bool,
}

pub fn quantities(line: usize, text: &str) -> Vec<Quantity> {
    quantities_in(line, text, Style::default())
}

pub fn quantities_in(line: usize, text: &str, style: Style) -> Vec<Quantity> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = next_digit(text, at) {
        match read_quantity(line, text, start, style) {
            Some((quantity, end)) => {
                found.push(quantity);
                at = end;
            }
            None => at = after_word(text, start),
        }
    }
    found
}

/// Returns the figure of a cell that contains exactly one, perhaps in brackets. Words around it are
/// allowed.
pub fn quantity(line: usize, text: &str) -> Option<Quantity> {
    match quantities(line, text).as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

fn next_digit(text: &str, from: usize) -> Option<usize> {
    text.get(from..)?
        .char_indices()
        .find(|(_, letter)| digit(*letter).is_some())
        .map(|(at, _)| from + at)
}

/// Returns the value of a decimal digit, ASCII or full-width.
fn digit(letter: char) -> Option<u8> {
    match letter {
        '0'..='9' => Some(letter as u8 - b'0'),
        '\u{ff10}'..='\u{ff19}' => u8::try_from(letter as u32 - 0xff10).ok(),
        _ => None,
    }
}

/// Returns the byte offset after the word that contains the byte `at`. A word is ASCII letters,
/// digits and `.`, `,`, `-`, `_`, `:` or `/`.
fn after_word(text: &str, at: usize) -> usize {
    let part = |letter: char| {
        letter.is_ascii_alphanumeric()
            || digit(letter).is_some()
            || matches!(letter, '.' | ',' | '-' | '_' | ':' | '/')
    };
    text[at..]
        .char_indices()
        .find(|(_, letter)| !part(*letter))
        .map_or(text.len(), |(end, _)| at + end)
}

/// Returns the figure whose digits begin at byte `start`, and the byte offset after it. `None` if
/// the digits are part of a name, a version, a date or a time.
fn read_quantity(line: usize, text: &str, start: usize, style: Style) -> Option<(Quantity, usize)> {
    let before = text[..start].chars().next_back();
    // `(QD=1):26.985 MB/s`; a colon after a letter or a digit belongs to a name or a time.
    let labelled = || {
        text[..start]
            .strip_suffix(':')
            .is_some_and(|label| !label.ends_with(|last: char| last.is_ascii_alphanumeric()))
    };
    if before.is_some_and(|before| part_of_name(before) && !(before == ':' && labelled())) {
        return None;
    }
    let digits = match Digits::spaced(&text[start..], style).filter(|_| !text.is_ascii()) {
        Some(spaced) => spaced,
        None => Digits::read_digits(&text[start..], style)?,
    };
    let mut end = start + digits.bytes;
    if is_date(&text[end..]) {
        return None;
    }
    let (mut unit, mut scale, mut base) = (NumberUnit::Bare, 1.0, PrefixBase::None);
    // After at most one space.
    let space =
        text[end..].chars().next().filter(|next| matches!(next, ' ' | '\u{a0}' | '\u{202f}'));
    let from = end + space.map_or(0, char::len_utf8);
    if let Some(read) = unit::read_unit(&text[from..]) {
        (unit, scale, base) = (read.unit, read.scale, read.base);
        end = from + read.bytes;
    } else if text[end..].starts_with(|next: char| next.is_ascii_alphabetic() || next == '_') {
        return None;
    }
    // `Ryzen 9 7950X`.
    if unit == NumberUnit::Times && digits.value >= 1000.0 && text[..end].ends_with('X') {
        return None;
    }
    // `27万9572`.
    let mut value = digits.value;
    let rest = text[end..].bytes().take_while(u8::is_ascii_digit).count();
    if scale == 1e4 && unit == NumberUnit::Bare && digits.decimals == 0 && (1..=4).contains(&rest) {
        value += text[end..end + rest].parse::<f64>().unwrap_or(0.0) / 1e4;
        end += rest;
    }
    let sign = before.filter(|letter| matches!(letter, '-' | '\u{2212}')).map_or(0, char::len_utf8);
    let mut from = start;
    if sign > 0 && minus(&text[..start - sign]) {
        (from, value) = (start - sign, -value);
    }
    let figure = rounded(TextSpan::new(line, from..end), value, digits.decimals, scale);
    let decimals = u8::try_from(digits.decimals).unwrap_or(u8::MAX);
    let hedge = hedge(&text[..from], &text[end..]);
    Some((Quantity { figure, unit, scale, base, decimals, hedge }, end))
}

/// Returns true if this text after a number makes the number the year of a date: `/07/10` after
/// `2025`.
fn is_date(after: &str) -> bool {
    let mut parts = after.splitn(4, '/').skip(1);
    let two = |part: Option<&str>| {
        part.is_some_and(|part| {
            part.len() >= 2 && part.as_bytes()[..2].iter().all(u8::is_ascii_digit)
        })
    };
    after.starts_with('/') && two(parts.next()) && two(parts.next())
}

/// Returns true if this character directly before digits makes them part of a name, a version or a
/// path.
fn part_of_name(letter: char) -> bool {
    letter.is_ascii_alphabetic() || cyrillic(letter) || "_.,/#:@\\$".contains(letter)
}

/// Returns true if a hyphen after the text `before` is a minus sign: at the start or after a space
/// or an opening bracket, but not in `E5-2678` or `+-5`.
fn minus(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_none_or(|letter| !letter.is_alphanumeric() && !")]%.+".contains(letter))
}

struct Digits {
    value: f64,
    decimals: usize,
    bytes: usize,
}

impl Digits {
    /// Reads the number that a text begins with, in forms such as `1,234.5`, `1.234,5`, `1 234,5`
    /// or `12,5`. `None` for versions (`7.9.2009`), dates (`2021-11-18`) and digits around a colon
    /// (`00:38:52`).
    fn read_digits(text: &str, style: Style) -> Option<Digits> {
        if let Some(plain) = Digits::read_plain_digits(text, style) {
            return Some(plain);
        }
        // All digits; the number of digits in each group; the signs between the groups.
        let (mut digits, mut groups, mut signs, mut bytes) =
            (String::new(), vec![0usize], Vec::new(), 0);
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            if let Some(value) = digit(letter) {
                digits.push(char::from(b'0' + value));
                *groups.last_mut()? += 1;
                bytes = at + letter.len_utf8();
                continue;
            }
            if letters.peek().and_then(|(_, next)| digit(*next)).is_none() {
                break;
            }
            match letter {
                '.' | '．' => signs.push('.'),
                ',' | '，' => signs.push(','),
                // `3 604,00`: a space groups thousands if exactly three digits follow and at most
                // three precede it.
                ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' => {
                    let after = &text[at + letter.len_utf8()..];
                    let three =
                        after.chars().take_while(|letter| digit(*letter).is_some()).count() == 3;
                    let alike = signs.iter().all(|before| *before == letter);
                    if letter == ' ' && !style.spaces || !three || !alike || groups[0] > 3 {
                        break;
                    }
                    signs.push(letter);
                }
                // Times, dates and addresses: `00:38:52`, `2021-11-18`, `10:1`.
                ':' => return None,
                '-' if groups == [4] && digits.starts_with(['1', '2']) => return None,
                _ => break,
            }
            groups.push(0);
        }
        let zero = groups[0] == 1 && digits.starts_with('0');
        let decimals = decimals(&groups, &signs, zero, style)?;
        digits.insert(digits.len() - decimals, '.');
        Some(Digits { value: digits.parse().ok()?, decimals, bytes })
    }

    /// Reads `20 000 IOPS`, as most languages other than English write it: single spaces group
    /// thousands before a rate.
    fn spaced(text: &str, style: Style) -> Option<Digits> {
        let first = text.bytes().take_while(u8::is_ascii_digit).count();
        let follows = (1..=3).contains(&first)
            && text[first..]
                .strip_prefix(' ')
                .is_some_and(|next| next.starts_with(|next: char| next.is_ascii_digit()));
        let digits = Digits::read_digits(text, Style { spaces: true, ..style })
            .filter(|one| follows && one.bytes > first + 3)?;
        let after = text[digits.bytes..].trim_start_matches([' ', '\u{a0}']);
        unit::read_unit(after).is_some_and(|read| read.unit.is_rate()).then_some(digits)
    }

    /// Reads digits, with or without a point and decimals, faster than [`Digits::read_digits`].
    /// `None` for more than 15 digits, or if the next character could continue the number.
    fn read_plain_digits(text: &str, style: Style) -> Option<Digits> {
        let bytes = text.as_bytes();
        let run =
            |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = run(0);
        let point = bytes.get(whole) == Some(&b'.') && !style.decimal_comma;
        let decimals = if point { run(whole + 1) } else { 0 };
        let end = if decimals > 0 { whole + 1 + decimals } else { whole };
        let goes_on = |byte: &u8| {
            !byte.is_ascii() || b".,:-/".contains(byte) || (*byte == b' ' && style.spaces)
        };
        if whole == 0 || whole + decimals > 15 || bytes.get(end).is_some_and(goes_on) {
            return None;
        }
        let (value, _, _) = super::leading(&text[..end])?;
        Some(Digits { value, decimals, bytes: end })
    }
}

/// Returns the number of digits after the decimal sign; `None` if the groups are those of a
/// version. `groups` are the lengths of the runs of digits between the `signs`; `zero` is true if
/// the first run is `0`.
fn decimals(groups: &[usize], signs: &[char], zero: bool, style: Style) -> Option<usize> {
    let last = groups[groups.len() - 1];
    match signs {
        [] => Some(0),
        // `1,234` is about one thousand if one to three digits precede three; `12,5` has a decimal
        // comma.
        [sign] => {
            let grouped = last == 3 && groups[0] <= 3 && !zero;
            let thousands = match sign {
                '.' => style.decimal_comma && grouped,
                ',' => !style.decimal_comma && grouped,
                _ => true,
            };
            Some(if thousands { 0 } else { last })
        }
        [many @ .., sign] => {
            let first = many[0];
            let thousands =
                groups[1..groups.len() - 1].iter().all(|group| *group == 3) && groups[0] <= 3;
            if !thousands || many.iter().any(|sign| *sign != first) {
                None
            } else if *sign != first {
                Some(last)
            } else {
                (last == 3 && (first != '.' || style.decimal_comma)).then_some(0)
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalSign {
    Point,
    Comma,
    /// `1.234`, `1,234`: the sign may group thousands or be a decimal sign.
    Either,
    Nothing,
}

pub fn shows(text: &str) -> DecimalSign {
    let Some(start) = text.find(|letter: char| letter.is_ascii_digit()) else {
        return DecimalSign::Nothing;
    };
    let number = text[start..]
        .split(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != ',')
        .next();
    let mut groups: Vec<&str> = number.unwrap_or("").split(['.', ',']).collect();
    // A full stop after the number is not one of its signs.
    if let Some(stop) = groups.iter().position(|group| group.is_empty()) {
        groups.truncate(stop);
    }
    let sign = |at: usize| {
        text.as_bytes()[start + groups[..at].iter().map(|group| group.len() + 1).sum::<usize>() - 1]
    };
    let (first, last) = (groups[0], groups[groups.len() - 1]);
    let signs = groups.len() - 1;
    let comma = signs > 0 && sign(signs) == b',';
    let (decimal, other) = if comma {
        (DecimalSign::Comma, DecimalSign::Point)
    } else {
        (DecimalSign::Point, DecimalSign::Comma)
    };
    let whole = first.len() <= 3 && groups.iter().take(signs).skip(1).all(|group| group.len() == 3);
    match signs {
        0 => DecimalSign::Nothing,
        1 if last.len() != 3 || !whole || first.starts_with('0') => decimal,
        1 => DecimalSign::Either,
        _ if !whole => DecimalSign::Nothing,
        _ if (1..signs).any(|at| sign(at) != sign(signs)) => decimal,
        _ if last.len() == 3 => other,
        _ => DecimalSign::Nothing,
    }
}

/// Returns true if a text is only a word that hedges the figure beside it.
pub fn hedges(text: &str) -> bool {
    number_words().hedges(text)
}

fn hedge(before: &str, after: &str) -> NumberHedge {
    let before = before.trim_end_matches([' ', '(', '（']);
    // An arrow shows what became of the figure before it.
    if ["->", "=>"].iter().any(|arrow| before.ends_with(arrow)) {
        return NumberHedge::Plain;
    }
    let own = || after.trim_start().starts_with("左右").then_some(NumberHedge::About);
    number_words().hedge(before).or_else(own).unwrap_or(NumberHedge::Plain)
}

//! Finds the figures of a line.

use super::unit::{self, Base, Unit};
use super::{Hedge, Quantity, rounded};
use crate::page::Spot;

/// Words before a figure that hedge it, in the languages of the pages.
const HEDGES: &[(&str, Hedge)] = &[
    ("+-", Hedge::PlusMinus),
    ("±", Hedge::PlusMinus),
    ("+/-", Hedge::PlusMinus),
    ("~", Hedge::About),
    ("≈", Hedge::About),
    ("about", Hedge::About),
    ("around", Hedge::About),
    ("approximately", Hedge::About),
    ("roughly", Hedge::About),
    ("nearly", Hedge::About),
    ("almost", Hedge::About),
    ("约", Hedge::About),
    ("大约", Hedge::About),
    ("近", Hedge::About),
    ("около", Hedge::About),
    ("примерно", Hedge::About),
    ("<", Hedge::Below),
    ("less than", Hedge::Below),
    ("below", Hedge::Below),
    ("under", Hedge::Below),
    ("up to", Hedge::Below),
    ("不到", Hedge::Below),
    ("低于", Hedge::Below),
    ("менее", Hedge::Below),
    (">", Hedge::Above),
    ("more than", Hedge::Above),
    ("above", Hedge::Above),
    ("over", Hedge::Above),
    ("at least", Hedge::Above),
    ("超过", Hedge::Above),
    ("高于", Hedge::Above),
    ("более", Hedge::Above),
    ("свыше", Hedge::Above),
    ("mehr als", Hedge::Above),
    ("über", Hedge::Above),
    ("plus de", Hedge::Above),
    ("más de", Hedge::Above),
    ("más del", Hedge::Above),
    ("oltre", Hedge::Above),
    ("oltre il", Hedge::Above),
    ("mais de", Hedge::Above),
    ("超", Hedge::Above),
    ("bis zu", Hedge::Below),
    ("hasta", Hedge::Below),
    ("jusqu'à", Hedge::Below),
    ("até", Hedge::Below),
    ("rund", Hedge::About),
    ("knapp", Hedge::About),
    ("fast", Hedge::About),
    ("etwa", Hedge::About),
    ("zirka", Hedge::About),
    ("ca.", Hedge::About),
    ("ca", Hedge::About),
    ("circa", Hedge::About),
    ("environ", Hedge::About),
    ("près de", Hedge::About),
    ("quasi", Hedge::About),
    ("quasi il", Hedge::About),
    ("casi", Hedge::About),
    ("casi un", Hedge::About),
    ("unos", Hedge::About),
    ("cerca de", Hedge::About),
    ("almost a", Hedge::About),
    ("nearly a", Hedge::About),
    ("around a", Hedge::About),
    ("about a", Hedge::About),
    ("約", Hedge::About),
    ("примерно на", Hedge::About),
    ("почти", Hedge::About),
    ("почти на", Hedge::About),
];

/// How the digits of a text are grouped, where more is known than its own letters tell: a column of a table shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The comma is the decimal sign, and the point groups thousands: `1.234` is more than a thousand.
    pub decimal_comma: bool,
    /// Lone spaces group thousands: nothing but the figure stands there.
    pub spaces: bool,
}

/// All figures of a line, in order.
pub fn quantities(line: usize, text: &str) -> Vec<Quantity> {
    quantities_in(line, text, Style::default())
}

/// All figures of a text whose style is known, in order.
pub fn quantities_in(line: usize, text: &str, style: Style) -> Vec<Quantity> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = next_digit(text, at) {
        match read(line, text, start, style) {
            Some((quantity, end)) => {
                found.push(quantity);
                at = end;
            }
            None => at = behind_word(text, start),
        }
    }
    found
}

/// The figure that a cell is: one number with its unit, perhaps in brackets; words around it are allowed where
/// no second figure stands.
pub fn quantity(line: usize, text: &str) -> Option<Quantity> {
    match quantities(line, text).as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

fn next_digit(text: &str, from: usize) -> Option<usize> {
    text.get(from..)?.char_indices().find(|(_, letter)| digit(*letter).is_some()).map(|(at, _)| from + at)
}

/// The value of a digit, narrow or full-width.
fn digit(letter: char) -> Option<u8> {
    match letter {
        '0'..='9' => Some(letter as u8 - b'0'),
        '\u{ff10}'..='\u{ff19}' => u8::try_from(letter as u32 - 0xff10).ok(),
        _ => None,
    }
}

/// The byte behind the word that `at` is in.
fn behind_word(text: &str, at: usize) -> usize {
    let part = |letter: char| {
        letter.is_ascii_alphanumeric()
            || digit(letter).is_some()
            || matches!(letter, '.' | ',' | '-' | '_' | ':' | '/')
    };
    text[at..].char_indices().find(|(_, letter)| !part(*letter)).map_or(text.len(), |(end, _)| at + end)
}

/// The figure whose digits begin at `start`, and the byte behind it.
fn read(line: usize, text: &str, start: usize, style: Style) -> Option<(Quantity, usize)> {
    let before = text[..start].chars().next_back();
    if before.is_some_and(part_of_name) {
        return None;
    }
    let digits = Digits::read(&text[start..], style)?;
    let mut end = start + digits.bytes;
    let (unit, scale, base) = match unit_behind(text, end) {
        Behind::Unit(read, at) => {
            end = at;
            (read.unit, read.scale, read.base)
        }
        Behind::Nothing => (Unit::Bare, 1.0, Base::None),
        Behind::Word => return None,
    };
    // `27万9572`.
    let (digits, mut end) = (digits, end);
    let mut value = digits.value;
    let rest = text[end..].bytes().take_while(u8::is_ascii_digit).count();
    if scale == 1e4 && unit == Unit::Bare && digits.decimals == 0 && (1..=4).contains(&rest) {
        value += text[end..end + rest].parse::<f64>().unwrap_or(0.0) / 1e4;
        end += rest;
    }
    let sign = before.filter(|letter| matches!(letter, '-' | '\u{2212}')).map_or(0, char::len_utf8);
    let negative = sign > 0 && minus(&text[..start - sign]);
    let from = if negative { start - sign } else { start };
    let value = if negative { -value } else { value };
    let figure = rounded(Spot::new(line, from..end), value, digits.decimals, scale);
    let decimals = u8::try_from(digits.decimals).unwrap_or(u8::MAX);
    let hedge = hedge(&text[..from], &text[end..]);
    Some((Quantity { figure, unit, scale, base, decimals, hedge }, end))
}

/// Whether a letter before digits makes them part of a name, a version, a path.
fn part_of_name(letter: char) -> bool {
    letter.is_ascii_alphabetic()
        || ('а'..='я').contains(&letter)
        || ('А'..='Я').contains(&letter)
        || matches!(letter, '_' | '.' | ',' | '/' | '#' | ':' | '@' | '\\' | '$')
}

/// A hyphen is a minus where nothing, a space or a bracket stands before it, not in `E5-2678`.
fn minus(before: &str) -> bool {
    before.chars().next_back().is_none_or(|letter| !letter.is_alphanumeric() && !")]%.+".contains(letter))
}

struct Digits {
    value: f64,
    decimals: usize,
    bytes: usize,
}

impl Digits {
    /// `1,234.5`, `1.234,5`, `1 234,5`, `12,5`; refuses versions (`7.9.2009`), dates, times and ranges of addresses.
    fn read(text: &str, style: Style) -> Option<Digits> {
        if let Some(plain) = Digits::plain(text, style) {
            return Some(plain);
        }
        let mut groups: Vec<String> = vec![String::new()];
        let mut separators: Vec<char> = Vec::new();
        let mut bytes = 0;
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            if let Some(digit) = digit(letter) {
                groups.last_mut()?.push(char::from(b'0' + digit));
                bytes = at + letter.len_utf8();
                continue;
            }
            let next = letters.peek().and_then(|(_, next)| digit(*next));
            if next.is_none()
                || !separates(letter, &text[at + letter.len_utf8()..], &groups, &separators, style)
            {
                // Times, dates and addresses: `00:38:52`, `2021-11-18`, `10:1`.
                if matches!(letter, ':' | '-' | '/') && next.is_some() && joined(&groups, letter) {
                    return None;
                }
                break;
            }
            separators.push(letter);
            groups.push(String::new());
        }
        let (whole, fraction) = split(&groups, &separators, style)?;
        let value: f64 = format!("{whole}.{fraction}").parse().ok()?;
        Some(Digits { value, decimals: fraction.len(), bytes })
    }

    /// The quick way: digits, perhaps a point and digits, and behind them nothing that could go on.
    fn plain(text: &str, style: Style) -> Option<Digits> {
        let bytes = text.as_bytes();
        let run = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = run(0);
        let point = bytes.get(whole) == Some(&b'.') && !style.decimal_comma;
        let decimals = if point { run(whole + 1) } else { 0 };
        let end = if decimals > 0 { whole + 1 + decimals } else { whole };
        let goes_on =
            |byte: &u8| !byte.is_ascii() || b".,:-/".contains(byte) || (*byte == b' ' && style.spaces);
        if whole == 0 || whole + decimals > 15 || bytes.get(end).is_some_and(goes_on) {
            return None;
        }
        let (value, _, _) = super::leading(&text[..end])?;
        Some(Digits { value, decimals, bytes: end })
    }
}

/// Whether digits and what follows are a date, a time or a ratio rather than a figure.
fn joined(groups: &[String], letter: char) -> bool {
    letter == ':'
        || (groups.len() == 1 && groups[0].len() == 4 && letter == '-' && groups[0].starts_with(['1', '2']))
}

/// Whether a sign between digits goes on with the same number.
fn separates(letter: char, rest: &str, groups: &[String], separators: &[char], style: Style) -> bool {
    match letter {
        '.' | ',' | '．' | '，' => true,
        // `3 604,00`: a space groups thousands where exactly three digits follow and at most three stood before.
        ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' => {
            let three = rest.chars().take_while(|letter| digit(*letter).is_some()).count() == 3;
            let alike = separators.iter().all(|before| *before == letter);
            let first = groups.first().is_some_and(|group| (1..=3).contains(&group.len()));
            (letter != ' ' || style.spaces) && three && alike && first
        }
        _ => false,
    }
}

/// Whole and fraction of groups of digits; `None` where they are a version.
fn split(groups: &[String], separators: &[char], style: Style) -> Option<(String, String)> {
    let narrow = |letter: &char| match letter {
        '．' => '.',
        '，' => ',',
        other => *other,
    };
    let signs: Vec<char> = separators.iter().map(narrow).collect();
    let thousands = |range: &[String]| range.iter().all(|group| group.len() == 3);
    let all = || groups.concat();
    match signs.as_slice() {
        [] => Some((all(), String::new())),
        ['.'] if style.decimal_comma && grouped(groups) => Some((all(), String::new())),
        [','] if style.decimal_comma => Some((groups[0].clone(), groups[1].clone())),
        ['.'] => Some((groups[0].clone(), groups[1].clone())),
        // `1,234` is one thousand and so on where one to three digits stand before three; `12,5` a decimal comma.
        [','] if grouped(groups) => Some((all(), String::new())),
        [','] => Some((groups[0].clone(), groups[1].clone())),
        // A lone space groups thousands; nothing else is let through as a sign.
        [_] => Some((all(), String::new())),
        [many @ .., last] => {
            let first = many[0];
            let alike = many.iter().all(|sign| *sign == first);
            let (middle, end) = (&groups[1..groups.len() - 1], &groups[groups.len() - 1]);
            if !alike || !thousands(middle) || groups[0].len() > 3 {
                return None;
            }
            match *last {
                same if same == first && end.len() == 3 && (first != '.' || style.decimal_comma) => {
                    Some((all(), String::new()))
                }
                same if same != first => Some((groups[..groups.len() - 1].concat(), end.clone())),
                _ => None,
            }
        }
    }
}

/// Whether two groups may be of one number in the thousands.
fn grouped(groups: &[String]) -> bool {
    groups[1].len() == 3 && (1..=3).contains(&groups[0].len()) && groups[0] != "0"
}

/// What the first number of a text shows of its decimal sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// `12.5`, `1,234.5`, `1,234,567`.
    Point,
    /// `12,5`, `1.234,5`, `1.234.567`.
    Comma,
    /// `1.234`, `1,234`: a thousand or a decimal.
    Either,
    /// `1234`.
    Nothing,
}

/// What the first number of a text shows of its decimal sign.
pub fn shows(text: &str) -> Shows {
    let Some(start) = text.find(|letter: char| letter.is_ascii_digit()) else { return Shows::Nothing };
    let bytes = &text.as_bytes()[start..];
    let mut groups = [0usize; 2];
    let (mut signs, mut last, mut mixed, mut whole, mut length) = (0, 0u8, false, true, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => length += 1,
            b'.' | b',' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                if signs == 0 {
                    groups[0] = length;
                } else {
                    whole &= length == 3;
                    mixed |= last != *byte;
                }
                (signs, last, length) = (signs + 1, *byte, 0);
            }
            _ => break,
        }
    }
    groups[1] = length;
    let decimal = if last == b',' { Shows::Comma } else { Shows::Point };
    let other = if last == b',' { Shows::Point } else { Shows::Comma };
    match signs {
        0 => Shows::Nothing,
        1 if groups[1] != 3 || groups[0] > 3 || bytes[0] == b'0' => decimal,
        1 => Shows::Either,
        _ if !whole || groups[0] > 3 => Shows::Nothing,
        _ if mixed => decimal,
        _ if groups[1] == 3 => other,
        _ => Shows::Nothing,
    }
}

/// Whether a text is nothing but a word that hedges the figure behind it.
pub fn hedges(text: &str) -> bool {
    HEDGES.iter().any(|(word, _)| text.eq_ignore_ascii_case(word))
}

enum Behind {
    Unit(unit::Read, usize),
    Nothing,
    Word,
}

/// The unit behind digits, after at most one space.
fn unit_behind(text: &str, end: usize) -> Behind {
    if let Some(read) = unit::read(&text[end..]) {
        let at = end + read.bytes;
        return Behind::Unit(read, at);
    }
    let next = text[end..].chars().next();
    match next {
        Some(space @ (' ' | '\u{a0}' | '\u{202f}')) => {
            let from = end + space.len_utf8();
            match unit::read(&text[from..]) {
                Some(read) => {
                    let at = from + read.bytes;
                    Behind::Unit(read, at)
                }
                None => Behind::Nothing,
            }
        }
        Some(letter) if letter.is_ascii_alphabetic() || matches!(letter, '_') => Behind::Word,
        // `10.` of a list goes on as `10.x` only where a digit follows, which was read already.
        _ => Behind::Nothing,
    }
}

fn hedge(before: &str, behind: &str) -> Hedge {
    let before = before.trim_end_matches([' ', '(', '（']);
    // An arrow says what became of the figure before it.
    let arrow = ["->", "=>"].iter().any(|arrow| before.ends_with(arrow));
    if arrow || (before.is_empty() && !behind.contains('左')) {
        return Hedge::Plain;
    }
    let longest =
        HEDGES.iter().filter(|(word, _)| ends_with_word(before, word)).max_by_key(|(word, _)| word.len());
    match longest {
        Some((_, hedge)) => *hedge,
        None if behind.trim_start().starts_with("左右") => Hedge::About,
        None => Hedge::Plain,
    }
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let Some(from) = text.len().checked_sub(word.len()).filter(|from| text.is_char_boundary(*from)) else {
        return false;
    };
    let whole = || !text[..from].ends_with(|letter: char| letter.is_ascii_alphabetic());
    text[from..].eq_ignore_ascii_case(word)
        && (!word.is_ascii() || !word.starts_with(char::is_alphabetic) || whole())
}

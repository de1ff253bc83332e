//! Units as people write them, in Latin, Cyrillic and Chinese letters, and how much each is.

use serde::Serialize;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// No unit stands there.
    Bare,
    /// Percent, the value as printed: 94 of `94 %`.
    Percent,
    /// I/Os, transactions or loops a second.
    PerSecond,
    /// Bytes a second.
    BytesPerSecond,
    /// Bits a second.
    BitsPerSecond,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// `4x`, `4 times`, `4倍`.
    Times,
    /// Hertz: a clock, nothing that was measured.
    Hertz,
    /// Millions of Whetstone instructions a second.
    Mwips,
    /// Cores, virtual machines, drives: things that are counted.
    Things,
}

/// Whether a prefix is of 1000 or of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// No prefix.
    None,
    /// `MB`, `k`: by the standard 1000; of bytes often 1024 in fact.
    Decimal,
    /// `MiB`: 1024.
    Binary,
}

/// A unit and how much of it a printed 1 is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// What is counted.
    pub unit: Unit,
    /// How much a printed 1 is.
    pub scale: f64,
    /// Whether its prefix is of 1000 or of 1024.
    pub base: Base,
}

/// What a unit's text says: unit, scale, base, bytes of the text that it takes.
pub(super) struct Read {
    pub unit: Unit,
    pub scale: f64,
    pub base: Base,
    pub bytes: usize,
}

/// Texts that stand alone, the longer before the shorter that begins it.
const WORDS: &[(&str, Unit, f64)] = &[
    ("%", Unit::Percent, 1.0),
    ("％", Unit::Percent, 1.0),
    ("percent", Unit::Percent, 1.0),
    ("процент", Unit::Percent, 1.0),
    ("prozent", Unit::Percent, 1.0),
    ("procent", Unit::Percent, 1.0),
    ("por ciento", Unit::Percent, 1.0),
    ("pour cent", Unit::Percent, 1.0),
    ("per cento", Unit::Percent, 1.0),
    ("mwips", Unit::Mwips, 1.0),
    ("iops", Unit::PerSecond, 1.0),
    ("io/s", Unit::PerSecond, 1.0),
    ("ios/s", Unit::PerSecond, 1.0),
    ("ops/s", Unit::PerSecond, 1.0),
    ("lps", Unit::PerSecond, 1.0),
    ("tps", Unit::PerSecond, 1.0),
    ("qps", Unit::PerSecond, 1.0),
    ("usec", Unit::Nanoseconds, 1e3),
    ("msec", Unit::Nanoseconds, 1e6),
    ("nsec", Unit::Nanoseconds, 1.0),
    ("seconds", Unit::Nanoseconds, 1e9),
    ("second", Unit::Nanoseconds, 1e9),
    ("milliseconds", Unit::Nanoseconds, 1e6),
    ("microseconds", Unit::Nanoseconds, 1e3),
    ("sec", Unit::Nanoseconds, 1e9),
    ("ns", Unit::Nanoseconds, 1.0),
    ("us", Unit::Nanoseconds, 1e3),
    ("µs", Unit::Nanoseconds, 1e3),
    ("μs", Unit::Nanoseconds, 1e3),
    ("ms", Unit::Nanoseconds, 1e6),
    ("min", Unit::Nanoseconds, 60e9),
    ("s", Unit::Nanoseconds, 1e9),
    ("нс", Unit::Nanoseconds, 1.0),
    ("мкс", Unit::Nanoseconds, 1e3),
    ("мс", Unit::Nanoseconds, 1e6),
    ("сек", Unit::Nanoseconds, 1e9),
    ("纳秒", Unit::Nanoseconds, 1.0),
    ("微秒", Unit::Nanoseconds, 1e3),
    ("毫秒", Unit::Nanoseconds, 1e6),
    ("秒", Unit::Nanoseconds, 1e9),
    ("倍", Unit::Times, 1.0),
    ("times", Unit::Times, 1.0),
    ("раза", Unit::Times, 1.0),
    ("раз", Unit::Times, 1.0),
    ("x", Unit::Times, 1.0),
    ("×", Unit::Times, 1.0),
    ("ghz", Unit::Hertz, 1e9),
    ("mhz", Unit::Hertz, 1e6),
    ("khz", Unit::Hertz, 1e3),
    ("hz", Unit::Hertz, 1.0),
];

/// What follows a prefix: `B/s`, `bit/s`, nothing. A lower-case b is a bit before a rate's end only in `bit`, `bps`, `b/s`.
const COUNTED: &[(&str, Unit)] = &[
    ("Bytes/sec", Unit::BytesPerSecond),
    ("bytes/sec", Unit::BytesPerSecond),
    ("Bytes/s", Unit::BytesPerSecond),
    ("bytes/s", Unit::BytesPerSecond),
    ("Bytes", Unit::Bytes),
    ("bytes", Unit::Bytes),
    ("Byte/s", Unit::BytesPerSecond),
    ("Byte", Unit::Bytes),
    ("B/sec", Unit::BytesPerSecond),
    ("B/s", Unit::BytesPerSecond),
    ("B/S", Unit::BytesPerSecond),
    ("Bps", Unit::BytesPerSecond),
    ("BPS", Unit::BytesPerSecond),
    ("bits/sec", Unit::BitsPerSecond),
    ("bits/s", Unit::BitsPerSecond),
    ("bit/sec", Unit::BitsPerSecond),
    ("bit/s", Unit::BitsPerSecond),
    ("bps", Unit::BitsPerSecond),
    ("b/s", Unit::BitsPerSecond),
    ("B", Unit::Bytes),
];

const PREFIXES: &[(char, i32)] =
    &[('k', 1), ('K', 1), ('M', 2), ('m', 2), ('G', 3), ('g', 3), ('T', 4), ('t', 4)];

/// Words for ten thousand and the like, behind a figure or before its unit.
const MULTIPLES: &[(&str, f64)] = &[
    ("百万", 1e6),
    ("千万", 1e7),
    ("万", 1e4),
    ("亿", 1e8),
    ("тыс.", 1e3),
    ("тыс", 1e3),
    ("млн.", 1e6),
    ("млн", 1e6),
];

/// What a text says that is nothing but a unit: the head of a column.
pub fn whole(text: &str) -> Option<Measure> {
    let read = read(text).filter(|read| read.bytes == text.len())?;
    Some(Measure { unit: read.unit, scale: read.scale, base: read.base })
}

/// The unit that a text begins with; letters behind it make it another word.
pub(super) fn read(text: &str) -> Option<Read> {
    // Most of what follows a figure is no unit.
    if !text.starts_with(|next: char| next.is_alphabetic() || matches!(next, '%' | '％' | '×')) {
        return None;
    }
    if let Some((word, factor)) = MULTIPLES.iter().find(|(word, _)| text.starts_with(word)) {
        let behind = &text[word.len()..];
        let space = behind.len() - behind.trim_start_matches(' ').len();
        return match read(&behind[space..]).filter(|read| space < 2 && read.unit != Unit::Percent) {
            Some(read) => {
                Some(Read { scale: read.scale * factor, bytes: word.len() + space + read.bytes, ..read })
            }
            // `27万9572` goes on with digits.
            None if ends(text, word.len()) || !word.starts_with(['т', 'м']) => {
                Some(Read { unit: Unit::Bare, scale: *factor, base: Base::Decimal, bytes: word.len() })
            }
            None => None,
        };
    }
    let latin = latin(text);
    word(text).or_else(|| counted(&latin)).filter(|read| ends(text, read.bytes)).or_else(|| per_second(text))
}

/// A unit ends where no Latin or Cyrillic letter or digit goes on; Chinese is written without spaces.
fn ends(text: &str, at: usize) -> bool {
    let Some(next) = text[at..].chars().next() else { return true };
    !(next.is_ascii_alphanumeric()
        || ('а'..='я').contains(&next)
        || ('А'..='Я').contains(&next)
        || next == '_')
}

fn word(text: &str) -> Option<Read> {
    for (name, unit, scale) in WORDS {
        let is_it = text.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
        if is_it && (ends(text, name.len()) || *unit == Unit::Percent) {
            let bytes = match (*unit, name.len()) {
                (Unit::Percent, long) if long > 3 => long + rest_of_word(&text[long..]),
                (_, long) => long,
            };
            return Some(Read { unit: *unit, scale: *scale, base: Base::None, bytes });
        }
    }
    None
}

/// Anything a second: `tx/s`, `req/sec`, `k rows/s`.
fn per_second(text: &str) -> Option<Read> {
    let (factor, from) = match text.as_bytes() {
        [b'k' | b'K', b' ', ..] => (1e3, 2),
        [b'M', b' ', ..] => (1e6, 2),
        _ => (1.0, 0),
    };
    let rest = &text[from..];
    let word = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let behind = rest[word..].strip_prefix('/')?;
    let second = ["seconds", "second", "sec", "s"]
        .into_iter()
        .find(|second| behind.starts_with(second) && ends(behind, second.len()))?;
    let base = if factor > 1.0 { Base::Decimal } else { Base::None };
    let bytes = from + word + 1 + second.len();
    (2..=14).contains(&word).then_some(Read { unit: Unit::PerSecond, scale: factor, base, bytes })
}

/// Endings of `процентов`.
fn rest_of_word(text: &str) -> usize {
    text.chars().take_while(|next| next.is_alphabetic()).map(char::len_utf8).sum()
}

/// A prefix of 1000 or 1024, and what is counted: `k`, `KiB/s`, `Gbit/s`, `k IOPS`.
fn counted(latin: &[(char, usize)]) -> Option<Read> {
    let end_of = |at: usize| latin.get(at.wrapping_sub(1)).map_or(0, |(_, end)| *end);
    let prefix = latin.first().and_then(|(first, _)| PREFIXES.iter().find(|(letter, _)| letter == first));
    let binary = prefix.is_some() && latin.get(1).is_some_and(|(second, _)| *second == 'i');
    let behind = usize::from(prefix.is_some()) + usize::from(binary);
    let power = prefix.map_or(0, |(_, power)| *power);
    let base = match (prefix, binary) {
        (None, _) => Base::None,
        (_, true) => Base::Binary,
        (_, false) => Base::Decimal,
    };
    let scale = if binary { 1024f64 } else { 1000f64 }.powi(power);
    let made = |unit: Unit, bytes: usize| Some(Read { unit, scale, base, bytes });
    for (name, unit) in COUNTED {
        if begins(&latin[behind..], name) {
            return made(*unit, end_of(behind + name.len()));
        }
    }
    let per_second = usize::from(latin.get(behind).is_some_and(|(next, _)| *next == ' '));
    for name in ["IOPS", "iops", "IOps", "lps", "tps", "ops/s"] {
        if begins(&latin[behind + per_second..], name) {
            return made(Unit::PerSecond, end_of(behind + per_second + name.len()));
        }
    }
    let (_, first_end) = latin.first()?;
    let alone = latin.get(1).is_none_or(|(next, _)| !next.is_alphanumeric());
    match prefix {
        // A lone prefix is of a count; `g` and `t` are grams and tonnes, `m` metres or minutes.
        Some(('k' | 'K' | 'M', _)) if alone && !binary => made(Unit::Bare, *first_end),
        _ => None,
    }
}

fn begins(latin: &[(char, usize)], name: &str) -> bool {
    let mut letters = latin.iter().map(|(letter, _)| *letter);
    name.chars().all(|letter| letters.next() == Some(letter))
}

/// The first letters, those of Cyrillic units and full-width ones in Latin, each with the byte behind it: `МБ/с` is `MB/s`,
/// `Гбит/с` is `Gbit/s`.
fn latin(text: &str) -> Vec<(char, usize)> {
    let mut letters = Vec::with_capacity(12);
    let mut rest = text;
    let mut end = 0;
    while letters.len() < 12 {
        let Some(letter) = rest.chars().next() else { break };
        let (made, bytes): (&str, usize) = match letter {
            'б' if rest.starts_with("бит") => ("bit", "бит".len()),
            'Б' if rest.starts_with("Бит") => ("bit", "Бит".len()),
            'б' if rest.starts_with("байт") => ("B", "байт".len()),
            'Б' if rest.starts_with("Байт") => ("B", "Байт".len()),
            'Б' | 'б' => ("B", 2),
            'М' => ("M", 2),
            'К' => ("K", 2),
            'к' => ("k", 2),
            'Г' => ("G", 2),
            'Т' => ("T", 2),
            'и' => ("i", 2),
            'с' => ("s", 2),
            '／' => ("/", 3),
            // `МБ/c` with a Latin c, as keyboards have it.
            'c' if letters.last().is_some_and(|(before, _)| *before == '/') => ("s", 1),
            '\u{ff21}'..='\u{ff5a}' => {
                let narrow = char::from_u32(letter as u32 - 0xfee0).unwrap_or(letter);
                end += 3;
                rest = &rest[3..];
                letters.push((narrow, end));
                continue;
            }
            other => {
                end += other.len_utf8();
                rest = &rest[other.len_utf8()..];
                letters.push((other, end));
                continue;
            }
        };
        end += bytes;
        rest = &rest[bytes..];
        letters.extend(made.chars().map(|made| (made, end)));
    }
    letters
}

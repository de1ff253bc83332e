//! `key=value` pairs of fio's lines, and its figures with their units.

use crate::number::{Figure, leading};
use crate::page::Spot;

/// A line, and at which byte of the page's line it begins.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub index: usize,
    pub text: &'a str,
    pub from: usize,
}

/// What stands behind a `key=`.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub key: &'a str,
    pub value: &'a str,
    line: Line<'a>,
    start: usize,
}

/// A key or a value of more bytes is none: a line of nothing but signs would be read over and over.
const LONGEST: usize = 64;

/// What stands before a key.
fn parts(byte: u8) -> bool {
    matches!(byte, b' ' | b',' | b':' | b'(' | b'[' | b'\t' | b';')
}

/// What stands behind a value.
fn ends(byte: u8) -> bool {
    matches!(byte, b' ' | b',' | b')' | b']' | b';' | b'\t' | b'\r')
}

impl<'a> Line<'a> {
    /// All pairs, in order.
    pub(super) fn fields(self) -> impl Iterator<Item = Field<'a>> {
        let bytes = self.text.as_bytes();
        memchr::memchr_iter(b'=', bytes).filter_map(move |at| {
            // `>=64=0.0%`: the first sign is part of the key.
            if bytes.get(at.wrapping_sub(1)) == Some(&b'>') {
                return None;
            }
            let near = at.saturating_sub(LONGEST);
            let from = match bytes[near..at].iter().rposition(|byte| parts(*byte)) {
                Some(before) => near + before + 1,
                None if near == 0 => 0,
                None => return None,
            };
            self.pair(from, at)
        })
    }

    /// The first pair of that key. Lines are short and have a dozen: those of other keys are passed over at their sign.
    pub(super) fn field(self, key: &str) -> Option<Field<'a>> {
        let bytes = self.text.as_bytes();
        let found = memchr::memchr_iter(b'=', bytes).find_map(|at| {
            let from = at.checked_sub(key.len()).filter(|from| bytes[*from..at] == *key.as_bytes())?;
            from.checked_sub(1).is_none_or(|before| parts(bytes[before])).then_some((from, at))
        });
        found.and_then(|(from, at)| self.pair(from, at))
    }

    /// The pair whose key begins at `from` and whose `=` is at `sign`.
    fn pair(self, from: usize, sign: usize) -> Option<Field<'a>> {
        let bytes = self.text.as_bytes();
        let padding = bytes[sign + 1..].iter().take_while(|byte| **byte == b' ').count();
        let start = sign + 1 + padding;
        let behind = &bytes[start..];
        let length = match behind.iter().take(LONGEST + 1).position(|byte| ends(*byte)) {
            Some(length) => length,
            None if behind.len() <= LONGEST => behind.len(),
            None => return None,
        };
        let key = self.text.get(from..sign)?;
        let value = self.text.get(start..start + length)?;
        Some(Field { key, value, line: self, start })
    }

    /// A part of the line as a field of its own.
    pub(super) fn part(self, start: usize, end: usize) -> Option<Field<'a>> {
        Some(Field { key: "", value: self.text.get(start..end)?, line: self, start })
    }
}

impl<'a> Field<'a> {
    fn spot(&self, length: usize) -> Spot {
        let from = self.line.from + self.start;
        Spot::new(self.line.index, from..from + length)
    }

    /// A plain number, whatever stands behind it (`100.00%`, `60025msec`); the spot takes a sign of percent in.
    pub(super) fn plain(&self) -> Option<Figure> {
        let (value, bytes, decimals) = leading(self.value)?;
        let sign = usize::from(self.value.as_bytes().get(bytes) == Some(&b'%'));
        Some(crate::number::rounded(self.spot(bytes + sign), value, decimals, 1.0))
    }

    /// A number with one of fio's prefixes; where `old`, `K` and `M` of bytes are of 1024.
    pub(super) fn scaled(&self, old: bool) -> Option<Figure> {
        let (value, bytes, decimals) = leading(self.value)?;
        let unit = &self.value[bytes..];
        let (scale, power) = scale(unit, old)?;
        let mut figure = crate::number::rounded(self.spot(self.value.len()), value, decimals, scale);
        // fio cuts off what is below the second prefix before it rounds.
        if power >= 2 {
            figure.high += scale / 1000.0;
        }
        // The old way prints a remainder of 1024 as if it were a fraction.
        if old && decimals > 0 {
            figure.low = value.trunc() * scale;
            figure.high = (value.trunc() + 1.0) * scale;
        }
        Some(figure)
    }

    /// A number in nanoseconds of a unit.
    pub(super) fn time(&self, unit_ns: f64) -> Option<Figure> {
        let (value, bytes, decimals) = leading(self.value)?;
        // A prefix alone: `129MiB/s` is no time.
        let unit = &self.value[bytes..];
        let (scale, _) = scale(unit, false).filter(|_| unit.len() <= 1)?;
        Some(crate::number::rounded(self.spot(self.value.len()), value, decimals, unit_ns * scale))
    }

    /// A number that fio cuts off rather than rounds: least and most of samples.
    pub(super) fn cut(&self, scale: f64) -> Option<Figure> {
        let figure = self.plain()?;
        let value = figure.value;
        Some(Figure { value: value * scale, low: value * scale, high: (value + 1.0) * scale, ..figure })
    }
}

/// How much a unit of fio's is, and its power of a thousand.
fn scale(unit: &str, old: bool) -> Option<(f64, i32)> {
    let bytes = unit.as_bytes();
    let power = match bytes.first() {
        Some(b'k' | b'K') => 1,
        Some(b'M') => 2,
        Some(b'G') => 3,
        Some(b'T') => 4,
        Some(b'P') => 5,
        _ => 0,
    };
    let counted = unit[usize::from(power > 0)..].trim_start_matches('i');
    let binary = unit.len() > 1 && bytes.get(1) == Some(&b'i');
    let of_bytes = matches!(counted, "B" | "B/s");
    let known = of_bytes || matches!(counted, "" | "/s" | "bit/s" | "bit");
    let thousand = if binary || (old && of_bytes) { 1024f64 } else { 1000f64 };
    // With unit_base=1 bandwidths are printed in bits.
    let bits = if counted.starts_with("bit") { 8.0 } else { 1.0 };
    known.then(|| (thousand.powi(power) / bits, power))
}

//! `key=value` pairs of fio's lines, and its figures with their units.

use crate::import::cut::UnnumberedLine;
use crate::number::{PrintedNumber, leading, rounded};

/// Longest key or value, in bytes. Without a limit, a line of only such characters would be read
/// again and again.
const LONGEST: usize = 64;

fn may_precede_key(byte: u8) -> bool {
    matches!(byte, b' ' | b',' | b':' | b'(' | b'[' | b'\t' | b';')
}

fn may_follow_value(byte: u8) -> bool {
    matches!(byte, b' ' | b',' | b')' | b']' | b';' | b'\t' | b'\r')
}

pub(super) fn pairs<'a>(line: &UnnumberedLine<'a>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let text = line.text;
    memchr::memchr_iter(b'=', text.as_bytes()).filter_map(move |sign| {
        let bytes = text.as_bytes();
        // `>=64=0.0%`: the first character belongs to the key.
        if bytes.get(sign.wrapping_sub(1)) == Some(&b'>') {
            return None;
        }
        let near = sign.saturating_sub(LONGEST);
        let from = match bytes[near..sign].iter().rposition(|byte| may_precede_key(*byte)) {
            Some(before) => near + before + 1,
            None => Some(0).filter(|_| near == 0)?,
        };
        let start = sign + 1 + bytes[sign + 1..].iter().take_while(|byte| **byte == b' ').count();
        let after = &bytes[start..];
        let end = after.iter().take(LONGEST + 1).position(|byte| may_follow_value(*byte));
        let length = end.or(Some(after.len()).filter(|length| *length <= LONGEST))?;
        Some((text.get(from..sign)?, text.get(start..start + length)?))
    })
}

pub(super) fn value_of_key<'a>(line: &UnnumberedLine<'a>, key: &str) -> Option<&'a str> {
    pairs(line).find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Reads a number without a prefix, whatever follows (`100.00%`, `60025msec`). The spot includes a
/// percent sign.
pub(super) fn unprefixed_number(line: &UnnumberedLine, text: &str) -> Option<PrintedNumber> {
    let (value, bytes, decimals) = leading(text)?;
    let sign = usize::from(text.as_bytes().get(bytes) == Some(&b'%'));
    Some(rounded(line.spot(&text[..bytes + sign]), value, decimals, 1.0))
}

pub(super) fn number_of_key(line: &UnnumberedLine, key: &str) -> Option<PrintedNumber> {
    unprefixed_number(line, value_of_key(line, key)?)
}

/// Reads a number with one of fio's prefixes. With `old`, `K` and `M` of bytes are 1024-based.
pub(super) fn scaled_number(line: &UnnumberedLine, text: &str, old: bool) -> Option<PrintedNumber> {
    let (value, bytes, decimals) = leading(text)?;
    let (scale, power) = scale(&text[bytes..], old)?;
    let mut figure = rounded(line.spot(text), value, decimals, scale);
    // fio cuts off the digits below the second prefix before it rounds.
    if power >= 2 {
        figure.high += scale / 1000.0;
    }
    // Old versions print a remainder of 1024 as if it were a fraction.
    if old && decimals > 0 {
        (figure.low, figure.high) = (value.trunc() * scale, (value.trunc() + 1.0) * scale);
    }
    Some(figure)
}

/// Reads a time and returns it in nanoseconds; `unit_ns` is the line's unit. Only a prefix may
/// follow the number: `129MiB/s` is not a time.
pub(super) fn time(line: &UnnumberedLine, text: &str, unit_ns: f64) -> Option<PrintedNumber> {
    let (value, bytes, decimals) = leading(text)?;
    let unit = Some(&text[bytes..]).filter(|unit| unit.len() <= 1)?;
    Some(rounded(line.spot(text), value, decimals, unit_ns * scale(unit, false)?.0))
}

fn scale(unit: &str, old: bool) -> Option<(f64, i32)> {
    let bytes = unit.as_bytes();
    let prefixes = ["kK", "M", "G", "T", "P"];
    let of = |letters: &&str| unit.starts_with(|letter| letters.contains(letter));
    let power = prefixes.iter().position(of).map_or(0, |at| at as i32 + 1);
    let counted = unit[usize::from(power > 0)..].trim_start_matches('i');
    let of_bytes = matches!(counted, "B" | "B/s");
    let known = of_bytes || matches!(counted, "" | "/s" | "bit/s" | "bit");
    let binary = bytes.get(1) == Some(&b'i') || (old && of_bytes);
    // With unit_base=1 bandwidths are printed in bits.
    let bits = if counted.starts_with("bit") { 8.0 } else { 1.0 };
    known.then(|| (if binary { 1024f64 } else { 1000f64 }.powi(power) / bits, power))
}

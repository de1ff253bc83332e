//! Printing of numbers as fio does it (`num2str` of its library), by version, so that its output
//! can be compared digit for digit. (Read from fio's sources 2.2.10, 2.21, 3.7, 3.25, 3.26 and
//! 3.33; checked against fio 3.33 by runs.)

use super::FioVersion;
use crate::number::{Interval, PrintedNumber, leading};

/// Way in which a version of fio makes the digits after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigitStyle {
    /// Up to 2.19: the remainder is shortened digit by digit, for 1024 and 1000 alike. The prefixes
    /// are `K`, `M` for both bases.
    Remainder,
    /// Rounded, but a carry into the whole part is lost (2.20 to 3.25): 25,951 to 25,999 print as
    /// `25.0k`.
    LostCarry,
    /// Rounded correctly (from 3.26 on, and for an unknown version).
    Sound,
}

impl DigitStyle {
    pub(crate) fn from_version(version: Option<FioVersion>) -> DigitStyle {
        match version {
            Some(version) if !version.is_from(2, 20) => DigitStyle::Remainder,
            Some(version) if !version.is_from(3, 26) => DigitStyle::LostCarry,
            _ => DigitStyle::Sound,
        }
    }
}

const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// Prints `number` as a correct fio does: in at most `digits` digits (the point counts), with the
/// prefix of 1024 if `binary`, else of 1000.
pub(crate) fn print(number: u64, digits: usize, binary: bool, unit: &str) -> String {
    let thousand = if binary { 1024 } else { 1000 };
    let (mut left, mut remainder, mut power) = (number, None, 0);
    while length(left) > digits && power + 1 < PREFIXES.len() {
        remainder = Some(left % thousand);
        left /= thousand;
        power += 1;
    }
    let prefix = match (binary, power) {
        (true, 1) => "Ki".to_owned(),
        (true, 2..) => format!("{}i", PREFIXES[power]),
        _ => PREFIXES[power].to_owned(),
    };
    let Some(remainder) = remainder else { return format!("{left}{prefix}{unit}") };
    let decimals = digits.saturating_sub(length(left) + 1);
    if decimals == 0 {
        return format!("{}{prefix}{unit}", left + u64::from(remainder >= thousand / 2));
    }
    let fraction = format!("{:.decimals$}", remainder as f64 / thousand as f64);
    let carried = u64::from(fraction.starts_with('1'));
    format!("{}.{}{prefix}{unit}", left + carried, &fraction[2..])
}

fn length(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Returns the values that a printed number also stands for if its carry was lost: 25,950 to 25,999
/// for `25.0k`. `None` if its digits or the version rule that out.
pub fn lost_carry_interval(
    printed: &str,
    figure: &PrintedNumber,
    era: DigitStyle,
) -> Option<Interval> {
    let (digits, _, decimals) = leading(&point(printed))?;
    if era != DigitStyle::LostCarry || decimals == 0 || digits.fract() != 0.0 || digits <= 0.0 {
        return None;
    }
    let scale = figure.value / digits;
    let half = 0.5 * 10f64.powi(-i32::try_from(decimals).ok()?);
    Some(Interval { low: (digits + 1.0 - half) * scale, high: (digits + 1.0) * scale })
}

/// Replaces a decimal comma (before one or two digits, as in fio's figures) with a point.
fn point(text: &str) -> std::borrow::Cow<'_, str> {
    let digits_after = text
        .split_once(',')
        .map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    if matches!(digits_after, 1 | 2) { text.replacen(',', ".", 1).into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_printed_as_fio_does() {
        assert_eq!(print(25_991, 4, false, ""), "26.0k");
        assert_eq!(print(9_999, 4, false, ""), "9999");
        assert_eq!(print(107_000_123, 4, false, "B/s"), "107MB/s");
        assert_eq!(print(31_967_477_760, 4, true, "B"), "29.8GiB");
    }

    #[test]
    fn what_lost_its_carry_is_told_by_its_zeros() {
        let meant = |printed: &str, era| {
            let (value, _, decimals) = leading(printed).unwrap();
            lost_carry_interval(
                printed,
                &crate::number::rounded(crate::page::TextSpan::default(), value, decimals, 1e3),
                era,
            )
        };
        let of = meant("25.0k", DigitStyle::LostCarry).unwrap();
        assert!(
            of.contains_value(25_991.0)
                && !of.contains_value(25_900.0)
                && !of.contains_value(26_001.0)
        );
        assert_eq!(
            (meant("25.1k", DigitStyle::LostCarry), meant("25.0k", DigitStyle::Sound)),
            (None, None)
        );
    }
}

//! How fio prints a number (`num2str` of its library), by version, so that what it printed can be compared digit for digit.
//! (Read from fio's sources 2.2.10, 2.21, 3.7, 3.25, 3.26 and 3.33; held against fio 3.33 by runs.)

use super::Version;
use crate::number::{Figure, Interval, leading};

/// How the digits behind the point come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// To 2.19: the remainder is shortened digit by digit, of 1024 as of 1000; prefixes `K`, `M` whatever the base.
    Remainder,
    /// 2.20 to 3.25: rounded, but a carry into the whole part is lost: 25,951 to 25,999 print as `25.0k`.
    LostCarry,
    /// From 3.26.
    Sound,
}

impl Era {
    /// That of a version. Where none is told, figures are as a sound one prints them.
    pub fn of(version: Option<Version>) -> Era {
        match version {
            Some(version) if !version.is_from(2, 20) => Era::Remainder,
            Some(version) if !version.is_from(3, 26) => Era::LostCarry,
            _ => Era::Sound,
        }
    }
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Most digits, the point counted: 4 of results from 2.17 on, 6 before and of latencies.
    pub digits: usize,
    /// Prefixes of 1024 rather than of 1000.
    pub binary: bool,
    /// `B/s`, or nothing.
    pub unit: &'static str,
}

impl Style {
    /// `IOPS=26.0k`.
    pub const IOPS: Style = Style { digits: 4, binary: false, unit: "" };
    /// `BW=102MiB/s`.
    pub const BANDWIDTH: Style = Style { digits: 4, binary: true, unit: "B/s" };
    /// `(107MB/s)`.
    pub const BANDWIDTH_DECIMAL: Style = Style { digits: 4, binary: false, unit: "B/s" };
    /// `29.8GiB`.
    pub const TOTAL: Style = Style { digits: 4, binary: true, unit: "B" };
    /// `(31.0GB)`.
    pub const TOTAL_DECIMAL: Style = Style { digits: 4, binary: false, unit: "B" };
}

const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const OLD: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];

/// `number` as fio prints it.
pub fn print(number: u64, style: Style, era: Era) -> String {
    let thousand = if style.binary { 1024 } else { 1000 };
    let (mut left, mut remainder, mut power) = (number, None, 0);
    while length(left) > style.digits && power + 1 < DECIMAL.len() {
        remainder = Some(left % thousand);
        left /= thousand;
        power += 1;
    }
    let prefix = match (era, style.binary) {
        (Era::Remainder, _) => OLD[power],
        (_, true) => BINARY[power],
        (_, false) => DECIMAL[power],
    };
    let unit = style.unit;
    let Some(remainder) = remainder else { return format!("{left}{prefix}{unit}") };
    let room = style.digits - length(left);
    if room <= 1 {
        let rounded = left + u64::from(remainder >= thousand / 2);
        return format!("{rounded}{prefix}{unit}");
    }
    let decimals = room - 1;
    if era == Era::Remainder {
        return format!("{left}.{}{prefix}{unit}", shortened(remainder, decimals));
    }
    let fraction = format!("{:.decimals$}", remainder as f64 / thousand as f64);
    let carried = u64::from(fraction.starts_with('1') && era == Era::Sound);
    format!("{}.{}{prefix}{unit}", left + carried, &fraction[2..])
}

fn length(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

fn shortened(mut remainder: u64, decimals: usize) -> u64 {
    while length(remainder) > decimals {
        remainder = remainder.div_ceil(10);
    }
    remainder
}

/// What a printed number may mean beside its digits where its carry was lost: `25.0k` is also printed of 25,950 to 25,999.
/// `None` where its digits or the version rule that out.
pub fn carried(printed: &str, figure: &Figure, era: Era) -> Option<Interval> {
    let (digits, _, decimals) = leading(&point(printed))?;
    if era != Era::LostCarry || decimals == 0 || digits.fract() != 0.0 || digits <= 0.0 {
        return None;
    }
    let scale = figure.value / digits;
    let half = 0.5 * 10f64.powi(-i32::try_from(decimals).ok()?);
    Some(Interval { low: (digits + 1.0 - half) * scale, high: (digits + 1.0) * scale })
}

/// A text whose decimal comma (of one or two digits, as fio's figures have) is a point.
fn point(text: &str) -> std::borrow::Cow<'_, str> {
    let behind =
        text.split_once(',').map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    if matches!(behind, 1 | 2) { text.replacen(',', ".", 1).into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_printed_as_the_versions_do() {
        let iops = |number, era| print(number, Style::IOPS, era);
        assert_eq!(iops(25_991, Era::LostCarry), "25.0k");
        assert_eq!(iops(25_991, Era::Sound), "26.0k");
        assert_eq!(iops(26_015, Era::LostCarry), "26.0k");
        assert_eq!(iops(629_010, Era::LostCarry), "629k");
        assert_eq!(iops(629_710, Era::LostCarry), "630k");
        assert_eq!(iops(9_999, Era::LostCarry), "9999");
        assert_eq!(iops(10_999, Era::LostCarry), "10.0k");
        assert_eq!(iops(1_996_000, Era::LostCarry), "1996k");
        assert_eq!(iops(13_995_100, Era::LostCarry), "13.0M");
        assert_eq!(print(107_000_123, Style::BANDWIDTH, Era::Sound), "102MiB/s");
        assert_eq!(print(107_000_123, Style::BANDWIDTH_DECIMAL, Era::Sound), "107MB/s");
        assert_eq!(print(31_967_477_760, Style::TOTAL_DECIMAL, Era::LostCarry), "31.0GB");
        assert_eq!(print(31_967_477_760, Style::TOTAL, Era::LostCarry), "29.8GiB");
        assert_eq!(print(0, Style::IOPS, Era::Sound), "0");
    }

    #[test]
    fn the_old_way_prints_remainders() {
        let old = |number| print(number, Style { digits: 6, binary: true, unit: "B" }, Era::Remainder);
        assert_eq!(old(4096 << 20), "4096.0MB");
        assert_eq!(old(611_058 << 10), "611058KB");
    }

    #[test]
    fn what_lost_its_carry_is_told_by_its_zeros() {
        let meant = |printed: &str, era| {
            let (value, bytes, decimals) = leading(printed).unwrap();
            let scale = if printed[bytes..].is_empty() { 1.0 } else { 1e3 };
            carried(
                printed,
                &crate::number::rounded(crate::page::Spot::default(), value, decimals, scale),
                era,
            )
        };
        let of = meant("25.0k", Era::LostCarry).unwrap();
        assert!(of.has(25_991.0) && !of.has(25_900.0) && !of.has(26_001.0));
        assert_eq!(meant("25.1k", Era::LostCarry), None);
        assert_eq!(meant("25.0k", Era::Sound), None);
        assert_eq!(meant("629k", Era::LostCarry), None);
    }

    proptest::proptest! {
        #[test]
        fn a_sound_print_is_within_half_a_digit(number in 0u64..1 << 50, binary: bool) {
            let printed = print(number, Style { digits: 4, binary, unit: "" }, Era::Sound);
            let (value, bytes, decimals) = leading(&printed).unwrap();
            let power = DECIMAL.iter().position(|one| *one == printed[bytes..].trim_end_matches('i').replace('K', "k")).unwrap();
            let scale = if binary { 1024f64 } else { 1000f64 }.powi(power as i32);
            let ulp = 10f64.powi(-(decimals as i32)) * scale;
            assert!((value * scale - number as f64).abs() <= 0.5 * ulp + 1.001e-3 * scale, "{number} {printed}");
        }
    }
}

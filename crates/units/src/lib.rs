//! Parses and prints quantities as people write them. A size without a unit is refused: `4` may
//! mean bytes, blocks or KiB, and fio and QEMU disagree. They agree on `4G`, which is 4 GiB.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod exit;
pub mod fio;
pub mod harmless;
pub mod random;
pub mod shell;

use std::time::Duration;

/// Bytes in one KiB.
pub const KIB: u64 = 1 << 10;
/// Bytes in one MiB.
pub const MIB: u64 = 1 << 20;
/// Bytes in one GiB.
pub const GIB: u64 = 1 << 30;

const SIZE_UNITS: &[(&str, u64)] = &[
    ("KiB", KIB),
    ("MiB", MIB),
    ("GiB", GIB),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

const TIME_UNITS: &[(&str, f64)] = &[
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("min", 60.0),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// Parses a size into bytes: `4KiB`, `1.5 GiB`, `100MB`, and also `4G`: as in fio and qemu-img, a
/// letter alone is a binary unit.
///
/// # Errors
/// Says what is wrong: no number, no unit or an unknown one, or not a whole number of bytes below
/// 9e18.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split_number(text)?;
    if unit.is_empty() {
        return Err(format!(
            "size \"{text}\" has no unit; write \"{text}KiB\", \"{text}MiB\" or \"{text}B\""
        ));
    }
    let unit_of = |name: &str| SIZE_UNITS.iter().find(|(known, _)| *known == name);
    let found = unit_of(unit).or_else(|| binary_unit(unit).and_then(unit_of));
    let (_, factor) = found.ok_or_else(|| {
        format!(
            "size \"{text}\" has unknown unit \"{unit}\"; known are {}, k, M, G, T",
            names(SIZE_UNITS)
        )
    })?;
    whole_bytes(number * *factor as f64, text)
}

/// Returns the binary unit that a word means, in upper or lower case: `KiB` for `k`, `ki` or `kib`.
/// `None` if it is no binary unit.
fn binary_unit(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    let short = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.ends_with("ib") && [&name[..1], &name[..2], &name[..]].contains(&word.as_str())
    };
    SIZE_UNITS.iter().map(|(name, _)| *name).find(|name| short(name))
}

fn whole_bytes(bytes: f64, text: &str) -> Result<u64, String> {
    if bytes.fract() != 0.0 || !(0.0..9e18).contains(&bytes) {
        return Err(format!("size \"{text}\" is not a whole number of bytes"));
    }
    Ok(bytes as u64)
}

/// Parses `30s`, `5 min`, `50ms`.
///
/// # Errors
/// Says what is wrong: no number, no unit or an unknown one, or a time too long for a [`Duration`].
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_number(text)?;
    if unit.is_empty() {
        return Err(format!("time \"{text}\" has no unit; write \"{text}s\" or \"{text}ms\""));
    }
    let factor = TIME_UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor)
        .ok_or_else(|| {
            format!("time \"{text}\" has unknown unit \"{unit}\"; known are {}", names(TIME_UNITS))
        })?;
    Duration::try_from_secs_f64(number * factor)
        .map_err(|error| format!("time \"{text}\": {error}"))
}

/// Parses `1 %` or `0.5%` into a fraction: 0.01 or 0.005.
///
/// # Errors
/// Says what is wrong: no number, no `%`, or more than 100 %.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    let (number, unit) = split_number(text)?;
    match unit {
        "%" if (0.0..=100.0).contains(&number) => Ok(number / 100.0),
        "%" => Err(format!("\"{text}\" is not between 0 % and 100 %")),
        _ => Err(format!("\"{text}\" is not a percentage; write \"{number}%\"")),
    }
}

/// Figure that a tool printed, with the range of values that round to it: in the unit of its
/// [`Counted`], or as a fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrintedValue {
    /// Value as printed, in that unit; the bound itself if the text is a bound (`<100us`).
    pub value: f64,
    /// Least value that rounds to `value`; 0 if the text is a bound.
    pub low: f64,
    /// Largest value that rounds to `value`; `value` itself if the text is a bound.
    pub high: f64,
}

/// Quantity that a printed figure counts, which decides its units and their factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// I/Os per second, plain or with `k` or `M`.
    PerSecond,
    /// Data rate (`MiB/s`, `MB/s`, `Gbit/s`), converted to bytes per second.
    BytesPerSecond,
    /// Time, converted to nanoseconds.
    Time,
}

const RATE_UNITS: &[(&str, f64)] =
    &[("", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("lps", 1.0), ("MWIPS", 1e6)];

/// Units of network rates, each with its number of bytes per second.
const BIT_UNITS: &[(&str, f64)] =
    &[("Gbit/s", 1.25e8), ("Gbps", 1.25e8), ("Mbit/s", 1.25e5), ("Mbps", 1.25e5)];

/// Parses a figure as tools print it: `26.0k`, `28.7MiB/s`, `118.47us`, or the bound `<100us`. Its
/// range is half a unit of the last digit to either side (`26.0k` is 25.95k to 26.05k); that of a
/// bound begins at 0. After a `~` the zeros at the end of a whole number are no digits: `~20k` is
/// 15k to 25k.
///
/// # Errors
/// Says what is wrong: no number, the value 0, or a unit that does not suit `counted`.
pub fn parse_printed(text: &str, counted: Counted) -> Result<PrintedValue, String> {
    let (body, digits, unit) = split_printed(text)?;
    let sizes = || SIZE_UNITS.iter().map(|(name, factor)| (format!("{name}/s"), *factor as f64));
    let plain = |units: &[(&str, f64)]| -> Vec<(String, f64)> {
        units.iter().map(|(name, factor)| ((*name).to_owned(), *factor)).collect()
    };
    let units: Vec<(String, f64)> = match counted {
        Counted::PerSecond => plain(RATE_UNITS),
        Counted::BytesPerSecond => sizes().chain(plain(BIT_UNITS)).collect(),
        Counted::Time => {
            TIME_UNITS.iter().map(|(name, seconds)| ((*name).to_owned(), 1e9 * seconds)).collect()
        }
    };
    match units.iter().find(|(name, _)| name == unit) {
        Some((_, factor)) => Ok(rounding(text, body, digits, *factor)),
        None => {
            let known: Vec<&str> = units
                .iter()
                .map(|(name, _)| name.as_str())
                .filter(|name| !name.is_empty())
                .collect();
            let what = if unit.is_empty() {
                "no unit".to_owned()
            } else {
                format!("unknown unit \"{unit}\"")
            };
            Err(format!("\"{text}\" has {what}; known are {}", known.join(", ")))
        }
    }
}

/// Parses `94%`, `91.5 %` or `<25%` into a fraction, with the range that rounds to it. More than
/// 100 % is accepted.
///
/// # Errors
/// Says what is wrong: no number, the value 0, or no `%`.
pub fn parse_printed_share(text: &str) -> Result<PrintedValue, String> {
    match split_printed(text)? {
        (body, digits, "%") => Ok(rounding(text, body, digits, 0.01)),
        _ => Err(format!("\"{text}\" is not a percentage; write \"94%\"")),
    }
}

/// Parses the ratio of a claim, with the range that rounds to it: `4x`, `94%`, `30% less`,
/// `30% more`, each also with a leading `~`.
///
/// # Errors
/// Says what is wrong: no number, the value 0, no ratio, a bound with `less` or `more`, or 100 %
/// less.
pub fn parse_printed_ratio(text: &str) -> Result<PrintedValue, String> {
    let (body, digits, unit) = split_printed(text)?;
    let words: Vec<&str> = unit.split_whitespace().collect();
    let percent = rounding(text, body, digits, 0.01);
    let changed = |sign: f64| {
        let [value, a, b] = [percent.value, percent.low, percent.high].map(|it| 1.0 + sign * it);
        PrintedValue { value, low: a.min(b), high: a.max(b) }
    };
    let is_bound = percent.low == 0.0;
    match words.as_slice() {
        ["x"] => Ok(rounding(text, body, digits, 1.0)),
        ["%"] => Ok(percent),
        ["%", "less"] if !is_bound && percent.high < 1.0 => Ok(changed(-1.0)),
        ["%", "more"] if !is_bound => Ok(changed(1.0)),
        _ => Err(format!(
            "\"{text}\" is not a ratio; write \"4x\", \"94%\", \"30% less\" or \"30% more\", with ~ \
             before it if it was given as about that"
        )),
    }
}

/// Splits a printed figure into its value, its digits as printed, and its unit. A leading `<` or
/// `~` is dropped; the value 0 is refused.
fn split_printed(text: &str) -> Result<(f64, &str, &str), String> {
    let bare = text.trim();
    let bare = bare.strip_prefix(['<', '~']).unwrap_or(bare).trim_start();
    let (value, unit) =
        split_number(bare).map_err(|_| format!("\"{text}\" does not start with a number"))?;
    if value <= 0.0 {
        return Err(format!(
            "\"{text}\" is nothing that a share could be taken of; leave it out as \"-\""
        ));
    }
    Ok((value, bare[..bare.len() - unit.len()].trim_end(), unit))
}

fn rounding(text: &str, value: f64, digits: &str, factor: f64) -> PrintedValue {
    if text.trim().starts_with('<') {
        return PrintedValue { value: value * factor, low: 0.0, high: value * factor };
    }
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let last_digit = match digits.split_once('.') {
        Some((_, fraction)) => -i32::try_from(fraction.len()).unwrap_or(i32::MAX),
        None if text.trim().starts_with('~') => i32::try_from(zeros).unwrap_or(0),
        None => 0,
    };
    let half = 0.5 * 10f64.powi(last_digit);
    PrintedValue {
        value: value * factor,
        low: (value - half) * factor,
        high: (value + half) * factor,
    }
}

fn split_number(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 =
        text[..end].parse().map_err(|_| format!("\"{text}\" does not start with a number"))?;
    Ok((number, text[end..].trim()))
}

fn names<T>(units: &[(&str, T)]) -> String {
    units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Formats bytes in the largest binary unit that they reach: `4 KiB`, or with two decimals if they
/// are not a whole multiple of it, `1.50 GiB`.
pub fn show_bytes(bytes: u64) -> String {
    for (name, factor) in [("TiB", 1u64 << 40), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)] {
        if bytes >= factor {
            let value = bytes as f64 / factor as f64;
            return if bytes % factor == 0 {
                format!("{value:.0} {name}")
            } else {
                format!("{value:.2} {name}")
            };
        }
    }
    format!("{bytes} B")
}

/// Placeholder for the size of a drive that has not been inspected yet: larger than any drive, even
/// divided into 128 parts, and small enough that sums of many do not overflow.
pub const UNKNOWN_BYTES: u64 = 1 << 56;

/// Returns true if a size is [`UNKNOWN_BYTES`], or if layers derived it from that and left at least
/// 1/128.
pub fn is_unknown(bytes: u64) -> bool {
    bytes >= UNKNOWN_BYTES >> 7
}

/// Formats a size with [`show_bytes`], or says that it is not known yet.
pub fn show_size(bytes: u64) -> String {
    if is_unknown(bytes) { "an unknown number of bytes".to_owned() } else { show_bytes(bytes) }
}

/// Returns the word for a size in a command line that is only shown: `word`, or `SIZE` if the size
/// is not known yet ([`is_unknown`]).
pub fn size_word(bytes: u64, word: impl ToString) -> String {
    if is_unknown(bytes) { "SIZE".to_owned() } else { word.to_string() }
}

/// Formats a value as a whole number with its thousands grouped: `12,300`.
pub fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.round());
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |rest| ("-", rest));
    let groups: Vec<String> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| group.iter().map(|digit| char::from(*digit)).collect())
        .collect();
    format!("{sign}{}", groups.join(","))
}

/// Formats a count with its noun: `1 slice`, `2 slices`.
pub fn count_noun(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Lists names for a sentence. Three or more in a row whose final number goes up by one each time
/// are shortened to the first and the last: `host, vm0 to vm15`.
pub fn show_names(names: impl IntoIterator<Item: ToString>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    let mut runs: Vec<Vec<&str>> = Vec::new();
    for name in &names {
        match runs.last_mut().filter(|run| run.last().is_some_and(|last| goes_on(last, name))) {
            Some(run) => run.push(name),
            None => runs.push(vec![name]),
        }
    }
    let said = |run: &Vec<&str>| match run.as_slice() {
        [first, _, .., last] => format!("{first} to {last}"),
        few => few.join(", "),
    };
    runs.iter().map(said).collect::<Vec<_>>().join(", ")
}

/// Returns true if `name` is `last` with the next number: `vm3` after `vm2`.
fn goes_on(last: &str, name: &str) -> bool {
    let number = last.trim_start_matches(|c: char| !c.is_ascii_digit());
    let Ok(counted) = number.parse::<u64>() else { return false };
    name == format!("{}{}", &last[..last.len() - number.len()], counted.saturating_add(1))
}

/// Formats a time of the record (RFC 3339) for people: `2026-11-22 18:33:19 UTC`. Text that is not
/// a time is returned unchanged.
pub fn show_time(at: &str) -> String {
    match at.parse::<jiff::Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => at.to_owned(),
    }
}

/// Formats a time of the record (RFC 3339) as `2026-11-22 18:33`, in UTC, for a column whose title
/// says so. Text that is not a time is returned unchanged.
pub fn show_minute(at: &str) -> String {
    match at.parse::<jiff::Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => at.to_owned(),
    }
}

/// Formats nanoseconds for people, in ns, us, ms or s with three significant digits: `199 us`,
/// `1.50 ms`. Seconds above 1,000 keep all their digits.
pub fn show_ns(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        n if n >= 1e9 => (ns / 1e9, "s"),
        n if n >= 1e6 => (ns / 1e6, "ms"),
        n if n >= 1e3 => (ns / 1e3, "us"),
        _ => (ns, "ns"),
    };
    let digits = match value.abs() {
        n if n >= 100.0 => 0,
        n if n >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

/// Returns each item once, in order of first appearance.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

/// Returns the middle value, or the mean of the middle two; not a number if there are no values.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(low), sorted.get(high)) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_there_once_in_its_place() {
        assert_eq!(distinct([3, 1, 3, 2, 1]), [3, 1, 2]);
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(
            [0.0, 999.4, 12_300.0, 1_234_567.0].map(grouped),
            ["0", "999", "12,300", "1,234,567"]
        );
        assert_eq!(grouped(-1_000.0), "-1,000");
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!((median([3.0, 1.0, 2.0]), median([4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
        assert!(median([]).is_nan());
    }

    #[test]
    fn names_that_go_on_counting_are_told_by_their_ends() {
        let numbered =
            |range: std::ops::Range<u32>| range.map(|at| format!("vm{at}")).collect::<Vec<_>>();
        assert_eq!(show_names(numbered(0..16)), "vm0 to vm15");
        assert_eq!(show_names(numbered(9..11)), "vm9, vm10");
        let mixed = [vec!["host".to_owned()], numbered(1..4), numbered(7..8)].concat();
        assert_eq!(show_names(mixed), "host, vm1 to vm3, vm7");
        assert_eq!(show_names(["ssh:a", "ssh:b"]), "ssh:a, ssh:b");
        assert_eq!(show_names([""; 0]), "");
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_bytes("4KiB"), Ok(4096));
        assert_eq!(parse_bytes("1.5 GiB"), Ok(3 << 29));
        assert_eq!(parse_bytes("100MB"), Ok(100_000_000));
        assert!(parse_bytes("4").unwrap_err().contains("no unit"));
        assert!(parse_bytes("4X").unwrap_err().ends_with(
            "unknown unit \"X\"; known are KiB, MiB, GiB, TiB, kB, KB, MB, GB, TB, B, k, M, G, T"
        ));
        assert!(parse_bytes("KiB").unwrap_err().contains("number"));
        assert!(parse_bytes("0.3B").unwrap_err().contains("whole"));
    }

    #[test]
    fn a_letter_is_the_binary_unit_of_fio_and_qemu_img() {
        for (letters, factor) in [("kK", KIB), ("mM", MIB), ("gG", GIB), ("tT", 1 << 40)] {
            for letter in letters.chars() {
                for text in [format!("4{letter}"), format!("4 {letter}i"), format!("4{letter}ib")] {
                    assert_eq!(parse_bytes(&text), Ok(4 * factor), "{text}");
                }
            }
        }
        assert_eq!([parse_bytes("1.5g"), parse_bytes("64KB")], [Ok(3 << 29), Ok(64_000)]);
    }

    #[test]
    fn times_and_percents() {
        assert_eq!(parse_duration("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(parse_duration("2 min"), Ok(Duration::from_secs(120)));
        assert!(parse_duration("3").unwrap_err().contains("no unit"));
        assert_eq!(parse_percent("0.5 %"), Ok(0.005));
        assert!(parse_percent("101%").is_err());
        for (text, meant) in [("1.5", "1.5%"), ("2 s", "2%"), ("0.5", "0.5%")] {
            assert!(
                parse_percent(text).unwrap_err().ends_with(&format!("; write \"{meant}\"")),
                "{text}"
            );
        }
    }

    #[test]
    fn printed_figures_have_the_rounding_of_their_digits() {
        let rate = |text| {
            parse_printed(text, Counted::PerSecond).map(|one| (one.value, one.low, one.high))
        };
        assert_eq!(rate("26.0k"), Ok((26_000.0, 25_950.0, 26_050.0)));
        assert_eq!(rate("195"), Ok((195.0, 194.5, 195.5)));
        assert_eq!(rate("0.1M").unwrap().0, 100_000.0);
        assert_eq!(rate("< 100k"), Ok((100_000.0, 0.0, 100_000.0)));
        let bytes = parse_printed("28.7MiB/s", Counted::BytesPerSecond).unwrap();
        assert!((bytes.low - 28.65 * MIB as f64).abs() < 1e-3 && bytes.high > bytes.value);
        assert_eq!(parse_printed("8.35 Gbps", Counted::BytesPerSecond).unwrap().value, 1.04375e9);
        assert_eq!(parse_printed("2ms", Counted::Time).unwrap().low, 1.5e6);
        assert_eq!(
            parse_printed_share("<25%"),
            Ok(PrintedValue { value: 0.25, low: 0.0, high: 0.25 })
        );
        assert!((parse_printed_share("14718 %").unwrap().low - 147.175).abs() < 1e-9);
        for (text, counted, why) in [
            ("26 kiops", Counted::PerSecond, "unknown unit \"kiops\"; known are k, K, M"),
            ("2732", Counted::BytesPerSecond, "no unit; known are KiB/s"),
            ("2732MB", Counted::BytesPerSecond, "unknown unit \"MB\""),
            ("about 5us", Counted::Time, "does not start with a number"),
            ("-5", Counted::PerSecond, "does not start with a number"),
            ("0", Counted::PerSecond, "leave it out as \"-\""),
            ("1.2.3", Counted::PerSecond, "does not start with a number"),
        ] {
            let error = parse_printed(text, counted).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(parse_printed_share("0.94").is_err());
        let ratio = |text: &str| {
            let PrintedValue { value, low, high } = parse_printed_ratio(text).unwrap();
            [value, low, high].map(|it| (it * 1e6).round() / 1e6)
        };
        assert_eq!(ratio("4x"), [4.0, 3.5, 4.5]);
        assert_eq!([ratio("20 x"), ratio("~20x")], [[20.0, 19.5, 20.5], [20.0, 15.0, 25.0]]);
        assert_eq!([ratio("94%"), ratio("<25%")], [[0.94, 0.935, 0.945], [0.25, 0.0, 0.25]]);
        assert_eq!(ratio("~30% less"), [0.7, 0.65, 0.75]);
        assert_eq!(ratio("30 % more"), [1.3, 1.295, 1.305]);
        assert_eq!(parse_printed("~1M", Counted::PerSecond).unwrap().low, 5e5);
        for text in ["4", "4 times", "<30% less", "100% less", "0x", "x", "4x faster"] {
            assert!(parse_printed_ratio(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shown() {
        assert_eq!(show_bytes(4096), "4 KiB");
        assert_eq!(show_bytes(1536), "1.50 KiB");
        assert_eq!(show_ns(12_345.0), "12.3 us");
    }
}

//! Quantities as people write them. A size without a unit is refused: `4` may mean bytes,
//! blocks or KiB, and fio and QEMU disagree.

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

/// Parses `4KiB`, `1.5 GiB`, `100MB`.
///
/// # Errors
/// A clause that says what is wrong and what would do.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split_number(text)?;
    if unit.is_empty() {
        return Err(format!(
            "size \"{text}\" has no unit; write \"{text}KiB\", \"{text}MiB\" or \"{text}B\""
        ));
    }
    let factor =
        SIZE_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor).ok_or_else(|| {
            format!("size \"{text}\" has unknown unit \"{unit}\"; known are {}", names(SIZE_UNITS))
        })?;
    whole_bytes(number * factor as f64, text)
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
/// A clause that says what is wrong and what would do.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_number(text)?;
    if unit.is_empty() {
        return Err(format!("time \"{text}\" has no unit; write \"{text}s\" or \"{text}ms\""));
    }
    let factor =
        TIME_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor).ok_or_else(|| {
            format!("time \"{text}\" has unknown unit \"{unit}\"; known are {}", names(TIME_UNITS))
        })?;
    Duration::try_from_secs_f64(number * factor).map_err(|error| format!("time \"{text}\": {error}"))
}

/// Parses `1 %`, `0.5%` into a fraction.
///
/// # Errors
/// A clause that says what is wrong.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    let (number, unit) = split_number(text)?;
    match unit {
        "%" if (0.0..=100.0).contains(&number) => Ok(number / 100.0),
        "%" => Err(format!("\"{text}\" is not between 0 % and 100 %")),
        _ => Err(format!("\"{text}\" is not a percentage; write \"1%\"")),
    }
}

fn split_number(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().map_err(|_| format!("\"{text}\" does not start with a number"))?;
    Ok((number, text[end..].trim()))
}

fn names<T>(units: &[(&str, T)]) -> String {
    units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Prints bytes with the largest binary unit that keeps them whole, else two decimals.
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

/// Prints nanoseconds with three significant digits.
pub fn show_ns(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        n if n >= 1e9 => (ns / 1e9, "s"),
        n if n >= 1e6 => (ns / 1e6, "ms"),
        n if n >= 1e3 => (ns / 1e3, "us"),
        _ => (ns, "ns"),
    };
    let digits = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_bytes("4KiB"), Ok(4096));
        assert_eq!(parse_bytes("1.5 GiB"), Ok(3 << 29));
        assert_eq!(parse_bytes("100MB"), Ok(100_000_000));
        assert!(parse_bytes("4").unwrap_err().contains("no unit"));
        assert!(parse_bytes("4X").unwrap_err().contains("unknown unit"));
        assert!(parse_bytes("KiB").unwrap_err().contains("number"));
        assert!(parse_bytes("0.3B").unwrap_err().contains("whole"));
    }

    #[test]
    fn times_and_percents() {
        assert_eq!(parse_duration("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(parse_duration("2 min"), Ok(Duration::from_secs(120)));
        assert!(parse_duration("3").unwrap_err().contains("no unit"));
        assert_eq!(parse_percent("0.5 %"), Ok(0.005));
        assert!(parse_percent("101%").is_err());
    }

    #[test]
    fn shown() {
        assert_eq!(show_bytes(4096), "4 KiB");
        assert_eq!(show_bytes(1536), "1.50 KiB");
        assert_eq!(show_ns(12_345.0), "12.3 us");
    }
}

//! Options of layers: their kinds, and the check of their values.

use crate::scenario::error::{Fault, nearest};
use iotax_facts::guest::SMALLEST_MEMORY;
use iotax_load::cpu_list;
use iotax_units as units;
use std::net::{IpAddr, Ipv4Addr};

#[derive(Debug)]
pub struct OptionDef {
    pub name: &'static str,
    /// Other words that are accepted for the option; the record has its name instead.
    pub aliases: &'static [&'static str],
    pub kind: OptionKind,
    /// Value if the option is not written. `None`: there is none, or the program that iotax calls
    /// decides.
    pub default: Option<&'static str>,
    /// Option and value without which this option has no meaning and no default.
    pub only_with: Option<(&'static str, &'static str)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// A number of bytes above 0, with a unit: `4KiB`.
    Size,
    /// Memory of a guest: whole MiB, and no less than [`SMALLEST_MEMORY`].
    Memory,
    /// A whole number from 1.
    Count,
    /// A whole number from 0.
    Number,
    /// `auto`, or processors such as `0-3,8`.
    Cpus,
    /// Processors as SPDK writes them, as a hexadecimal number: `0x3`.
    CpuMask,
    /// A number of microseconds; `50` and `50us` are equal.
    Microseconds,
    /// A number of percent; `2` and `2%` are equal.
    Percent,
    /// An absolute path on this host.
    Path,
    /// An IP address of one machine: no wildcard, multicast or broadcast address.
    Address,
    /// A TCP or RDMA port, from 1 to 65535.
    Port,
    /// `true` or `false`; a lone word means `true`.
    Flag,
    Word(&'static [&'static str]),
}

/// Returns an option without aliases and without a default.
pub const fn option(name: &'static str, kind: OptionKind) -> OptionDef {
    OptionDef { name, aliases: &[], kind, default: None, only_with: None }
}

impl OptionDef {
    /// Sets the other words that are accepted for the option.
    pub const fn also(self, aliases: &'static [&'static str]) -> OptionDef {
        OptionDef { aliases, ..self }
    }

    pub const fn with_default(self, value: &'static str) -> OptionDef {
        OptionDef { default: Some(value), ..self }
    }

    /// Restricts the option to one value of another option, without which it has no meaning.
    pub const fn only_with(self, option: &'static str, value: &'static str) -> OptionDef {
        OptionDef { only_with: Some((option, value)), ..self }
    }

    /// Returns the value as it is recorded.
    ///
    /// # Errors
    /// The value does not fit the option's kind.
    pub fn check_value(&self, value: &str) -> Result<String, Fault> {
        match self.kind {
            OptionKind::Size => check_size(value),
            OptionKind::Memory => check_memory(value),
            OptionKind::Count => check_count(value),
            OptionKind::Number => check_number(value),
            OptionKind::Cpus => check_cpus(value),
            OptionKind::CpuMask => check_cpu_mask(value),
            OptionKind::Path => check_path(value),
            OptionKind::Address => check_addresses(value),
            OptionKind::Port => check_port(value),
            OptionKind::Microseconds => {
                microseconds_as_ns(value).map(|_| plain_number(value, "us"))
            }
            OptionKind::Percent => percent_as_ppm(value).map(|_| plain_number(value, "%")),
            OptionKind::Flag => check_word(value, &["true", "false"]),
            OptionKind::Word(words) => check_word(value, words),
        }
    }
}

fn check_size(value: &str) -> Result<String, Fault> {
    match units::parse_bytes(value) {
        Ok(bytes) if bytes > 0 => Ok(value.to_owned()),
        Err(clause) if value.parse() != Ok(0.0) => Err(Fault::from_clause(&clause)),
        _ => Err(Fault::hint(
            format!("size \"{value}\" is nothing"),
            "write a size such as 64KiB, or leave the option out",
        )),
    }
}

fn check_memory(value: &str) -> Result<String, Fault> {
    let bytes = units::parse_bytes(value).map_err(|clause| Fault::from_clause(&clause))?;
    if bytes < SMALLEST_MEMORY {
        let least = units::show_bytes(SMALLEST_MEMORY);
        return Err(Fault::new(format!("{value} is less than the {least} that a guest boots in")));
    }
    match bytes % units::MIB {
        0 => Ok(value.to_owned()),
        _ => Err(Fault::hint(
            format!("{value} is no whole number of MiB"),
            "write a size such as 512MiB",
        )),
    }
}

fn check_count(value: &str) -> Result<String, Fault> {
    match value.parse::<u32>() {
        Ok(count @ 1..) => Ok(count.to_string()),
        _ => Err(Fault::hint(
            format!("\"{value}\" is not a whole number from 1"),
            "write a number such as 2",
        )),
    }
}

fn check_number(value: &str) -> Result<String, Fault> {
    let number = value.parse::<u32>().map(|number| number.to_string());
    number.map_err(|_| {
        Fault::hint(format!("\"{value}\" is not a whole number from 0"), "write a number such as 0")
    })
}

fn check_cpus(value: &str) -> Result<String, Fault> {
    match value {
        "auto" => Ok(value.to_owned()),
        _ => cpu_list(value)
            .map(|_| value.to_owned())
            .map_err(|why| Fault::hint(why, "write auto, 2 or \"0-3,8\"")),
    }
}

fn check_cpu_mask(value: &str) -> Result<String, Fault> {
    let digits = value.strip_prefix("0x").unwrap_or_default();
    let hex = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    match hex && digits.bytes().any(|digit| digit != b'0') {
        true => Ok(value.to_owned()),
        false => Err(Fault::hint(
            format!("\"{value}\" is no mask of processors"),
            "write 0x1 for core 0, 0x6 for 1 and 2",
        )),
    }
}

fn check_path(value: &str) -> Result<String, Fault> {
    if value.starts_with('/') {
        return Ok(value.to_owned());
    }
    Err(Fault::hint(format!("\"{value}\" is not an absolute path"), "write it from the root"))
}

/// Checks one address, or several with commas, of which each is named once.
fn check_addresses(value: &str) -> Result<String, Fault> {
    let all = value.split(',').map(|word| check_address(word.trim()));
    let all = all.collect::<Result<Vec<String>, Fault>>()?;
    match (1..all.len()).find(|at| all[..*at].contains(&all[*at])) {
        Some(twice) => Err(Fault::new(format!("{} is named twice", all[twice]))),
        None => Ok(all.join(",")),
    }
}

/// Checks an address and returns it in its usual notation. Multicast and broadcast addresses are
/// refused, and the wildcard, because anyone who reaches the machine would see the export.
fn check_address(value: &str) -> Result<String, Fault> {
    match value.parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() => Err(Fault::hint(
            format!(
                "{value} is every address of a machine, and an export listens at one that is named"
            ),
            "write an address of the target's place by which the initiator reaches it",
        )),
        Ok(address) if address.is_multicast() || address == Ipv4Addr::BROADCAST => {
            Err(Fault::new(format!("{value} is no address of one machine")))
        }
        Ok(address) => Ok(address.to_string()),
        Err(_) => Err(Fault::hint(
            format!("\"{value}\" is no IP address"),
            "write one such as 192.168.1.10; names are not looked up",
        )),
    }
}

fn check_port(value: &str) -> Result<String, Fault> {
    match value.parse::<u16>() {
        Ok(port @ 1..) => Ok(port.to_string()),
        _ => Err(Fault::new(format!("\"{value}\" is no port, a whole number from 1 to 65535"))),
    }
}

fn check_word(value: &str, words: &[&str]) -> Result<String, Fault> {
    if words.contains(&value) {
        return Ok(value.to_owned());
    }
    let hint = meant(value, words).map(|near| format!("did you mean \"{near}\"?"));
    Err(Fault { why: format!("\"{value}\" is not one of {}", words.join(", ")), hint })
}

/// Returns the word that was probably meant. If all words are numbers, only letters before the
/// number count as a typo, as in `raid5`: a similar number is another choice.
fn meant<'a>(value: &str, words: &[&'a str]) -> Option<&'a str> {
    if !words.iter().all(|word| word.parse::<f64>().is_ok()) {
        return nearest(value, words);
    }
    let number = value.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '-');
    words.iter().find(|word| **word == number).copied()
}

fn plain_number(value: &str, unit: &str) -> String {
    value.trim_end_matches(unit).trim().to_owned()
}

/// Parses microseconds (`50`, `50us`, `0.5`) and returns nanoseconds.
///
/// # Errors
/// The value is not a number, or not between 0.001 and 60000000.
pub fn microseconds_as_ns(value: &str) -> Result<u64, Fault> {
    let number = decimal(value, "us").ok_or_else(|| {
        Fault::hint(format!("\"{value}\" is no number of microseconds"), "write us=50")
    })?;
    bounded(number * 1e3, 60e9).ok_or_else(|| {
        Fault::new(format!("\"{value}\" is not between 0.001 and 60000000 microseconds"))
    })
}

/// Parses a percentage (`2`, `0.5`, `10%`) and returns parts per million.
///
/// # Errors
/// The value is not a number, or not between 0.0001 and 10000.
pub fn percent_as_ppm(value: &str) -> Result<u32, Fault> {
    let number = decimal(value, "%").ok_or_else(|| {
        Fault::hint(format!("\"{value}\" is no number of percent"), "write percent=2")
    })?;
    bounded(number * 1e4, 100e6)
        .and_then(|ppm| u32::try_from(ppm).ok())
        .ok_or_else(|| Fault::new(format!("\"{value}\" is not between 0.0001 and 10000 percent")))
}

/// Parses digits with at most one point, with or without `unit` after them. `f64`'s own parser
/// would accept `inf` and `1e9`.
fn decimal(value: &str, unit: &str) -> Option<f64> {
    let digits = value.strip_suffix(unit).unwrap_or(value).trim();
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    plain.then(|| digits.parse().ok()).flatten()
}

/// Rounds a value; `None` if the result is not between 1 and `most`. A value below 1 would be
/// recorded as a delay but cause none.
fn bounded(number: f64, most: f64) -> Option<u64> {
    let whole = number.round();
    (1.0..=most).contains(&whole).then_some(whole as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_listens_at_an_address_that_one_machine_has() {
        for (good, plain) in
            [("10.0.0.1", "10.0.0.1"), ("FD00::1", "fd00::1"), ("127.0.0.1", "127.0.0.1")]
        {
            assert_eq!(check_address(good), Ok(plain.to_owned()));
        }
        for (bad, why) in [
            ("0.0.0.0", "every address"),
            ("::", "every address"),
            ("224.0.0.1", "no address of one machine"),
            ("255.255.255.255", "no address of one machine"),
            ("host1", "no IP address"),
        ] {
            let fault = check_address(bad).unwrap_err();
            assert!(fault.why.contains(why), "{bad}: {fault:?}");
        }
        assert_eq!(check_port("4420"), Ok("4420".into()));
        assert!(["0", "65536", "-1", "x"].into_iter().all(|bad| check_port(bad).is_err()));
    }

    #[test]
    fn a_word_that_is_a_number_has_no_near_one() {
        let levels = &["0", "1", "5", "6", "10"];
        assert_eq!(check_word("7", levels).unwrap_err().hint, None);
        assert_eq!(
            check_word("raid10", levels).unwrap_err().hint.as_deref(),
            Some("did you mean \"10\"?")
        );
        let why = check_word("raid4", levels).unwrap_err();
        assert_eq!((why.hint, why.why.as_str()), (None, "\"raid4\" is not one of 0, 1, 5, 6, 10"));
    }

    #[test]
    fn numbers_of_delay() {
        assert_eq!(microseconds_as_ns("50"), Ok(50_000));
        assert_eq!(microseconds_as_ns("0.5us"), Ok(500));
        assert_eq!(percent_as_ppm("2"), Ok(20_000));
        assert_eq!(percent_as_ppm("0.5%"), Ok(5_000));
        for wrong in ["", "0", "-1", "inf", "1e3", "x", ".", "99999999999"] {
            assert!(microseconds_as_ns(wrong).is_err(), "{wrong}");
            assert!(percent_as_ppm(wrong).is_err(), "{wrong}");
        }
    }
}

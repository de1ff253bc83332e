//! Units and digits of the cells of a table, as an article writes them.

use super::article::{CellChoice, ChoiceWord, stored_as_words};
use super::error::Fault;
use iotax_hardware::number::{NumberUnit, PrefixBase, measure};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Unit as an article writes it: `MB/s`, `Gbps`, `k`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TableUnit {
    pub written: String,
    base: UnitBase,
    /// Size of the unit in the findings' one.
    pub factor: f64,
    /// True if its prefix is one of 1024.
    binary: bool,
}

/// Unit of the findings that a written unit is one of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum UnitBase {
    Counts,
    Bytes,
    Time,
    Shares,
}

impl TableUnit {
    /// Returns the unit of the findings: `1/s`, `B/s`, `ns` or `1` (a share).
    pub fn base(&self) -> &'static str {
        match self.base {
            UnitBase::Counts => "1/s",
            UnitBase::Bytes => "B/s",
            UnitBase::Time => "ns",
            UnitBase::Shares => "1",
        }
    }
}

/// Units of counts per second that are not of I/O in particular.
const COUNTS: [(&str, f64); 6] =
    [("IOPS", 1.0), ("kIOPS", 1e3), ("k", 1e3), ("MIOPS", 1e6), ("M", 1e6), ("MWIPS", 1e6)];

impl ChoiceWord for TableUnit {
    fn parse_word(word: &str) -> Result<TableUnit, Fault> {
        let unit =
            |base, factor, binary| Ok(TableUnit { written: word.to_owned(), base, factor, binary });
        if let Some((_, factor)) = COUNTS.iter().find(|(name, _)| *name == word) {
            return unit(UnitBase::Counts, *factor, false);
        }
        let binary = |base| base == PrefixBase::Binary;
        match measure(word) {
            Some(one) => match one.unit {
                NumberUnit::Percent => unit(UnitBase::Shares, 0.01, false),
                NumberUnit::PerSecond => unit(UnitBase::Counts, one.scale, false),
                NumberUnit::BytesPerSecond => unit(UnitBase::Bytes, one.scale, binary(one.base)),
                NumberUnit::BitsPerSecond => {
                    unit(UnitBase::Bytes, one.scale / 8.0, binary(one.base))
                }
                NumberUnit::Nanoseconds => unit(UnitBase::Time, one.scale, false),
                _ => Err(unknown_unit(word)),
            },
            None => Err(unknown_unit(word)),
        }
    }
}

fn unknown_unit(word: &str) -> Fault {
    const KNOWN: [&str; 14] = [
        "IOPS", "kIOPS", "k", "MB/s", "MiB/s", "KiB/s", "GB/s", "GiB/s", "Gbit/s", "Gbps", "us",
        "ms", "s", "%",
    ];
    Fault::unknown("unit", word, &KNOWN)
}

/// Decimals of a figure, or the digits that fio prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CellDigits {
    Decimals(u8),
    /// Three digits at least, with the prefix that keeps the number below 10,000.
    Fio,
}

const MOST_DECIMALS: u8 = 6;

impl ChoiceWord for CellDigits {
    fn parse_word(word: &str) -> Result<CellDigits, Fault> {
        match word.parse::<u8>() {
            Ok(count) if count <= MOST_DECIMALS => Ok(CellDigits::Decimals(count)),
            _ if word == "fio" => Ok(CellDigits::Fio),
            _ => Err(Fault::hint(
                format!("\"{word}\" is no number of decimals"),
                format!("write 0 to {MOST_DECIMALS}, or \"fio\" for the digits that fio prints"),
            )),
        }
    }
}

impl fmt::Display for CellDigits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellDigits::Decimals(count) => count.fmt(out),
            CellDigits::Fio => out.write_str("fio"),
        }
    }
}

impl fmt::Display for TableUnit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.written)
    }
}

stored_as_words!(TableUnit, CellDigits);

impl CellChoice {
    /// Returns the unit in which a figure of this base is written.
    pub fn unit_of(&self, base: &str) -> TableUnit {
        let fallback = match base {
            "1/s" => ("IOPS", UnitBase::Counts, 1.0),
            "B/s" => ("MB/s", UnitBase::Bytes, 1e6),
            "ns" => ("us", UnitBase::Time, 1e3),
            _ => ("%", UnitBase::Shares, 0.01),
        };
        let (written, counted, factor) = fallback;
        let usual = TableUnit { written: written.to_owned(), base: counted, factor, binary: false };
        self.unit.clone().filter(|unit| unit.base() == base).unwrap_or(usual)
    }

    /// Returns the number of decimals of a figure in this unit.
    pub fn decimals(&self, unit: &TableUnit) -> usize {
        match self.digits {
            Some(CellDigits::Decimals(count)) => usize::from(count),
            _ if unit.base == UnitBase::Counts => 0,
            _ => 1,
        }
    }

    /// Returns a value of the findings as text: `629k`, `2732MB/s`, `4603.11 MB/s`.
    pub fn figure_text(&self, value: f64, unit: &TableUnit) -> String {
        let tight = self.tight.unwrap_or(false) || ["k", "M"].contains(&unit.written.as_str());
        let (number, written, tight) = match self.digits {
            Some(CellDigits::Fio) if matches!(unit.base, UnitBase::Counts | UnitBase::Bytes) => {
                fio_text(value, unit)
            }
            _ => (self.number_text(value / unit.factor, unit), unit.written.clone(), tight),
        };
        let space = if tight || written.is_empty() { "" } else { " " };
        // A prefix is a part of the number.
        let is_bare = self.bare.unwrap_or(false) && written.len() > 1;
        if is_bare { number } else { format!("{number}{space}{written}") }
    }

    fn number_text(&self, number: f64, unit: &TableUnit) -> String {
        let text = format!("{number:.*}", self.decimals(unit));
        match self.trim.unwrap_or(false) && text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    }
}

/// Returns the number and the unit as fio prints a rate: `195`, `22.1k`, `782KiB/s`, `2732MB/s`.
fn fio_text(value: f64, unit: &TableUnit) -> (String, String, bool) {
    const PREFIXES: [&str; 5] = ["", "k", "M", "G", "T"];
    let (step, is_bytes) =
        (if unit.binary { 1024.0 } else { 1000.0 }, unit.base == UnitBase::Bytes);
    let (mut number, mut prefix) = (value, 0);
    while number.round() >= 10_000.0 && prefix + 1 < PREFIXES.len() {
        number /= step;
        prefix += 1;
    }
    let decimals = match number {
        _ if prefix == 0 => 0,
        high if high >= 99.95 => 0,
        middle if middle >= 9.995 => 1,
        _ => 2,
    };
    let written = match (is_bytes, unit.binary, PREFIXES[prefix]) {
        (true, true, "") => "B/s".to_owned(),
        (true, true, "k") => "KiB/s".to_owned(),
        (true, true, letter) => format!("{letter}iB/s"),
        (true, false, letter) => format!("{letter}B/s"),
        (false, _, letter) => letter.to_owned(),
    };
    (format!("{number:.decimals$}"), written, true)
}

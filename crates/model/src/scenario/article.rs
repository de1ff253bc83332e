//! Tables in the form that an article prints them: what every row and column selects, and how its
//! cells are written. Names are those of the scenario, units and digits those of the page.

use super::error::Fault;
use super::published::Metric;
use iotax_hardware::number::{NumberUnit, PrefixBase, measure};
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArticleTable {
    /// Name for `--table`.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Head of the names of the rows.
    #[serde(default)]
    pub corner: String,
    /// Choice of all cells, unless a row or a column says something else.
    #[serde(default)]
    pub cells: CellChoice,
    /// How shares are written, unless a row or a column says something else.
    #[serde(default)]
    pub shares: CellChoice,
    pub rows: Vec<TableHead>,
    pub columns: Vec<TableHead>,
}

/// A row or a column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableHead {
    /// Text that is printed.
    pub name: String,
    #[serde(default)]
    pub cells: CellChoice,
    /// Index of the row or column of which its cells are shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_of: Option<usize>,
}

impl TableHead {
    pub fn new(name: &str) -> TableHead {
        TableHead { name: name.to_owned(), cells: CellChoice::default(), percent_of: None }
    }
}

/// A word that a key of a choice can have.
trait ChoiceWord: Sized {
    fn parse_word(word: &str) -> Result<Self, Fault>;
}

macro_rules! cell_choice {
    ($($(#[$about:meta])* $key:ident: $type:ty,)*) => {
        /// What a cell shows and how it is written. A table, its rows and its columns each set
        /// some of the keys.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct CellChoice {
            $($(#[$about])* #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $key: Option<$type>,)*
        }

        impl CellChoice {
            pub const KEYS: &[&str] = &[$(stringify!($key)),*];

            /// Sets a key; returns false if there is no such key.
            ///
            /// # Errors
            /// The word is none that the key can have.
            pub fn set_key(&mut self, key: &str, word: &str) -> Result<bool, Fault> {
                match key {
                    $(stringify!($key) => self.$key = Some(ChoiceWord::parse_word(word)?),)*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            /// Returns the choice with the keys of `other` where it sets none itself.
            #[must_use]
            pub fn or_else(&self, other: &CellChoice) -> CellChoice {
                CellChoice { $($key: self.$key.clone().or_else(|| other.$key.clone()),)* }
            }

            /// Returns the keys that both set.
            fn common_keys(&self, other: &CellChoice) -> Vec<&'static str> {
                let both = [$((stringify!($key), self.$key.is_some() && other.$key.is_some())),*];
                both.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key).collect()
            }
        }
    };
}

cell_choice! {
    stack: String,
    /// Name of a workload.
    load: String,
    metric: TableMetric,
    show: ShownFigure,
    /// Options of layers that select among the stacks of a grid: `cache=none,num-queues=4`.
    with: String,
    /// Place at which a stack on a network begins: `host1`.
    from: String,
    /// Place at which it ends.
    to: String,
    /// Stack of whose figure the cell is a share, whatever its row and column.
    of_stack: String,
    /// Number of the run on the command line, from 1; `None`: the first one that has the figure.
    run: usize,
    /// Guest or host that loads the stack with others, by its place: `vm0`.
    guest: String,
    /// Path of one of several targets.
    drive: String,
    unit: TableUnit,
    /// Unit of a second figure in brackets; `%`: the share of `percent_of`, behind the figure.
    also: TableUnit,
    digits: CellDigits,
    /// True if zeros at the end of the decimals are left out.
    trim: bool,
    /// True if cells have no unit. The head has it then.
    bare: bool,
    /// True if there is no space between figure and unit.
    tight: bool,
    /// True if the cell is in brackets.
    brackets: bool,
    /// True if a share is shown as what it lacks to 100 %.
    loss: bool,
    /// True if figures have their 95 % interval.
    intervals: bool,
}

/// Keys that may be set by the row or by the column of a cell, but not by both.
const SELECTORS: [&str; 10] =
    ["stack", "load", "metric", "show", "from", "to", "of_stack", "run", "guest", "drive"];

impl ArticleTable {
    /// Returns the choice of a cell: what its row and column say, else what the table says.
    pub fn choice_of(&self, row: &TableHead, column: &TableHead) -> CellChoice {
        let mut choice = column.cells.or_else(&row.cells).or_else(&self.cells);
        let with = [&self.cells.with, &row.cells.with, &column.cells.with].into_iter().flatten();
        let with: Vec<&str> = with.map(String::as_str).collect();
        if !with.is_empty() {
            choice.with = Some(with.join(","));
        }
        choice
    }

    /// Returns the choice of the figure of which a cell is a share by `of_stack`.
    pub fn whole_of(choice: &CellChoice) -> Option<CellChoice> {
        let stack = Some(choice.of_stack.clone()?);
        Some(CellChoice { stack, with: None, from: None, to: None, ..choice.clone() })
    }

    /// Returns a key that is set by a row and by a column, with the indices of these.
    pub(super) fn conflict(&self) -> Option<(&'static str, usize, usize)> {
        let both = |row: &TableHead, column: &TableHead| {
            let keys = row.cells.common_keys(&column.cells);
            keys.into_iter().find(|key| SELECTORS.contains(key))
        };
        self.rows.iter().enumerate().find_map(|(row, head)| {
            let mut columns = self.columns.iter().enumerate();
            columns.find_map(|(column, one)| Some((both(head, one)?, row, column)))
        })
    }
}

/// A metric of a table's cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TableMetric {
    Figure(Metric),
    /// Processors that are busy while the load runs, in all places: 1 is one processor.
    Cpu,
    /// CPU time per I/O, in all places.
    CpuPerIo,
    /// I/Os per second for each busy core of the threads that serve the I/O.
    IopsPerCore,
}

const OTHER_METRICS: [(&str, TableMetric, &str); 3] = [
    ("cpu", TableMetric::Cpu, "1"),
    ("cpu per I/O", TableMetric::CpuPerIo, "ns"),
    ("iops per core", TableMetric::IopsPerCore, "1/s"),
];

impl TableMetric {
    /// Returns the metrics to suggest in errors.
    pub fn known_words() -> Vec<&'static str> {
        Metric::KNOWN.into_iter().chain(OTHER_METRICS.map(|(word, ..)| word)).collect()
    }

    /// Returns the unit of its figures: `1/s`, `B/s`, `ns` or `1`.
    pub fn base_unit(self) -> &'static str {
        let other = OTHER_METRICS.iter().find(|(_, metric, _)| *metric == self);
        match self {
            TableMetric::Figure(metric) => metric.unit(),
            _ => other.map_or("1", |(.., unit)| unit),
        }
    }
}

impl ChoiceWord for TableMetric {
    fn parse_word(word: &str) -> Result<TableMetric, Fault> {
        let other = OTHER_METRICS.iter().find(|(name, ..)| *name == word);
        match other {
            Some((_, metric, _)) => Ok(*metric),
            None => Metric::parse(word)
                .map(TableMetric::Figure)
                .map_err(|_| Fault::unknown("metric", word, &TableMetric::known_words())),
        }
    }
}

impl fmt::Display for TableMetric {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let other = OTHER_METRICS.iter().find(|(_, metric, _)| metric == self);
        match self {
            TableMetric::Figure(metric) => metric.fmt(out),
            _ => out.write_str(other.map_or("", |(word, ..)| word)),
        }
    }
}

/// Origin of a cell's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShownFigure {
    Measured,
    /// Figure of `[published]`.
    Published,
    /// Rating of one drive, of `[rating]`.
    Rated,
    /// Share of what the drives allow.
    Efficiency,
}

impl ShownFigure {
    pub const ALL: [(&str, ShownFigure); 4] = [
        ("measured", ShownFigure::Measured),
        ("published", ShownFigure::Published),
        ("rated", ShownFigure::Rated),
        ("efficiency", ShownFigure::Efficiency),
    ];
}

impl ChoiceWord for ShownFigure {
    fn parse_word(word: &str) -> Result<ShownFigure, Fault> {
        let found = ShownFigure::ALL.into_iter().find(|(name, _)| *name == word);
        let known = ShownFigure::ALL.map(|(name, _)| name);
        found.map(|(_, one)| one).ok_or_else(|| Fault::unknown("figure", word, &known))
    }
}

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
    [("IOPS", 1.0), ("kIOPS", 1e3), ("k", 1e3), ("MIOPS", 1e6), ("M", 1e6), ("MWIPS", 1.0)];

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

macro_rules! stored_as_words {
    ($($type:ty),*) => {$(
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }

        impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(word: String) -> Result<$type, String> {
                <$type>::parse_word(&word).map_err(|fault| fault.why)
            }
        }
    )*};
}

stored_as_words!(TableMetric, TableUnit, CellDigits);

impl ChoiceWord for String {
    fn parse_word(word: &str) -> Result<String, Fault> {
        Ok(word.to_owned())
    }
}

impl ChoiceWord for bool {
    fn parse_word(word: &str) -> Result<bool, Fault> {
        word.parse().map_err(|_| Fault::hint(format!("\"{word}\""), "write true or false"))
    }
}

impl ChoiceWord for usize {
    fn parse_word(word: &str) -> Result<usize, Fault> {
        let count = word.parse().ok().filter(|count| *count > 0);
        count.ok_or_else(|| Fault::hint(format!("\"{word}\" is no count"), "write 1 or more"))
    }
}

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

#[cfg(test)]
#[path = "article_tests.rs"]
mod tests;

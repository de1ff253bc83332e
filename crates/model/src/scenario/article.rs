//! Tables in the form that an article prints them: what every row and column selects. Names are
//! those of the scenario; `article_units.rs` has the units and digits of the page.

pub use super::article_units::{CellDigits, TableUnit};
use super::error::Fault;
use super::metric::Metric;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArticleTable {
    /// Name by which `--table` finds it.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Head of the names of the rows.
    #[serde(default)]
    pub corner: String,
    /// Choice of all cells, unless a row or a column says something else.
    #[serde(default)]
    pub cells: CellChoice,
    /// Style of shares, unless a row or a column says something else.
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
pub(super) trait ChoiceWord: Sized {
    fn parse_word(word: &str) -> Result<Self, Fault>;
}

macro_rules! cell_choice {
    ($($(#[$about:meta])* $key:ident: $type:ty,)*) => {
        /// Keys that say what a cell shows and how it is written. A table, its rows and its
        /// columns each set some of them.
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

pub(super) use stored_as_words;

stored_as_words!(TableMetric);

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

#[cfg(test)]
#[path = "article_tests.rs"]
mod tests;

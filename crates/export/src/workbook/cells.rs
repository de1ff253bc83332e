//! Columns, rows and cells before they are written: numbers in the unit of their column's head,
//! and for a figure that is missing an empty cell and its reason.

use iotax_analysis::findings::{Interval, MeasuredFigure};

/// Head of the last column of a table.
pub const REMARKS: &str = "remarks";

/// Unit and number format of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellForm {
    Text,
    Count,
    /// I/Os per second.
    Rate,
    /// Other counts per second.
    Counts,
    /// Bytes per second, in MB/s.
    Bytes,
    /// Nanoseconds, in microseconds.
    Time,
    Seconds,
    /// A fraction, shown in percent.
    Share,
    Factor,
    /// Any other number.
    Plain,
}

impl CellForm {
    /// Returns the form for a unit of the findings: `1/s`, `B/s`, `ns` or `1` (a ratio).
    pub fn from_unit(unit: &str) -> CellForm {
        match unit {
            "1/s" => CellForm::Rate,
            "B/s" => CellForm::Bytes,
            "ns" => CellForm::Time,
            "1" => CellForm::Share,
            _ => CellForm::Plain,
        }
    }

    /// Returns what a value is multiplied by for a cell.
    pub fn scale(self) -> f64 {
        match self {
            CellForm::Bytes => 1e-6,
            CellForm::Time => 1e-3,
            _ => 1.0,
        }
    }

    pub fn unit(self) -> &'static str {
        match self {
            CellForm::Rate => "IOPS",
            CellForm::Counts => "1/s",
            CellForm::Bytes => "MB/s",
            CellForm::Time => "µs",
            CellForm::Seconds => "s",
            CellForm::Share => "%",
            CellForm::Text | CellForm::Count | CellForm::Factor | CellForm::Plain => "",
        }
    }

    pub fn number_format(self) -> &'static str {
        match self {
            CellForm::Text => "@",
            CellForm::Count | CellForm::Rate => "#,##0",
            CellForm::Counts | CellForm::Bytes | CellForm::Time => "#,##0.0",
            CellForm::Seconds => "0.000",
            CellForm::Share => "0.0%",
            CellForm::Factor => "0.0000",
            CellForm::Plain => "General",
        }
    }

    /// Returns the head of a column, with the unit unless the name has it.
    pub fn head(self, name: &str) -> String {
        match self.unit() {
            "" | "%" => name.to_owned(),
            unit if name.split([' ', ',']).any(|word| word == unit) => name.to_owned(),
            unit => format!("{name}, {unit}"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct BookColumn {
    pub head: String,
    pub form: CellForm,
}

impl BookColumn {
    pub fn new(name: &str, form: CellForm) -> BookColumn {
        BookColumn { head: form.head(name), form }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum BookCell {
    Empty,
    Text(String),
    Number(f64),
    /// A number that a reader may change.
    Input(f64),
    /// A number with a format of its own.
    Formed(f64, String),
    /// A formula and its result; `None` for an empty text.
    Formula(String, Option<f64>),
}

impl BookCell {
    pub fn text(text: impl Into<String>) -> BookCell {
        BookCell::Text(text.into())
    }

    pub fn number(value: Option<f64>) -> BookCell {
        value.filter(|value| value.is_finite()).map_or(BookCell::Empty, BookCell::Number)
    }

    /// Returns the number, or the result of the formula.
    pub fn value(&self) -> Option<f64> {
        match self {
            BookCell::Number(value) | BookCell::Input(value) | BookCell::Formed(value, _) => {
                Some(*value)
            }
            BookCell::Formula(_, result) => *result,
            BookCell::Empty | BookCell::Text(_) => None,
        }
    }

    pub fn known(figure: &MeasuredFigure, form: CellForm) -> BookCell {
        BookCell::number(figure.value().map(|value| value * form.scale()))
    }
}

/// A table: columns, and rows with a cell for each.
#[derive(Default)]
pub struct BookTable {
    pub columns: Vec<BookColumn>,
    pub rows: Vec<Vec<BookCell>>,
}

impl BookTable {
    pub fn column(&mut self, name: &str, form: CellForm) -> &mut BookTable {
        self.columns.push(BookColumn::new(name, form));
        self
    }

    /// Adds three columns for a figure and its interval.
    pub fn figure_columns(&mut self, name: &str, form: CellForm) -> &mut BookTable {
        for end in ["", " low", " high"] {
            self.column(&format!("{name}{end}"), form);
        }
        self
    }

    pub fn column_at(&self, head: &str) -> Option<u16> {
        let at = self.columns.iter().position(|column| column.head == head)?;
        u16::try_from(at).ok()
    }

    /// Removes columns without a value, but not the first `kept`.
    pub fn drop_blank_columns(&mut self, kept: usize) {
        let is_blank = |at: usize| self.rows.iter().all(|row| row[at] == BookCell::Empty);
        let keeps: Vec<bool> =
            (0..self.columns.len()).map(|at| at < kept || !is_blank(at)).collect();
        keep_only(&mut self.columns, &keeps);
        self.rows.iter_mut().for_each(|row| keep_only(row, &keeps));
    }
}

fn keep_only<T>(items: &mut Vec<T>, keeps: &[bool]) {
    let mut at = 0;
    items.retain(|_| {
        at += 1;
        keeps[at - 1]
    });
}

/// Cells of a row as they are added, and the reasons for those that are empty.
#[derive(Default)]
pub struct RowCells {
    pub cells: Vec<BookCell>,
    reasons: Vec<String>,
}

impl RowCells {
    pub fn text(&mut self, text: impl Into<String>) {
        self.cells.push(BookCell::text(text));
    }

    pub fn number(&mut self, value: Option<f64>) {
        self.cells.push(BookCell::number(value));
    }

    /// Adds the value and the ends of its interval; `None` is a figure that nobody expects.
    pub fn figure(&mut self, name: &str, figure: Option<&MeasuredFigure>, form: CellForm) {
        let (low, high) = figure.and_then(MeasuredFigure::bounds).unzip();
        for value in [figure.and_then(MeasuredFigure::value), low, high] {
            self.number(value.map(|value| value * form.scale()));
        }
        self.explain(name, figure);
    }

    /// Adds a figure whose value a reader may change.
    pub fn input(&mut self, name: &str, figure: &MeasuredFigure, form: CellForm) {
        let at = self.cells.len();
        self.figure(name, Some(figure), form);
        if let BookCell::Number(value) = self.cells[at] {
            self.cells[at] = BookCell::Input(value);
        }
    }

    /// Adds the reason why a figure or its interval is missing.
    pub fn explain(&mut self, name: &str, figure: Option<&MeasuredFigure>) {
        let reason = match figure {
            Some(MeasuredFigure::Failed { reason }) => format!("failed: {reason}"),
            Some(MeasuredFigure::Missing { reason }) => reason.clone(),
            Some(MeasuredFigure::Known { interval: Interval::Missing { missing }, .. }) => {
                format!("no interval: {missing}")
            }
            Some(MeasuredFigure::Known { caution: Some(caution), .. }) => caution.clone(),
            _ => return,
        };
        self.remark(format!("{name}: {reason}"));
    }

    pub fn remark(&mut self, text: String) {
        let same = text.split_once(": ").map_or(text.as_str(), |(_, reason)| reason);
        // The same reason for many figures is written once.
        if !self.reasons.iter().any(|known| known.ends_with(same)) {
            self.reasons.push(text);
        }
    }

    /// Returns the row with its remarks as the last cell.
    pub fn with_remarks(mut self) -> Vec<BookCell> {
        let remarks = self.reasons.join("; ");
        self.cells.push(if remarks.is_empty() { BookCell::Empty } else { BookCell::Text(remarks) });
        self.cells
    }
}

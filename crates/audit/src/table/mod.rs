//! Tables of a page, whatever they are drawn with: rows with a label, columns with a head, cells with figures.

use crate::number::Quantity;
use crate::page::{Page, Spot};
use std::ops::Range;

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Indices of its lines.
    pub lines: Range<usize>,
    /// The text above it that names it: a heading, a caption, a short line.
    pub title: Option<String>,
    /// Head of the column of labels.
    pub corner: String,
    /// Columns but that of the labels.
    pub columns: Vec<Column>,
    /// Rows under the head.
    pub rows: Vec<Row>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its head, of several lines joined by a space; the upper ones go on to the right over columns without one.
    pub head: String,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What stands before its cells; of several lines joined by a space.
    pub label: String,
    /// Index of its line.
    pub line: usize,
    /// As many as there are columns.
    pub cells: Vec<Option<Cell>>,
}

/// A cell with something in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Where its text stands.
    pub spot: Spot,
    /// Its figure: the first that is no share in brackets.
    pub figure: Option<Quantity>,
    /// A share that stands in brackets behind it or in the row below: `8.40 Gbps (101%)`.
    pub share: Option<Quantity>,
    /// Further figures: `102MiB/s (107MB/s)`.
    pub more: Vec<Quantity>,
}

/// Every table of a page outside the lines that are taken (outputs of tools), in order.
pub fn tables(_page: &Page, _taken: &[Range<usize>]) -> Vec<Table> {
    Vec::new()
}

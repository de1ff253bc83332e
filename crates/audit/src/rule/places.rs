//! Whose line each of a page is: of an output, of a table, or text. Looked up once a page, since many rules look at text alone.

use crate::import::Output;
use crate::table::Table;
use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Table,
    Output,
}

/// Whose line each is.
pub(super) struct Places(Vec<Place>);

impl Places {
    /// Of a page of so many lines. What is of a table in an output is the output's.
    pub(super) fn new(lines: usize, outputs: &[Output], tables: &[Table]) -> Places {
        let mut of = vec![Place::Text; lines];
        let mut fill =
            |range: &Range<usize>, place| of[range.start.min(lines)..range.end.min(lines)].fill(place);
        tables.iter().for_each(|table| fill(&table.lines, Place::Table));
        outputs.iter().for_each(|output| fill(&output.lines, Place::Output));
        Places(of)
    }

    /// Whether a line is of neither.
    pub(super) fn is_text(&self, line: usize) -> bool {
        self.0.get(line) == Some(&Place::Text)
    }

    /// Lines of neither.
    pub(super) fn text(&self) -> impl Iterator<Item = usize> + '_ {
        self.outside_outputs().filter(|line| self.is_text(*line))
    }

    /// Lines of no output; they may be of a table.
    pub(super) fn outside_outputs(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len()).filter(|line| self.0[*line] != Place::Output)
    }
}

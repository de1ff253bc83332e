//! Which lines of a page are of an output, which of a table, and which are text: looked up once a page, since most lines of a
//! large page are of outputs, and many rules look at those of text alone.

use crate::import::Output;
use crate::table::Table;
use std::ops::Range;

/// Whose line it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Table,
    Output,
}

/// Whose line each is.
pub(super) struct Places {
    of: Vec<Place>,
    /// Indices of lines of no output, in their order.
    outside_outputs: Vec<usize>,
}

impl Places {
    /// Of a page of so many lines. What is of a table in an output is the output's.
    pub(super) fn new(lines: usize, outputs: &[Output], tables: &[Table]) -> Places {
        let mut of = vec![Place::Text; lines];
        let mut fill =
            |range: &Range<usize>, place| of[range.start.min(lines)..range.end.min(lines)].fill(place);
        tables.iter().for_each(|table| fill(&table.lines, Place::Table));
        outputs.iter().for_each(|output| fill(&output.lines, Place::Output));
        let outside_outputs = (0..lines).filter(|line| of[*line] != Place::Output).collect();
        Places { of, outside_outputs }
    }

    /// Whether a line is of neither.
    pub(super) fn is_text(&self, line: usize) -> bool {
        self.of.get(line) == Some(&Place::Text)
    }

    /// Lines of neither.
    pub(super) fn text(&self) -> impl Iterator<Item = usize> + '_ {
        self.outside_outputs().filter(|line| self.is_text(*line))
    }

    /// Lines of no output; they may be of a table.
    pub(super) fn outside_outputs(&self) -> impl Iterator<Item = usize> + '_ {
        self.outside_outputs.iter().copied()
    }
}

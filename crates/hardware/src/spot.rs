//! Positions in a text.

use std::ops::Range;

/// Position of a word or figure: the line of a text, and the range of bytes in that line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextSpan {
    /// Index of the line, from 0.
    pub line: u32,
    pub start: u32,
    /// Offset of the byte after the last one.
    pub end: u32,
}

impl TextSpan {
    pub fn new(line: usize, range: Range<usize>) -> TextSpan {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        TextSpan { line: narrow(line), start: narrow(range.start), end: narrow(range.end) }
    }

    pub fn index(self) -> usize {
        self.line as usize
    }
}

//! The error of everything that a user writes: it names file, line, column and key, the reason,
//! and what to write instead. A message without a place is not made here.

use iotax_units::exit::Failed;
use iotax_units::harmless::acts;
use std::fmt;
use std::ops::Range;

/// The source of what no file says.
pub const COMMAND_LINE: &str = "command line";

/// Bad input, with the place where it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InputError {
    /// A path, or `command line`.
    pub file: Box<str>,
    /// From 1; `None` on the command line.
    pub line: Option<usize>,
    /// From 1, in characters.
    pub column: Option<usize>,
    /// The key, layer or option at fault.
    pub key: Option<Box<str>>,
    pub why: String,
    pub hint: Option<Box<str>>,
    /// The text with a caret line below it, for one-line stacks.
    pub excerpt: Option<Box<str>>,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "{line}:{column}:")?,
            (Some(line), None) => write!(f, "{line}:")?,
            (None, Some(column)) => write!(f, " column {column}:")?,
            (None, None) => {}
        }
        if let Some(key) = &self.key {
            write!(f, " key \"{key}\":")?;
        }
        write!(f, " {}", self.why)?;
        if let Some(hint) = &self.hint {
            write!(f, "; hint: {hint}")?;
        }
        match &self.excerpt {
            Some(excerpt) => write!(f, "\n{excerpt}"),
            None => Ok(()),
        }
    }
}

impl From<InputError> for Failed {
    fn from(error: InputError) -> Self {
        Failed::input(error.to_string())
    }
}

impl InputError {
    /// An error about the whole of a file or of the command line.
    pub fn new(file: impl Into<String>, fault: Fault) -> Self {
        InputError {
            file: file.into().into_boxed_str(),
            line: None,
            column: None,
            key: None,
            why: fault.why,
            hint: fault.hint.map(String::into_boxed_str),
            excerpt: None,
        }
    }

    #[must_use]
    pub fn at_position(mut self, (line, column): (usize, usize)) -> Self {
        self.line = Some(line);
        self.column = Some(column);
        self
    }

    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into().into_boxed_str());
        self
    }
}

/// Why a value is refused, before it is known where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub why: String,
    pub hint: Option<String>,
}

impl Fault {
    pub fn new(why: impl Into<String>) -> Self {
        Fault { why: why.into(), hint: None }
    }

    /// A reason with what would do.
    pub fn hint(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Fault { why: why.into(), hint: Some(hint.into()) }
    }

    /// From a clause of [`iotax_units`], whose part after the semicolon is a hint, with or without
    /// that word.
    pub fn from_clause(clause: &str) -> Self {
        match clause.split_once("; ") {
            Some((why, hint)) => Fault::hint(why, hint.strip_prefix("hint: ").unwrap_or(hint)),
            None => Fault::new(clause),
        }
    }

    /// `unknown WHAT "word"` with the nearest known word, or all of them.
    pub fn unknown(what: &str, word: &str, known: &[&str]) -> Self {
        let near = nearest(word, known).map(|near| format!("did you mean \"{near}\"? "));
        let hint = format!("{}known are {}", near.unwrap_or_default(), known.join(", "));
        Fault::hint(format!("unknown {what} \"{word}\""), hint)
    }
}

/// What a part of a text means, or what is wrong with it.
pub(super) type Checked<T> = Result<T, TextFault>;

/// A fault in a text, with the bytes that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFault {
    pub fault: Fault,
    /// Bytes of the text.
    pub span: Range<usize>,
}

impl TextFault {
    /// A fault at these bytes.
    pub fn new(span: Range<usize>, fault: Fault) -> Self {
        TextFault { fault, span }
    }

    /// The message with the text and a caret line.
    #[cfg(test)]
    pub fn show(&self, text: &str) -> String {
        let column = column_of(text, self.span.start);
        let hint =
            self.fault.hint.as_ref().map(|hint| format!("; hint: {hint}")).unwrap_or_default();
        format!("column {column}: {}{hint}\n{}", self.fault.why, excerpt(text, &self.span))
    }
}

/// The known word that a mistyped one most likely meant.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let short: String = word.to_lowercase().chars().take(64).collect();
    known
        .iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&short, &candidate.to_lowercase()), *candidate)
        })
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(short.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Column of a byte in a one-line text, from 1, in characters.
pub fn column_of(text: &str, byte: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < byte).count() + 1
}

/// Where the lines of a file begin: positions are asked for every word of it.
pub struct LineStarts<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineStarts<'a> {
    pub fn from_text(text: &'a str) -> LineStarts<'a> {
        let behind = text.match_indices('\n').map(|(newline, _)| newline + 1);
        LineStarts { text, starts: std::iter::once(0).chain(behind).collect() }
    }

    /// Line and column of a byte, both from 1.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let byte = if self.text.is_char_boundary(byte) { byte } else { self.text.len() };
        let line = self.starts.partition_point(|start| *start <= byte);
        (line, self.text[self.starts[line - 1]..byte].chars().count() + 1)
    }
}

/// The text on a line of its own and carets below the bytes of `span`.
pub fn excerpt(text: &str, span: &Range<usize>) -> String {
    // What acts would move the carets or the terminal's cursor.
    let line: String = text.chars().map(|c| if acts(c) { '\u{fffd}' } else { c }).collect();
    let blanks = column_of(text, span.start) - 1;
    let carets = column_of(text, span.end).saturating_sub(blanks + 1).max(1);
    format!("  {line}\n  {}{}", " ".repeat(blanks), "^".repeat(carets))
}

/// Where a word stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// A path, or `command line`.
    pub file: String,
    /// Line and column, from 1.
    pub at: Option<(usize, usize)>,
}

impl Origin {
    /// The command line, which has no lines.
    pub fn command_line() -> Self {
        Origin { file: COMMAND_LINE.to_owned(), at: None }
    }

    /// An error about a key that is here.
    pub fn error(&self, key: &str, fault: Fault) -> InputError {
        self.error_here(fault).key(key)
    }

    /// An error about what is here.
    pub fn error_here(&self, fault: Fault) -> InputError {
        let error = InputError::new(self.file.clone(), fault);
        match self.at {
            Some(at) => error.at_position(at),
            None => error,
        }
    }

    pub fn line(&self) -> String {
        self.at.map_or_else(|| self.file.clone(), |(line, _)| format!("{}:{line}", self.file))
    }
}

/// A file with its text, for errors about what is only judged when all of it is known.
pub(super) struct Located {
    file: String,
    text: String,
}

impl Located {
    pub(super) fn new(file: &str, text: &str) -> Located {
        Located { file: file.to_owned(), text: text.to_owned() }
    }

    /// An error about the value of a key that is at these bytes.
    pub(super) fn error(&self, key: &str, span: &Range<usize>, fault: Fault) -> InputError {
        Origin {
            file: self.file.clone(),
            at: Some(LineStarts::from_text(&self.text).position(span.start)),
        }
        .error(key, fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        assert_eq!(LineStarts::from_text("a\nbcé d").position(6), (2, 4));
        assert_eq!(LineStarts::from_text("a\n\nb").position(2), (2, 1));
        assert_eq!(LineStarts::from_text("").position(9), (1, 1));
        assert_eq!(excerpt("é | b", &(5..6)), "  é | b\n      ^");
        assert_eq!(excerpt("ab", &(2..2)), "  ab\n    ^");
    }

    #[test]
    fn near_words() {
        assert_eq!(nearest("iodpeth", &["bs", "iodepth"]), Some("iodepth"));
        assert_eq!(nearest("mdraid", &["loop", "fs"]), None);
        assert_eq!(nearest("lop", &["loop", "fs"]), Some("loop"));
    }
}

//! Errors in anything that a user writes. An error names the file, line, column and key as far as
//! these are known, the reason, and what to write instead.

use iotax_units::distinct;
use iotax_units::exit::Failed;
use iotax_units::harmless::acts;
use std::fmt;
use std::ops::Range;

/// Name of the command line where an error names the file.
pub const COMMAND_LINE: &str = "command line";

/// Bad input, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InputError {
    pub file: Box<str>,
    /// Line, from 1; `None` on the command line, or if the error is about the whole file.
    pub line: Option<usize>,
    /// Column, from 1, in characters; `None` if the error is about the whole input.
    pub column: Option<usize>,
    /// The key, layer or option at fault.
    pub key: Option<Box<str>>,
    pub why: String,
    pub hint: Option<Box<str>>,
    /// The faulty text with carets below the fault, if it is a one-line stack; the further errors,
    /// a line each, if there are several.
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
    /// Returns an error about the whole of a file or of the command line.
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

    /// Returns the first error with all others below it; `None` if there is none. Equal errors, as
    /// of a line that several jobs share, are kept once.
    pub fn all_of(errors: Vec<InputError>) -> Option<InputError> {
        let mut lines = distinct(errors.iter().map(InputError::to_string));
        let first = errors.into_iter().next()?;
        lines.remove(0);
        let excerpt = match lines.is_empty() {
            true => first.excerpt,
            false => Some(lines.join("\n").into_boxed_str()),
        };
        Some(InputError { excerpt, ..first })
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

/// Reason why a value is refused, before its position is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub why: String,
    pub hint: Option<String>,
}

impl Fault {
    pub fn new(why: impl Into<String>) -> Self {
        Fault { why: why.into(), hint: None }
    }

    pub fn hint(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Fault { why: why.into(), hint: Some(hint.into()) }
    }

    /// Returns the fault for a clause of [`iotax_units`]. The part after its semicolon is a hint,
    /// with or without that word.
    pub fn from_clause(clause: &str) -> Self {
        match clause.split_once("; ") {
            Some((why, hint)) => Fault::hint(why, hint.strip_prefix("hint: ").unwrap_or(hint)),
            None => Fault::new(clause),
        }
    }

    /// Returns `unknown WHAT "word"`, with a hint that lists the known words and suggests the
    /// nearest.
    pub fn unknown(what: &str, word: &str, known: &[&str]) -> Self {
        let near = nearest(word, known).map(|near| format!("did you mean \"{near}\"? "));
        let hint = format!("{}known are {}", near.unwrap_or_default(), known.join(", "));
        Fault::hint(format!("unknown {what} \"{word}\""), hint)
    }
}

/// Result of checking a part of a text; the error has the bytes at fault.
pub(super) type Checked<T> = Result<T, TextFault>;

/// A fault in a text, with the bytes at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFault {
    pub fault: Fault,
    pub span: Range<usize>,
}

impl TextFault {
    pub fn new(span: Range<usize>, fault: Fault) -> Self {
        TextFault { fault, span }
    }

    /// Returns the message with the text and a caret line.
    #[cfg(test)]
    pub fn show(&self, text: &str) -> String {
        let column = column_of(text, self.span.start);
        let hint =
            self.fault.hint.as_ref().map(|hint| format!("; hint: {hint}")).unwrap_or_default();
        format!("column {column}: {}{hint}\n{}", self.fault.why, excerpt(text, &self.span))
    }
}

/// Returns the known word that a mistyped one most likely meant; `None` if no known word is
/// similar.
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

/// Returns the column of a byte in a one-line text, from 1, in characters.
pub fn column_of(text: &str, byte: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < byte).count() + 1
}

/// Index of a file's lines, with which the position of any byte is found quickly.
pub struct LineStarts<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineStarts<'a> {
    pub fn from_text(text: &'a str) -> LineStarts<'a> {
        let after = text.match_indices('\n').map(|(newline, _)| newline + 1);
        LineStarts { text, starts: std::iter::once(0).chain(after).collect() }
    }

    /// Returns line and column of a byte, both from 1; the column is in characters.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let byte = if self.text.is_char_boundary(byte) { byte } else { self.text.len() };
        let line = self.starts.partition_point(|start| *start <= byte);
        (line, self.text[self.starts[line - 1]..byte].chars().count() + 1)
    }
}

/// Returns the text on a separate line, with carets below the bytes of `span`.
pub fn excerpt(text: &str, span: &Range<usize>) -> String {
    // Control characters would move the carets or the terminal's cursor.
    let line: String = text.chars().map(|c| if acts(c) { '\u{fffd}' } else { c }).collect();
    let blanks = column_of(text, span.start) - 1;
    let carets = column_of(text, span.end).saturating_sub(blanks + 1).max(1);
    format!("  {line}\n  {}{}", " ".repeat(blanks), "^".repeat(carets))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub file: String,
    /// Line and column, from 1; `None` on the command line.
    pub at: Option<(usize, usize)>,
}

impl Default for Origin {
    fn default() -> Self {
        Origin::command_line()
    }
}

impl Origin {
    /// Returns the origin of what is written on the command line.
    pub fn command_line() -> Self {
        Origin { file: COMMAND_LINE.to_owned(), at: None }
    }

    pub fn error_at_key(&self, key: &str, fault: Fault) -> InputError {
        self.error_here(fault).key(key)
    }

    pub fn error_here(&self, fault: Fault) -> InputError {
        let error = InputError::new(self.file.clone(), fault);
        match self.at {
            Some(at) => error.at_position(at),
            None => error,
        }
    }

    pub fn file_and_line(&self) -> String {
        self.at.map_or_else(|| self.file.clone(), |(line, _)| format!("{}:{line}", self.file))
    }
}

/// A file with its text, for errors in parts that can only be checked after the whole file is read.
pub(super) struct Located {
    file: String,
    text: String,
}

impl Located {
    pub(super) fn new(file: &str, text: &str) -> Located {
        Located { file: file.to_owned(), text: text.to_owned() }
    }

    /// Returns an error about the value of a key at these bytes.
    pub(super) fn error_at_span(&self, key: &str, span: &Range<usize>, fault: Fault) -> InputError {
        Origin {
            file: self.file.clone(),
            at: Some(LineStarts::from_text(&self.text).position(span.start)),
        }
        .error_at_key(key, fault)
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

//! Files of TOML that users write: ratings of drives, pins. Errors name line and key.

use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong in such a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line, from 1.
    pub line: usize,
    /// Key, as it stands there; empty where it is the file's form.
    pub key: String,
    /// What is wrong and what to do.
    pub why: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.as_str() {
            "" => write!(out, "line {}: {}", self.line, self.why),
            key => write!(out, "line {}: {key}: {}", self.line, self.why),
        }
    }
}

impl std::error::Error for Fault {}

/// The text of a file, for where things stand in it.
pub(crate) struct File<'a> {
    /// All of it.
    pub text: &'a str,
}

/// Its tables.
///
/// # Errors
/// Where it is no TOML.
pub(crate) fn parsed<'a>(file: &File<'a>) -> Result<Spanned<DeTable<'a>>, Fault> {
    DeTable::parse(file.text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Fault { line: file.line(at), key: String::new(), why: error.message().to_owned() }
    })
}

impl File<'_> {
    /// The line of a byte, from 1.
    pub fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// What is wrong at some bytes.
    pub fn fault(&self, span: &Range<usize>, key: &str, why: impl Into<String>) -> Fault {
        Fault { line: self.line(span.start), key: key.to_owned(), why: why.into() }
    }

    /// Refuses keys that are not known.
    pub fn only(&self, table: &DeTable, known: &[&str]) -> Result<(), Fault> {
        let unknown = table.iter().find(|(key, _)| !known.contains(&key.get_ref().as_ref()));
        unknown.map_or(Ok(()), |(key, _)| {
            let why = format!("is not known; known are {}", known.join(", "));
            Err(self.fault(&key.span(), key.get_ref(), why))
        })
    }
}

/// A table, where errors of it stand.
pub(crate) struct Entry<'a> {
    /// Of which file.
    pub file: &'a File<'a>,
    /// Its keys.
    pub table: &'a DeTable<'a>,
    /// Its bytes.
    pub span: Range<usize>,
}

impl Entry<'_> {
    /// What is wrong with the value of a key, or with its absence.
    pub fn wrong(&self, key: &str, why: impl Into<String>) -> Fault {
        let span = self.table.get(key).map_or(self.span.clone(), Spanned::span);
        self.file.fault(&span, key, why)
    }

    /// A text, where the key is there.
    pub fn optional_text(&self, key: &str) -> Result<Option<String>, Fault> {
        match self.table.get(key).map(Spanned::get_ref) {
            Some(DeValue::String(text)) if !text.trim().is_empty() => Ok(Some(text.trim().to_owned())),
            Some(DeValue::String(_)) => Err(self.wrong(key, "is empty")),
            Some(_) => Err(self.wrong(key, "is no text in quotes")),
            None => Ok(None),
        }
    }

    /// A text that must be there; what to write is told where it is not.
    pub fn text_or(&self, key: &str, expected: &str) -> Result<String, Fault> {
        let hinted = |fault: Fault| Fault { why: format!("{}; {expected}", fault.why), ..fault };
        let text = self.optional_text(key).map_err(hinted)?;
        text.ok_or_else(|| self.wrong(key, format!("is missing; {expected}")))
    }
}

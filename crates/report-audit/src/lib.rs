//! Renderers of audits: the claims on other people's pages, what does not hold, and the arithmetic.
//! All are made from one model, the verdict of each page. Text of pages is hostile, and every
//! renderer makes it harmless.
#![forbid(unsafe_code)]

pub mod claims;
mod digest;
mod html;
mod json;
mod markdown;
pub mod own_audit;
mod quote;
mod sarif;
mod terminal;
#[cfg(test)]
mod tests;
mod words;

pub use digest::{DigestDocument, DigestEntry, Skipped, digest};
pub use iotax_audit::finding::Severity;
pub use iotax_units::harmless::escape_line;

/// Properties of the destination that a renderer may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Columns of the terminal; at least 40 are used.
    pub width: usize,
    pub colour: bool,
    pub verbose: bool,
    /// Least severity that people see; formats for programs have all findings.
    pub show: Severity,
}

#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Documents in the order in which they were named.
    pub documents: Vec<DigestDocument>,
    pub skipped: Vec<Skipped>,
    pub refused: Vec<Skipped>,
}

impl Audit {
    pub fn worst(&self) -> Option<Severity> {
        self.documents.iter().filter_map(DigestDocument::worst).min()
    }
}

pub struct AuditRenderer {
    pub name: &'static str,
    /// Extensions of files for which the renderer is chosen.
    pub endings: &'static [&'static str],
    pub render: fn(&Audit, &View) -> String,
}

pub const ALL: &[&AuditRenderer] =
    &[&terminal::RENDERER, &markdown::RENDERER, &html::RENDERER, &sarif::RENDERER, &json::RENDERER];

pub fn by_name(name: &str) -> Option<&'static AuditRenderer> {
    ALL.iter().copied().find(|renderer| renderer.name == name)
}

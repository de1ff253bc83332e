//! Containers turn the bytes of a file into pages of lines: plain text of any encoding, and HTML,
//! whose tables become rows of `| a | b |` that know their line in the source.

pub(crate) mod html;
mod plain;

use crate::page::AuditedPage;
pub use plain::is_utf16;

/// A container that is known by its first bytes.
pub struct Container {
    pub name: &'static str,
    pub knows: fn(&[u8]) -> bool,
    /// Returns its pages; each lists the parts that could not be read.
    pub read: fn(&str, Vec<u8>) -> Vec<AuditedPage>,
}

/// All containers; the one that accepts anything comes last.
pub const ALL: &[&Container] = &[&html::CONTAINER, &plain::CONTAINER];

/// Returns the pages of a file or of standard input.
pub fn pages(name: &str, bytes: Vec<u8>) -> Vec<AuditedPage> {
    let known = ALL.iter().find(|container| (container.knows)(&bytes));
    known.map_or_else(Vec::new, |container| (container.read)(name, bytes))
}

//! The family of containers: from the bytes of a file to pages of lines. Plain text of any
//! encoding; HTML, whose tables become rows of `| a | b |` that know which line they come from.

pub(crate) mod html;
mod plain;

use crate::page::AuditedPage;
pub use plain::is_utf16;

/// A container that is known by its first bytes.
pub struct Container {
    pub name: &'static str,
    pub knows: fn(&[u8]) -> bool,
    /// Its pages; what could not be read is listed in them.
    pub read: fn(&str, Vec<u8>) -> Vec<AuditedPage>,
}

/// All, the one that takes anything last.
pub const ALL: &[&Container] = &[&html::CONTAINER, &plain::CONTAINER];

/// The pages of a file or of standard input.
pub fn pages(name: &str, bytes: Vec<u8>) -> Vec<AuditedPage> {
    let known = ALL.iter().find(|container| (container.knows)(&bytes));
    known.map_or_else(Vec::new, |container| (container.read)(name, bytes))
}

//! Containers turn the bytes of a file into a page of lines: plain text of any encoding, and HTML,
//! whose tables become rows of `| a | b |` that know their line in the source.

pub(crate) mod html;
mod plain;

use crate::page::AuditedPage;
pub use html::is_html;
pub use plain::is_utf16;

/// Function that makes a page from a file's name and bytes. The page lists the parts that could not
/// be read.
pub type ReadPage = fn(&str, Vec<u8>) -> AuditedPage;

pub const ALL: [(&str, ReadPage); 2] = [("HTML", html::read), ("plain text", plain::read)];

pub fn page(name: &str, bytes: Vec<u8>) -> AuditedPage {
    if is_html(&bytes) { html::read(name, bytes) } else { plain::read(name, bytes) }
}

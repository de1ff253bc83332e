//! Outputs in JSON: the text is parsed once, then each format is asked if it knows it.

use super::format::{Format, ImportedOutputs, JsonFormat};
use crate::json;
use crate::page::AuditedPage;

pub const ALL: &[&JsonFormat] = &[&super::fio::json::FORMAT, &super::iperf3::json::FORMAT];

/// Common entry point of all JSON formats.
pub const FORMAT: Format = Format {
    name: "JSON",
    example: super::iperf3::json::FORMAT.example,
    begins: |line| line.trim_start().starts_with(['{', '[']),
    read,
};

/// Returns true if the text may be an output: an object with keys, or an array of such objects. Its
/// first characters show if a bracket is part of prose.
fn may_be_an_output(text: &str) -> bool {
    const BLANK: usize = 256;
    let mut signs = text.bytes().take(BLANK).filter(|byte| !byte.is_ascii_whitespace());
    match (signs.next(), signs.next()) {
        (Some(b'{'), second) => second == Some(b'"'),
        (Some(b'['), second) => second == Some(b'{'),
        _ => false,
    }
}

fn read(page: &AuditedPage, line: usize) -> Option<ImportedOutputs> {
    let (bare, prefix) = page.bare_line(line);
    let from = page.offset(line) + prefix + (bare.len() - bare.trim_start().len());
    let text = page.json_text(line);
    if !may_be_an_output(&text[from..]) {
        return None;
    }
    let parsed = json::parse(text, from)?;
    let format = ALL.iter().find(|format| (format.knows)(&parsed.node))?;
    let last = page.spot_near(parsed.end.saturating_sub(1)..parsed.end, line).index();
    let unread = parsed.broken.map(|(at, why)| {
        let broken = page.spot_near(at..at + 1, line).index();
        page.unread(broken..broken + 1, format!("{}: {why}", format.name))
    });
    let (said, unread) = ((format.read)(page, &parsed.node), unread.into_iter().collect());
    Some(ImportedOutputs { said, end: last + 1, unread })
}

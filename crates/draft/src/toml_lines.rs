//! Lines of TOML with text of pages, which is hostile: in strings it is escaped, in comments every
//! character that acts is shown as an escape.

use iotax_units::harmless::{acts, escape_line};
use std::fmt::Write as _;

/// Most lines of a list in comments.
const MOST_LISTED: usize = 20;
/// Longest text of the page in a comment or a string, in characters.
const LONGEST_TEXT: usize = 160;

/// Writes a list as comments, cut to [`MOST_LISTED`] lines.
pub(super) fn list(out: &mut String, head: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    comment(out, &format!("{head}:"));
    for line in lines.iter().take(MOST_LISTED) {
        comment(out, &format!("- {}", clipped(line)));
    }
    if lines.len() > MOST_LISTED {
        comment(out, "- and more");
    }
}

pub(super) fn comment(out: &mut String, text: &str) {
    let _ = writeln!(out, "# {}", escape_line(text).trim_end());
}

pub(super) fn setting(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {}", quoted(value));
}

pub(super) fn clipped(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// Returns a TOML string. Quotes, backslashes and all characters that act are escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            _ if acts(letter) => out += &format!("\\U{:08x}", letter as u32),
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

//! Escapes all text of others (names, paths, output of tools, pages) before it is shown. Characters
//! that would move a cursor, change colours, turn the direction of writing or hide are shown as
//! `\u{1b}` instead. Code that lays text out uses [`escape_line`]; code that writes it out uses
//! [`lines`], or [`json`] for JSON.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns true if a character acts on the text around it or cannot be seen: control characters,
/// line ends and tabs among them, marks of direction, and characters without width.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' | '\u{ad}' | '\u{180e}')
}

/// Returns a text as one line: `\n` and tabs become spaces, other characters that act ([`acts`])
/// become escapes.
pub fn escape_line(text: &str) -> String {
    shown_line(text).replace('\t', " ")
}

/// Returns a text as one line: `\n` becomes a space, tabs stay (for text in columns), and other
/// characters that act ([`acts`]) become escapes.
pub fn shown_line(text: &str) -> String {
    escaped(&text.replace('\n', " "), |c| c == '\t', escape).into_owned()
}

/// Returns a finished text as it may be written out: `\n` and tabs stay, other characters that act
/// ([`acts`]) become escapes.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'), escape)
}

/// Returns JSON of the same meaning in which `\n` is the only character that acts ([`acts`]). Any
/// other can only be in a string, where an escape like `\u202e` replaces it; so `text` must not be
/// indented with tabs.
pub fn json(text: &str) -> Cow<'_, str> {
    escaped(
        text,
        |c| c == '\n',
        |c, out| {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        },
    )
}

fn escape(c: char, out: &mut String) {
    out.extend(c.escape_unicode());
}

fn escaped(text: &str, stays: fn(char) -> bool, escape: fn(char, &mut String)) -> Cow<'_, str> {
    let is_strange = |c: char| acts(c) && !stays(c);
    let Some(first) = text.find(is_strange) else { return Cow::Borrowed(text) };
    let mut out = text[..first].to_owned();
    for c in text[first..].chars() {
        if is_strange(c) { escape(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_shown_and_does_nothing() {
        assert_eq!(escape_line("a\u{1b}[31m\u{202e}b\t\u{7}"), "a\\u{1b}[31m\\u{202e}b \\u{7}");
        assert_eq!(escape_line("two\nlines \u{ad}"), "two lines \\u{ad}");
        assert_eq!(escape_line("写损失 94 %"), "写损失 94 %");
        assert_eq!(
            lines("one\n\ttwo\r\n\u{9b}31m\u{200f}"),
            "one\n\ttwo\\u{d}\n\\u{9b}31m\\u{200f}"
        );
        assert!(matches!(lines("写损失\n94 %"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = "a\u{1b}\u{202e}\u{7f}\u{9b}\u{e0001}é写\n\t";
        let written = serde_json::to_string_pretty(&[value]).unwrap();
        assert!(written.contains('\u{202e}'), "serde leaves it as it is");
        let harmless = json(&written);
        assert!(!harmless.chars().any(|c| acts(c) && c != '\n'), "{harmless}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&harmless).unwrap(), [value]);
    }
}

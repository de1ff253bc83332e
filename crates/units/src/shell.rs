//! Prints commands that a person copies into a POSIX shell, and scripts for one. Every word arrives
//! there unchanged, and shows all its characters. No word is refused: every word can be written.

use crate::harmless::acts;
use std::fmt::Write as _;
use std::path::Path;

/// Returns one word, quoted if it has to be.
pub fn quote_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match text {
        text if !text.is_empty() && text.chars().all(plain) => text.to_owned(),
        text if text.contains(acts) => printf_word(text),
        text => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Returns a path as one word. Parts that are not UTF-8 are lost, as they are everywhere in a
/// message.
pub fn path(path: impl AsRef<Path>) -> String {
    quote_word(&path.as_ref().to_string_lossy())
}

/// Joins several words into a line, each quoted if it has to be.
pub fn quote_line(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    words.into_iter().map(|one| quote_word(one.as_ref())).collect::<Vec<_>>().join(" ")
}

/// Writes a word that contains characters that act on a terminal, with those as bytes. Line ends at
/// its end are lost to `$()`.
fn printf_word(text: &str) -> String {
    let mut format = String::new();
    for c in text.chars() {
        match c {
            '\\' => format += r"\\",
            '%' => format += "%%",
            '\'' => format += r"\047",
            c if acts(c) => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    // Writing to a string cannot fail.
                    let _ = write!(format, "\\{byte:03o}");
                }
            }
            c => format.push(c),
        }
    }
    format!("\"$(printf '{format}')\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Returns the words that a shell makes of a line.
    fn heard(line: &str) -> Vec<String> {
        let script = format!("printf '%s\\0' {line}");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{script}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.strip_suffix('\0').unwrap().split('\0').map(str::to_owned).collect()
    }

    #[test]
    fn commands_can_be_pasted() {
        let words = ["qemu", "-drive", "file=/a b,if=none", "it's", "", "$HOME"];
        assert_eq!(quote_line(words), r"qemu -drive 'file=/a b,if=none' 'it'\''s' '' '$HOME'");
    }

    #[test]
    fn a_shell_hears_every_word_whole_and_a_terminal_shows_it() {
        let words = [
            "/srv/a b; $(reboot) 'x",
            "`reboot` \"y\" \\n %s",
            "~/x *?[a] !#&|<>",
            "\u{1b}[2J%s\\'\u{202e}é写\u{9b}x",
            "one\ntwo",
            "",
        ];
        let line = quote_line(words);
        assert_eq!(heard(&line), words);
        assert!(!line.contains(acts), "{line:?}");
    }
}

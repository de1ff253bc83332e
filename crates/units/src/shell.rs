//! Quotes words for POSIX shell commands that a person copies, and for scripts. Every character
//! stays visible: one that acts on a terminal becomes an octal escape. A word arrives in the shell
//! unchanged, except that line ends at its end and NUL are lost. No word is refused.

use crate::harmless::acts;
use std::fmt::Write as _;
use std::path::Path;

/// Quotes one word for a POSIX shell, if it has to be quoted.
pub fn quote_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match text {
        text if !text.is_empty() && text.chars().all(plain) => text.to_owned(),
        text if text.contains(acts) => printf_word(text),
        text => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Quotes a path as one word. Bytes that are not UTF-8 become U+FFFD, as in all messages.
pub fn path(path: impl AsRef<Path>) -> String {
    quote_word(&path.as_ref().to_string_lossy())
}

/// Joins words into a command line, with spaces between them; each is quoted if it has to be.
pub fn quote_line(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    words.into_iter().map(|one| quote_word(one.as_ref())).collect::<Vec<_>>().join(" ")
}

/// Returns a word as `"$(printf '...')"`, in which each character that acts on a terminal is an
/// octal escape. `$()` drops line ends at the end of the word.
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

//! Commands that a person copies into a POSIX shell, and scripts for one: every word arrives there
//! as it is, and shows all that is in it. Refuses nothing: there is no word that cannot be written.

use crate::harmless::acts;
use std::fmt::Write as _;
use std::path::Path;

/// One word, quoted where it has to be.
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match text {
        text if !text.is_empty() && text.chars().all(plain) => text.to_owned(),
        text if text.contains(acts) => printed(text),
        text => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A path as one word. What is no UTF-8 in it is lost, as it is everywhere in a message.
pub fn path(path: impl AsRef<Path>) -> String {
    word(&path.as_ref().to_string_lossy())
}

/// Several words.
pub fn line(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    words.into_iter().map(|one| word(one.as_ref())).collect::<Vec<_>>().join(" ")
}

/// A word with what would act on a terminal, by its bytes. Ends of lines at its end are lost to
/// `$()`.
fn printed(text: &str) -> String {
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

    /// The words that a shell makes of a line.
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
        assert_eq!(line(words), r"qemu -drive 'file=/a b,if=none' 'it'\''s' '' '$HOME'");
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
        let line = line(words);
        assert_eq!(heard(&line), words);
        assert!(!line.contains(acts), "{line:?}");
    }
}

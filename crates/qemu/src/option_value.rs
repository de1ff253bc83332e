//! Words of the command lines of QEMU and its storage daemon, with values quoted as these programs
//! read them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The value of an option as QEMU reads it: `word,key=value,key=value`. A comma in a value is
/// doubled.
pub struct OptionValue(OsString);

impl OptionValue {
    /// Begins a value with a word that has no key: `virtio-blk-pci`.
    pub fn beginning_with(word: &str) -> OptionValue {
        OptionValue(word.into())
    }

    pub fn new(key: &str, value: &str) -> OptionValue {
        let mut first = OptionValue(OsString::new());
        first.append(key, OsStr::new(value));
        first
    }

    pub fn set(mut self, key: &str, value: impl AsRef<OsStr>) -> OptionValue {
        self.0.push(",");
        self.append(key, value.as_ref());
        self
    }

    /// Adds `key=value` if there is a value.
    pub fn maybe(self, key: &str, value: Option<impl ToString>) -> OptionValue {
        match value {
            Some(value) => self.set(key, value.to_string()),
            None => self,
        }
    }

    pub fn into_word(self) -> OsString {
        self.0
    }

    fn append(&mut self, key: &str, value: &OsStr) {
        self.0.push(format!("{key}="));
        let doubled = value
            .as_bytes()
            .iter()
            .flat_map(|&byte| std::iter::repeat_n(byte, if byte == b',' { 2 } else { 1 }));
        self.0.push(OsString::from_vec(doubled.collect()));
    }
}

#[derive(Default)]
pub struct CommandLine(Vec<OsString>);

impl CommandLine {
    pub fn into_words(self) -> Vec<OsString> {
        self.0
    }

    pub fn add_word(&mut self, word: impl Into<OsString>) -> &mut CommandLine {
        self.0.push(word.into());
        self
    }

    pub fn add_words(&mut self, words: &str) {
        self.0.extend(words.split(' ').map(OsString::from));
    }

    pub fn option(&mut self, name: &str, value: OptionValue) {
        self.add_word(name).add_word(value.0);
    }
}

pub fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Returns the character device of a Unix socket on which the program itself listens.
pub fn socket(id: &str, path: &Path) -> OptionValue {
    OptionValue::beginning_with("socket")
        .set("id", id)
        .set("path", path)
        .set("server", "on")
        .set("wait", "off")
}

pub fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

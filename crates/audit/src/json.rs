//! Parses JSON as tools really print it: with text before and after, the same key twice, `nan`, a
//! missing end. Every value knows its spot, which the available libraries do not report. Broken
//! JSON is returned as far as it goes, with the reason.

use crate::number::parsed;
use std::borrow::Cow;
use std::ops::Range;

/// Limit of nesting, since unlimited recursion could overflow the stack.
///
/// It also limits how often an object is read again: one of unknown format is read from each line
/// within it that begins an object.
const DEEPEST: usize = 32;

/// A value and the bytes of the text that it occupies.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonNode<'a> {
    pub bytes: Range<usize>,
    pub value: JsonValue<'a>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JsonValue<'a> {
    /// Members in order; a key may appear twice.
    Object(Vec<(&'a str, JsonNode<'a>)>),
    Array(Vec<JsonNode<'a>>),
    /// Text between the quotes, with its escape sequences.
    Text(&'a str),
    Number(&'a str),
    Truth(bool),
    Nothing,
}

/// Parsed value, the index of the byte after it, and the error if the text is broken.
#[derive(Debug)]
pub struct ParsedJson<'a> {
    pub node: JsonNode<'a>,
    pub end: usize,
    /// Byte at which reading ended early, and the reason.
    pub broken: Option<(usize, &'static str)>,
}

/// Reads the object or array that begins at byte `at`; `None` if none begins there.
pub fn parse(text: &str, at: usize) -> Option<ParsedJson<'_>> {
    if !matches!(text.as_bytes().get(at), Some(b'{' | b'[')) {
        return None;
    }
    let (members, elements) = (Vec::new(), Vec::new());
    let mut reader =
        JsonReader { text, bytes: text.as_bytes(), at, broken: None, members, elements };
    let node = reader.read_value(0)?;
    Some(ParsedJson { node, end: reader.at, broken: reader.broken })
}

impl<'a> JsonNode<'a> {
    /// Returns the member of an object with that key; the last one of several, as JSON readers do.
    pub fn get(&self, key: &str) -> Option<&JsonNode<'a>> {
        self.members().iter().rev().find(|(name, _)| *name == key).map(|(_, node)| node)
    }

    pub fn node_at(&self, path: &[&str]) -> Option<&JsonNode<'a>> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns the members of an object; empty for anything else.
    pub fn members(&self) -> &[(&'a str, JsonNode<'a>)] {
        match &self.value {
            JsonValue::Object(members) => members,
            _ => &[],
        }
    }

    /// Returns the elements of an array; empty for anything else.
    pub fn elements(&self) -> &[JsonNode<'a>] {
        match &self.value {
            JsonValue::Array(elements) => elements,
            _ => &[],
        }
    }

    pub fn as_raw_text(&self) -> Option<&'a str> {
        match self.value {
            JsonValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a text with its escape sequences decoded, unchanged if one is invalid. `None` if the
    /// value is not a text.
    pub fn text_value(&self) -> Option<Cow<'a, str>> {
        let text = self.as_raw_text()?;
        let said =
            text.contains('\\').then(|| serde_json::from_str::<String>(&format!("\"{text}\"")));
        Some(said.and_then(Result::ok).map_or(Cow::Borrowed(text), Cow::Owned))
    }

    /// Returns a number, including one in quotes.
    pub fn as_number(&self) -> Option<f64> {
        match self.value {
            JsonValue::Number(text) | JsonValue::Text(text) => parsed(text.trim()),
            _ => None,
        }
    }

    pub fn as_integer(&self) -> Option<u64> {
        match self.value {
            JsonValue::Number(text) | JsonValue::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }
}

struct JsonReader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    broken: Option<(usize, &'static str)>,
    /// Members of the open objects, the innermost last. An object takes its own members when it
    /// closes, so none allocates spare room.
    members: Vec<(&'a str, JsonNode<'a>)>,
    elements: Vec<JsonNode<'a>>,
}

impl<'a> JsonReader<'a> {
    fn breaks<T>(&mut self, why: &'static str) -> Option<T> {
        self.broken.get_or_insert((self.at, why));
        None
    }

    fn blank(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Reads a value; returns `None` and sets `broken` if there is no value.
    fn read_value(&mut self, depth: usize) -> Option<JsonNode<'a>> {
        self.blank();
        let start = self.at;
        let value = match self.bytes.get(self.at) {
            Some(b'{' | b'[') if depth >= DEEPEST => {
                return self.breaks("nested deeper than 32 levels");
            }
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => JsonValue::Text(self.string()?),
            Some(b'-' | b'+' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') => self.number_or_word()?,
            Some(_) => return self.breaks("a sign that begins no value"),
            None => return self.breaks("it ends where a value is expected"),
        };
        Some(JsonNode { bytes: start..self.at, value })
    }

    /// Reads an object or array up to and including `close`. `item` reads one member or element and
    /// returns `None` on an error; `ends` is the error if the text ends before `close`.
    fn items(&mut self, close: u8, ends: &'static str, item: impl Fn(&mut Self) -> Option<()>) {
        self.at += 1;
        while self.broken.is_none() {
            self.blank();
            let read = match self.bytes.get(self.at) {
                None => self.breaks(ends),
                Some(sign) if *sign != close && *sign != b',' => item(self),
                Some(sign) => {
                    self.at += 1;
                    (*sign == b',').then_some(())
                }
            };
            if read.is_none() {
                return;
            }
        }
    }

    fn object(&mut self, depth: usize) -> JsonValue<'a> {
        let before = self.members.len();
        self.items(b'}', "it ends in the middle of an object", |reader| {
            if reader.bytes[reader.at] != b'"' {
                return reader.breaks("a sign where a key is expected");
            }
            let key = reader.string()?;
            reader.blank();
            if reader.bytes.get(reader.at) != Some(&b':') {
                return reader.breaks("a key without a value");
            }
            reader.at += 1;
            let value = reader.read_value(depth + 1)?;
            reader.members.push((key, value));
            Some(())
        });
        JsonValue::Object(self.members.split_off(before))
    }

    fn array(&mut self, depth: usize) -> JsonValue<'a> {
        let before = self.elements.len();
        self.items(b']', "it ends in the middle of an array", |reader| {
            let element = reader.read_value(depth + 1)?;
            reader.elements.push(element);
            Some(())
        });
        JsonValue::Array(self.elements.split_off(before))
    }

    /// Reads a text in quotes, of which `at` is the opening one. Returns what is between them;
    /// `None` if the closing one is missing.
    fn string(&mut self) -> Option<&'a str> {
        let start = self.at + 1;
        let mut from = start;
        while let Some(found) =
            memchr::memchr2(b'"', b'\\', self.bytes.get(from..).unwrap_or_default())
        {
            if self.bytes[from + found] == b'"' {
                self.at = from + found + 1;
                return self.text.get(start..from + found);
            }
            from += found + 2;
        }
        let broken = self.breaks("it ends in the middle of a text");
        self.at = self.bytes.len();
        broken
    }

    fn number_or_word(&mut self) -> Option<JsonValue<'a>> {
        let start = self.at;
        let part = |byte: &&u8| byte.is_ascii_alphanumeric() || b".+-".contains(byte);
        self.at += self.bytes[start..].iter().take_while(part).count();
        let text = &self.text[start..self.at];
        let numeric = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
        match text {
            "true" => Some(JsonValue::Truth(true)),
            "false" => Some(JsonValue::Truth(false)),
            "null" | "nan" | "NaN" | "inf" | "Infinity" => Some(JsonValue::Nothing),
            _ if text.starts_with(|first: char| first.is_ascii_alphabetic()) => {
                self.at = start;
                self.breaks("a word that is no value")
            }
            _ if text.bytes().all(numeric)
                && text.ends_with(|last: char| last.is_ascii_digit()) =>
            {
                Some(JsonValue::Number(text))
            }
            // `-nan`, `-inf`.
            _ => Some(JsonValue::Nothing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_where_they_stand_and_names_are_said_without_escapes() {
        let text =
            "noise {\"a\": [1, -2.5e3], \"b\": {\"c\": \"x\\\"y\"}, \"a\": nan, \"d\": -nan} tail";
        let parsed = parse(text, 6).unwrap();
        assert!(parsed.broken.is_none() && parse(text, 0).is_none());
        assert_eq!(&text[parsed.end..], " tail");
        let second = &parsed.node.members()[0].1.elements()[1];
        assert_eq!((&text[second.bytes.clone()], second.as_number()), ("-2.5e3", Some(-2500.0)));
        assert_eq!(parsed.node.get("a").unwrap().value, JsonValue::Nothing, "the last of two");
        let texts = [r"vm-1", r#"a\"b\/c\\d"#, r"\u0434\u0438", r"half \ud800", r"C:\fio", r"C:\d"];
        let names = ["vm-1", r#"a"b/c\d"#, "ди", r"half \ud800", "C:\u{c}io", r"C:\d"];
        for (text, name) in texts.into_iter().zip(names) {
            let text = format!("[\"{text}\"]");
            assert_eq!(
                parse(&text, 0).unwrap().node.elements()[0].text_value().as_deref(),
                Some(name),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_broken_is_given_as_far_as_it_goes() {
        for (text, why, kept) in [
            (r#"{"a": 1, "b": [2, 3"#, "middle of an array", 2),
            (r#"{"a": 1, "b"#, "middle of a text", 1),
            (r#"{"a": 1, "b" 2}"#, "key without a value", 1),
            (r#"{"a": 1, b: 2}"#, "where a key is expected", 1),
            (r#"{"a": 1, "b": }"#, "begins no value", 1),
            (r#"{"a": 1, "b": x}"#, "no value", 1),
        ] {
            let parsed = parse(text, 0).unwrap();
            assert!(parsed.broken.unwrap().1.contains(why), "{text}: {:?}", parsed.broken);
            assert_eq!(parsed.node.members().len(), kept, "{text}");
        }
        let deep = "[".repeat(1_000_000);
        assert!(parse(&deep, 0).unwrap().broken.unwrap().1.contains("deeper"));
    }
}

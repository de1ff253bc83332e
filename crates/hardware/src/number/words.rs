//! Words of figures and units in several languages, from `words.txt`.

use super::{NumberHedge, NumberUnit};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The lists of `words.txt`, each with its longer spellings before the shorter.
#[derive(Default)]
pub(super) struct NumberWords {
    /// Hedges by the last byte of the spelling.
    hedges: ByByte<NumberHedge>,
    units: ByByte<(NumberUnit, f64)>,
    pub counted: Vec<(&'static str, NumberUnit)>,
    pub multiples: Vec<(&'static str, f64)>,
    pub latin: Vec<(&'static str, &'static str)>,
    parts: Vec<&'static str>,
}

/// Spellings by their first or last byte, so that few are compared with a text.
type ByByte<T> = BTreeMap<u8, Vec<(&'static str, T)>>;

fn words_of_byte<'w, T>(words: &'w ByByte<T>, byte: Option<&u8>) -> &'w [(&'static str, T)] {
    byte.and_then(|byte| words.get(&byte.to_ascii_lowercase())).map_or(&[], Vec::as_slice)
}

pub(super) fn number_words() -> &'static NumberWords {
    static WORDS: OnceLock<NumberWords> = OnceLock::new();
    WORDS.get_or_init(NumberWords::read_lists)
}

impl NumberWords {
    fn read_lists() -> NumberWords {
        let mut words = NumberWords::default();
        let lines = include_str!("words.txt").lines().filter(|line| !line.starts_with('#'));
        let lists = lines.filter_map(|line| line.split_once(": "));
        let mut all: Vec<(&str, &str)> = lists
            .flat_map(|(name, list)| list.split(" | ").map(move |spelling| (name, spelling)))
            .collect();
        all.sort_by_key(|(_, spelling)| std::cmp::Reverse(spelling.len()));
        for (name, spelling) in all {
            let mut name = name.split(' ');
            let (kind, what) = (name.next().unwrap_or(""), name.next().unwrap_or(""));
            let number = |text: &str| text.parse().unwrap_or(1.0);
            let bytes = spelling.as_bytes();
            match kind {
                "hedge" => words
                    .hedges
                    .entry(bytes[bytes.len() - 1])
                    .or_default()
                    .push((spelling, parse_stored_name(what))),
                "unit" => {
                    let scale = number(name.next().unwrap_or(""));
                    words
                        .units
                        .entry(bytes[0])
                        .or_default()
                        .push((spelling, (parse_stored_name(what), scale)));
                }
                "counted" => words.counted.push((spelling, parse_stored_name(what))),
                "multiple" => words.multiples.push((spelling, number(what))),
                "latin" => words.latin.push((spelling, what)),
                _ => words.parts.push(spelling),
            }
        }
        words
    }

    pub fn hedge(&self, text: &str) -> Option<NumberHedge> {
        let ends = |word: &str| {
            let from = text.len().wrapping_sub(word.len());
            let latin = word.is_ascii() && word.starts_with(char::is_alphabetic);
            let part =
                || latin && text[..from].ends_with(|letter: char| letter.is_ascii_alphabetic());
            text.get(from..).is_some_and(|end| end.eq_ignore_ascii_case(word)) && !part()
        };
        words_of_byte(&self.hedges, text.as_bytes().last())
            .iter()
            .find(|(word, _)| ends(word))
            .map(|(_, hedge)| *hedge)
    }

    /// Returns true if a text is nothing but a hedge such as `about`, or one word of a hedge such
    /// as `less than`.
    pub fn hedges(&self, text: &str) -> bool {
        let hedges = words_of_byte(&self.hedges, text.as_bytes().last());
        self.parts.contains(&text) || hedges.iter().any(|(word, _)| text.eq_ignore_ascii_case(word))
    }

    /// Returns the spellings of units that may begin a text, the longer before the shorter, each
    /// with its unit and scale. These units take no prefix.
    pub fn units(&self, text: &str) -> &[(&'static str, (NumberUnit, f64))] {
        words_of_byte(&self.units, text.as_bytes().first())
    }
}

/// Parses a unit or hedge by its serde name, as words.txt has it. Panics on any other.
fn parse_stored_name<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_value(name.into()).unwrap_or_else(|why| panic!("words.txt: {why}"))
}

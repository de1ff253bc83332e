//! Words that pages have around figures, in the languages of the pages: the lists of `words.txt`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A list of words, by its name in `words.txt`.
pub type Word = &'static str;

/// Each list with its spellings.
fn lists() -> &'static BTreeMap<Word, Vec<&'static str>> {
    static LISTS: OnceLock<BTreeMap<Word, Vec<&'static str>>> = OnceLock::new();
    LISTS.get_or_init(|| {
        let mut lists: BTreeMap<Word, Vec<&'static str>> = BTreeMap::new();
        let lines = include_str!("words.txt").lines().filter(|line| !line.starts_with('#'));
        for (name, spellings) in lines.filter_map(|line| line.split_once(": ")) {
            lists.entry(name).or_default().extend(spellings.split(" | "));
        }
        lists
    })
}

/// The spellings of a list.
pub fn spellings(word: Word) -> &'static [&'static str] {
    debug_assert!(lists().contains_key(word), "words.txt has no {word}");
    lists().get(word).map_or(&[], Vec::as_slice)
}

/// Whether a lower-case text has a word of a list.
pub fn says(lower: &str, word: Word) -> bool {
    spellings(word).iter().any(|spelling| has(lower, spelling))
}

/// Whether a lower-case text has a word: whole in Latin letters, anywhere in others, whose words bend or stand together.
pub(crate) fn has(lower: &str, word: &str) -> bool {
    if !word.is_ascii() && lower.is_ascii() {
        return false;
    }
    let mut from = 0;
    while let Some(found) = memchr::memmem::find(&lower.as_bytes()[from..], word.as_bytes()) {
        let (start, end) = (from + found, from + found + word.len());
        if !word.is_ascii() {
            return true;
        }
        let letter = |next: Option<char>| next.is_some_and(|next| next.is_ascii_alphabetic());
        if !letter(lower[..start].chars().next_back()) && !letter(lower[end..].chars().next()) {
            return true;
        }
        from = end;
    }
    false
}

/// The makers of drives that a lower-case text names.
pub fn makers(lower: &str) -> Vec<Word> {
    let makers = lists().keys().filter(|name| name.starts_with("maker "));
    makers.copied().filter(|maker| says(lower, maker)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_or_of_languages_without_spaces() {
        for (text, word) in [("机械盘 20tb", "hdd"), ("(cache=writeback)", "cached"), ("raid10", "several")]
        {
            assert!(says(text, word), "{text}");
        }
        assert!(!says("arcane raiders", "cached") && !says("arcane raiders", "several"));
        assert_eq!(makers("a western digital and a 三星"), ["maker samsung", "maker wd"]);
    }
}

//! Words that pages have around figures, in the languages of the pages: the lists of `words.txt`.

use crate::prose::has;
use std::sync::OnceLock;

/// A list of words, by its name in `words.txt`.
pub type Word = &'static str;

/// A name of a list, and its spellings.
type List = (&'static str, Vec<&'static str>);

fn lists() -> &'static [List] {
    static LISTS: OnceLock<Vec<List>> = OnceLock::new();
    LISTS.get_or_init(|| {
        let mut lists: Vec<List> = Vec::new();
        let lines = include_str!("words.txt").lines().filter(|line| !line.starts_with('#'));
        for (name, spellings) in lines.filter_map(|line| line.split_once(": ")) {
            if lists.last().is_none_or(|(last, _)| *last != name) {
                lists.push((name, Vec::new()));
            }
            lists.last_mut().into_iter().for_each(|(_, list)| list.extend(spellings.split(" | ")));
        }
        lists
    })
}

/// The spellings of a list.
pub fn spellings(word: Word) -> &'static [&'static str] {
    lists().iter().find(|(name, _)| *name == word).map_or(&[], |(_, list)| list)
}

/// Whether a lower-case text has a word of a list.
pub fn says(lower: &str, word: Word) -> bool {
    spellings(word).iter().any(|spelling| has(lower, spelling))
}

/// The makers of drives that a lower-case text names.
pub fn makers(lower: &str) -> Vec<Word> {
    let makers = lists().iter().filter(|(name, _)| name.starts_with("maker "));
    makers.filter(|(_, list)| list.iter().any(|one| has(lower, one))).map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_or_of_languages_without_spaces() {
        for (text, word) in [
            ("机械盘 20tb", "hdd"),
            ("全闪ssd", "flash"),
            ("(cache=writeback)", "cached"),
            ("raid10", "several"),
            ("iser", "fabric"),
            ("не насыщен", "full"),
        ] {
            assert!(says(text, word), "{text}");
        }
        assert!(!says("arcane raiders", "cached") && !says("arcane raiders", "several"));
        assert_eq!(makers("a western digital and a 三星"), ["maker samsung", "maker wd"]);
    }
}

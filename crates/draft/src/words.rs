//! The lists of `words.txt`, and the search for their words at a place of a text.

use std::sync::LazyLock;

/// A word of a list.
pub(super) struct ListedWord {
    pub list: &'static str,
    /// Rest of the list's name: the probe, the name that a stack gets, what the page says.
    pub meaning: &'static str,
    pub text: &'static str,
    pub is_latin: bool,
}

/// All words, the longer before the shorter, by the first byte of their text.
struct WordIndex {
    all: Vec<ListedWord>,
    by_byte: Vec<Vec<usize>>,
}

static WORDS: LazyLock<WordIndex> = LazyLock::new(|| {
    let lines = include_str!("words.txt").lines().filter(|line| !line.starts_with('#'));
    let lists = lines.filter_map(|line| line.split_once(": "));
    let mut all: Vec<ListedWord> = lists
        .flat_map(|(name, words)| {
            let (list, meaning) = name.split_once(' ').unwrap_or((name, ""));
            words.split(" | ").map(move |text| ListedWord {
                list,
                meaning,
                text,
                is_latin: text.is_ascii(),
            })
        })
        .collect();
    all.sort_by_key(|word| std::cmp::Reverse(word.text.len()));
    let mut by_byte = vec![Vec::new(); 256];
    for (at, word) in all.iter().enumerate() {
        by_byte[usize::from(word.text.as_bytes()[0])].push(at);
    }
    WordIndex { all, by_byte }
});

pub(super) fn listed_words() -> &'static [ListedWord] {
    &WORDS.all
}

/// Returns the words that may begin a text, the longer before the shorter.
fn words_for(text: &str) -> impl Iterator<Item = &'static ListedWord> {
    let first = text.as_bytes().first();
    let places = first.map_or(&[][..], |first| &WORDS.by_byte[usize::from(*first)]);
    places.iter().map(|at| &WORDS.all[*at])
}

/// Returns the word of these lists that a text in lower case begins with, and its length there. A
/// Latin word ends where no letter or digit follows, a Cyrillic one with its letters.
pub(super) fn word_at(text: &str, lists: &[&str]) -> Option<(&'static ListedWord, usize)> {
    let word = words_for(text).find(|word| {
        lists.contains(&word.list)
            && text.starts_with(word.text)
            && !(word.is_latin
                && text[word.text.len()..].starts_with(|next: char| next.is_ascii_alphanumeric()))
    })?;
    let cyrillic = |letter: &char| ('\u{400}'..='\u{4ff}').contains(letter);
    let stem = word.text.chars().next_back().is_some_and(|last| cyrillic(&last));
    let ending: usize = text[word.text.len()..]
        .chars()
        .take_while(|next| stem && cyrillic(next))
        .map(char::len_utf8)
        .sum();
    Some((word, word.text.len() + ending))
}

/// Returns the Latin word of these lists with which a token begins, whatever follows: `rand` of
/// `randread`.
pub(super) fn part_at(token: &str, lists: &[&str]) -> Option<&'static ListedWord> {
    words_for(token)
        .find(|word| word.is_latin && lists.contains(&word.list) && token.starts_with(word.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_and_stems_bend() {
        let found = |text: &str| {
            word_at(text, &["random", "read", "name"]).map(|(word, bytes)| (word.list, bytes))
        };
        assert_eq!(found("rand read"), Some(("random", 4)));
        assert_eq!(found("reader"), None);
        assert_eq!(found("случайное чтение"), Some(("random", "случайное".len())));
        assert_eq!(found("物理主机 x"), Some(("name", "物理主机".len())));
        assert_eq!(part_at("randread4k", &["random"]).map(|word| word.text), Some("rand"));
    }

    #[test]
    fn every_line_of_the_lists_has_a_name_and_words() {
        for line in include_str!("words.txt").lines().filter(|line| !line.starts_with('#')) {
            assert!(
                line.is_empty()
                    || line.split_once(": ").is_some_and(|(_, words)| !words.is_empty()),
                "{line}"
            );
        }
    }
}

//! Checks if a text names a thing that another text calls more or less the same.

/// Returns true if `text` mentions `name`: a whole word of it in Latin or Cyrillic letters, or two
/// consecutive Chinese characters. Words of `but` do not count, since a common part of two names
/// does not distinguish them.
pub fn mentions(text: &str, name: &str, but: &str) -> bool {
    names_it(&name_words(text), &name_words(name), &name_words(but))
}

pub(super) fn names_it(text: &[String], name: &[String], but: &[String]) -> bool {
    name.iter().any(|part| text.contains(part) && !but.contains(part))
}

/// Returns the words of a text in lower case, without single letters and numbers, and its pairs of
/// adjacent Chinese characters.
pub fn name_words(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    for letter in text.chars() {
        if is_han(letter) {
            flush(&mut word, &mut parts);
            parts.extend(before.map(|before| format!("{before}{letter}")));
            before = Some(letter);
            continue;
        }
        before = None;
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        } else {
            flush(&mut word, &mut parts);
        }
    }
    flush(&mut word, &mut parts);
    parts
}

fn flush(word: &mut String, parts: &mut Vec<String>) {
    let word = std::mem::take(word);
    // A single letter or a number names nothing.
    if word.chars().count() >= 2 && !word.chars().all(|letter| letter.is_ascii_digit()) {
        parts.push(word);
    }
}

fn is_han(letter: char) -> bool {
    matches!(letter, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}')
}

//! Guesses a stack from what a page calls a system: a host, a guest, its cache mode and queues. A
//! guess that does not use all words of the name is only an example in a comment.

use super::figures::DraftKind;
use super::words::listed_words;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StackGuess {
    /// Lines of TOML: `on = "disk"`, `layers = [..]`.
    pub lines: Vec<String>,
    /// True if the name says no more than the lines do.
    pub is_whole: bool,
    pub is_guest: bool,
    pub is_host: bool,
}

const CACHES: [&str; 5] = ["none", "writeback", "writethrough", "directsync", "unsafe"];

pub(super) fn guess_stack(text: &str, kind: DraftKind) -> StackGuess {
    let mut rest = text.to_lowercase();
    let mut options: Vec<String> = Vec::new();
    if let Some(cache) =
        take_option(&mut rest, "cache=").filter(|cache| CACHES.contains(&cache.as_str()))
    {
        options.push(format!("cache={cache}"));
    }
    let queues =
        take_option(&mut rest, "num-queues=").or_else(|| take_option(&mut rest, "queues="));
    if let Some(queues) = queues.filter(|queues| queues.parse().is_ok_and(|count: u32| count > 0)) {
        options.push(format!("num-queues={queues}"));
    }
    let mut is_called = |meaning: &str| {
        let words =
            listed_words().iter().filter(|word| word.list == "name" && word.meaning == meaning);
        words.filter(|word| take_word(&mut rest, word.text)).count() > 0
    };
    let is_passed = is_called("passthrough");
    let (is_vm, is_host) = (is_called("vm"), is_called("host"));
    let is_guest = is_vm || is_passed || !options.is_empty();
    if is_passed || take_word(&mut rest, "passthrough") {
        options.insert(0, "attach=vfio".to_owned());
    }
    // Options alone do not say what is below.
    let is_clear = is_vm != is_host && !rest.contains(char::is_alphanumeric);
    let options = options.join(",");
    let options = if options.is_empty() { options } else { format!("({options})") };
    let lines = match (kind, is_guest) {
        (DraftKind::Network, _) => vec!["text = \"net:HOST @HOST\"".to_owned()],
        (DraftKind::Machine, false) => vec!["text = \"cpu\"".to_owned()],
        (DraftKind::Machine, true) => vec!["text = \"cpu @ssh:GUEST\"".to_owned()],
        (DraftKind::Storage, false) => vec!["on = \"disk\"".to_owned()],
        (DraftKind::Storage, true) => {
            vec!["on = \"disk\"".to_owned(), format!("layers = [\"vm{options}\"]")]
        }
    };
    // Tools run in a guest that is there, and the page does not name it.
    let is_whole =
        is_clear && (kind == DraftKind::Storage || kind == DraftKind::Machine && is_host);
    StackGuess { lines, is_whole, is_guest, is_host }
}

/// Removes `cache=none` from a text. Returns the value.
fn take_option(text: &mut String, key: &str) -> Option<String> {
    let start = text.find(key)?;
    let value = text[start + key.len()..].chars().take_while(char::is_ascii_alphanumeric);
    let value: String = value.collect();
    text.replace_range(start..start + key.len() + value.len(), " ");
    Some(value)
}

/// Removes a word from a text. Returns true if it was there; a Latin word must be whole.
fn take_word(text: &mut String, word: &str) -> bool {
    let is_latin = word.is_ascii();
    let ends =
        |next: Option<char>| !is_latin || next.is_none_or(|next| !next.is_ascii_alphanumeric());
    let place = text.match_indices(word).map(|(at, _)| at).find(|at| {
        ends(text[..*at].chars().next_back()) && ends(text[at + word.len()..].chars().next())
    });
    let Some(at) = place else { return false };
    text.replace_range(at..at + word.len(), " ");
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_known_words_is_a_stack_and_others_are_examples() {
        let guess = |text: &str, kind| {
            let StackGuess { lines, is_whole, .. } = guess_stack(text, kind);
            (lines.join("; "), is_whole)
        };
        let storage = |text: &str| guess(text, DraftKind::Storage);
        assert_eq!(storage("物理主机"), ("on = \"disk\"".to_owned(), true));
        assert_eq!(storage("Host"), ("on = \"disk\"".to_owned(), true));
        assert_eq!(
            storage("VM (cache=none, queues=4)"),
            ("on = \"disk\"; layers = [\"vm(cache=none,num-queues=4)\"]".to_owned(), true)
        );
        assert_eq!(storage("Linux VM"), ("on = \"disk\"; layers = [\"vm\"]".to_owned(), false));
        assert!(!storage("cache=none").1);
        assert_eq!(storage("mdadm"), ("on = \"disk\"".to_owned(), false));
        assert_eq!(storage("cache=evil\"]"), ("on = \"disk\"".to_owned(), false));
        assert_eq!(guess("host", DraftKind::Machine), ("text = \"cpu\"".to_owned(), true));
        assert!(!guess("guest", DraftKind::Machine).1, "its name is not said");
        assert!(!guess("host to guest", DraftKind::Network).1);
    }
}

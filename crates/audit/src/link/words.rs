//! Lists of `words.txt`: the words by which heads, labels and sentences are read. One pass over a
//! text finds the words of all lists.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Set of word lists, one bit each.
pub type List = u64;

macro_rules! lists {
    ($($name:ident),+ $(,)?) => {
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the names are those of the lists")]
        enum Bit { $($name),+ }
        const NAMES: &[(&str, List)] = &[$((stringify!($name), 1 << Bit::$name as u32)),+];
        $(#[doc = concat!("The list `", stringify!($name), "` of `words.txt`.")]
        pub const $name: List = 1 << Bit::$name as u32;)+
    };
}

lists! {
    RATIO, CHANGE, LOSS, GAIN, USE, SUM, MEAN, MEDIAN, MOST, LEAST, TO, FROM, GLUE,
    CHANGES, OF_OTHERS, SETTINGS, TIMES, METRICS, VERSUS, RATES, LATENCY, NO_MEAN, DEPTH,
    CLIENTS, SIZES, READ, WRITE
}

struct Index {
    whole: FxHashMap<&'static str, List>,
    /// Words that are searched anywhere in a text, by their first byte.
    within: Vec<Vec<(&'static [u8], List)>>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index { whole: FxHashMap::default(), within: vec![Vec::new(); 256] };
    let lines = include_str!("words.txt").lines().filter(|line| !line.starts_with('#'));
    for (name, words) in lines.filter_map(|line| line.split_once(": ")) {
        let list = NAMES
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name))
            .map_or(0, |(_, list)| *list);
        for word in words.split(" | ") {
            *index.whole.entry(word).or_default() |= list;
            if word.contains(|letter: char| !letter.is_ascii_alphanumeric()) {
                index.within[usize::from(word.as_bytes()[0])].push((word.as_bytes(), list));
            }
        }
    }
    index
});

/// Returns all lists with a word in the text.
pub fn lists(text: &str) -> List {
    if text.is_empty() {
        return 0;
    }
    let lower = text.to_lowercase();
    let own = |word: &str| INDEX.whole.get(word).copied().unwrap_or(0);
    let mut all = 0;
    for word in lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.is_ascii())
    {
        all |= own(word);
        if word.bytes().any(|byte| byte.is_ascii_digit()) {
            all |= word
                .split(|letter: char| letter.is_ascii_digit())
                .map(own)
                .fold(0, |all, own| all | own);
        }
    }
    let bytes = lower.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        for (word, list) in &INDEX.within[usize::from(*byte)] {
            if bytes[at..].starts_with(word) {
                all |= list;
            }
        }
    }
    all
}

/// Returns true if a text has a word of one of these lists.
pub fn says(text: &str, wanted: List) -> bool {
    lists(text) & wanted != 0
}

/// Returns true if a text in lower case is itself a word of one of these lists.
pub fn is(text: &str, wanted: List) -> bool {
    INDEX.whole.get(text).is_some_and(|own| own & wanted != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_words_and_every_line_a_list() {
        let lines = include_str!("words.txt")
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        let named: Vec<&str> = lines.map(|line| line.split_once(": ").expect("a name").0).collect();
        for (name, _) in NAMES {
            assert!(named.iter().any(|own| own.eq_ignore_ascii_case(name)), "{name} has no words");
        }
        for name in named {
            assert!(
                NAMES.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)),
                "{name} is no list"
            );
        }
    }

    #[test]
    fn words_are_whole_where_they_are_latin() {
        assert!(says("Latency drop (%)", LOSS) && !says("dropbox", LOSS));
        assert!(says("虚拟化开销", LOSS) && says("снизилась на", LOSS));
        assert!(says("4k-randread-qd1", READ) && says("seqread1m", READ));
        assert!(is("vs.", VERSUS) && !is("vs", FROM));
    }
}

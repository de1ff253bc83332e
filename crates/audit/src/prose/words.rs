//! The words that clauses are read by.

use crate::link::words::{
    COMPARES, FIOS, GAIN, LOSS, List, RANDOM, READ, SEQUENTIAL, WRITE, is, lists, says,
};
use crate::number::{Quantity, Unit};
use std::ops::Range;

/// What a text is about, as far as its words tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topic {
    /// Reads (and not writes).
    pub read: bool,
    /// Writes (and not reads).
    pub write: bool,
    /// In random order.
    pub random: bool,
    /// In order.
    pub sequential: bool,
    /// The one block size it names, in bytes.
    pub size: Option<f64>,
}

impl Topic {
    /// What this says, and where it says nothing what the other does.
    pub fn or(self, other: &Topic) -> Topic {
        let way = self.read || self.write;
        let order = self.random || self.sequential;
        Topic {
            read: if way { self.read } else { other.read },
            write: if way { self.write } else { other.write },
            random: if order { self.random } else { other.random },
            sequential: if order { self.sequential } else { other.sequential },
            size: self.size.or(other.size),
        }
    }

    /// Whether a text (a head, a label) is of this topic: it says nothing against it, and what the topic names it names too.
    pub fn covers(&self, text: &Topic) -> bool {
        let agrees = |mine: (bool, bool), theirs: (bool, bool)| match mine {
            (false, false) | (true, true) => true,
            _ => mine == theirs,
        };
        agrees((self.read, self.write), (text.read, text.write))
            && agrees((self.random, self.sequential), (text.random, text.sequential))
            && self.size.is_none_or(|size| text.size.is_none_or(|other| other == size))
    }

    /// Whether it says anything.
    pub fn is_empty(&self) -> bool {
        *self == Topic::default()
    }
}

/// The topic of a text.
pub fn topic(text: &str) -> Topic {
    let lists = lists(text);
    let says = |list: List| lists & list != 0;
    Topic {
        read: says(READ),
        write: says(WRITE),
        random: says(RANDOM),
        sequential: says(SEQUENTIAL),
        size: size_of(text),
    }
}

/// The one block size that a text names: `4KB random`, `4k-50rdpct`, `1MB`; of 1024 whatever the prefix, as tools have it.
pub fn size_of(text: &str) -> Option<f64> {
    let mut sizes: Vec<f64> = Vec::new();
    let mut from = 0;
    while let Some(found) = text[from..].find(|letter: char| letter.is_ascii_digit()) {
        let start = from + found;
        let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
        from = start + digits;
        let free = text[..start].chars().next_back().is_none_or(|before| {
            !before.is_ascii_alphanumeric()
                && before != '.'
                && (before != '=' || text[..start].to_lowercase().ends_with("bs="))
        });
        let behind = text[from..].trim_start_matches([' ', '-']);
        let factor = match behind.as_bytes().first() {
            Some(b'k' | b'K') => 1024.0,
            Some(b'M' | b'm') => 1_048_576.0,
            _ => continue,
        };
        let rest =
            behind[1..].strip_prefix("iB").or(behind[1..].strip_prefix(['B', 'b'])).unwrap_or(&behind[1..]);
        // `4kqd1`, `4KQ32T1`: the depth follows.
        let depth = rest.trim_start_matches(['q', 'Q', 'd', 'D']);
        let depth = depth.len() < rest.len() && depth.starts_with(|letter: char| letter.is_ascii_digit());
        let ends = depth || !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '/');
        let number: Option<f64> = text[start..start + digits].parse().ok();
        if let (true, true, Some(number)) = (free, ends, number) {
            sizes.push(number * factor);
        }
    }
    sizes.dedup();
    match sizes.as_slice() {
        [only] if (512.0..=67_108_864.0).contains(only) => Some(*only),
        _ => None,
    }
}

/// The topics of labels or heads that stand side by side. fio's `read` and `write` beside its `randread` or `randwrite` are in order.
pub fn topics(texts: &[&str]) -> Vec<Topic> {
    let mut topics: Vec<Topic> = texts.iter().map(|text| topic(text)).collect();
    if texts.iter().any(|text| says(text, FIOS)) {
        for one in topics.iter_mut().filter(|one| one.read != one.write) {
            one.sequential |= !one.random;
        }
    }
    topics
}

/// Whether a figure of a clause is a multiple (`4x faster`, `by 4 times`, `20 倍`) and no count or name (`2 x Xeon`, `8x NVMe`, `802.1x`,
/// `2 × 4 GiB`, `called 3 times`).
pub(super) fn is_multiple(line: &str, clause: &Range<usize>, figure: &Quantity) -> bool {
    if figure.unit != Unit::Times {
        return false;
    }
    let end = figure.figure.spot.end as usize;
    let printed = line.get(figure.figure.spot.start as usize..end).unwrap_or("").to_lowercase();
    let Some(rest) = line.get(end..clause.end) else { return false };
    let called = printed.ends_with("times");
    if !called && !printed.ends_with(['x', '×']) {
        return true;
    }
    let next = rest.trim_start();
    let alone =
        !called && !rest.starts_with(char::is_alphanumeric) && !next.starts_with(char::is_alphanumeric);
    let word = next.split(|letter: char| !letter.is_alphabetic() && letter != '-').next().unwrap_or("");
    let word = word.to_lowercase();
    let compares = is(&word, COMPARES | GAIN | LOSS);
    let count =
        rest.starts_with(char::is_alphanumeric) || next.starts_with(|next: char| next.is_ascii_digit());
    !count && (alone || compares || (called && says(&line[clause.clone()], GAIN | LOSS)))
}

/// Whether a letter ends a sentence. A stop between digits is a decimal point, and after a single letter or number an
/// abbreviation or a list.
pub(super) fn ends_sentence(line: &str, at: usize, letter: char) -> bool {
    match letter {
        '。' | '!' | '?' | '！' | '？' | ';' | '；' => true,
        '.' if is_abbreviated(&line[..at]) => false,
        '.' => line[at + 1..].starts_with([' ', '\u{a0}']) || at + 1 == line.len(),
        _ => false,
    }
}

/// Whether a text ends with a word that a stop makes short: `33 s vs. 22 s`.
fn is_abbreviated(text: &str) -> bool {
    let word = text.rsplit(|letter: char| !letter.is_alphabetic()).next().unwrap_or("");
    ["vs", "approx", "ca", "resp", "bzw", "incl", "env"].contains(&word.to_lowercase().as_str())
}

/// Whether a letter ends a clause. A comma between digits is part of a figure.
pub(super) fn ends_clause(line: &str, at: usize, letter: char) -> bool {
    match letter {
        '，' | ':' | '：' => true,
        ',' => {
            !line[at + 1..].starts_with(|next: char| next.is_ascii_digit())
                || !line[..at].ends_with(|before: char| before.is_ascii_digit())
        }
        _ => false,
    }
}

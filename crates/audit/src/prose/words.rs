//! The words that clauses are read by.

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
    let lower = text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| has(&lower, word));
    Topic {
        read: says(&["read", "reads", "reading", "读", "чтен", "randread", "seqread"]),
        write: says(&["write", "writes", "writing", "写", "запис", "randwrite", "seqwrite"]),
        random: says(&["random", "rand", "randread", "randwrite", "randrw", "随机", "случайн", "rng"]),
        sequential: says(&[
            "sequential",
            "sequentially",
            "seq",
            "seqread",
            "seqwrite",
            "顺序",
            "последовательн",
        ]),
        size: crate::rule::identity::size_of(text),
    }
}

/// The topics of labels or heads that stand side by side. fio's `read` and `write` beside its `randread` or `randwrite` are in order.
pub fn topics(texts: &[&str]) -> Vec<Topic> {
    let mut topics: Vec<Topic> = texts.iter().map(|text| topic(text)).collect();
    let fios = |text: &&str| {
        let lower = text.to_lowercase();
        ["randread", "randwrite", "randrw"].iter().any(|word| has(&lower, word))
    };
    if texts.iter().any(fios) {
        for one in topics.iter_mut().filter(|one| one.read != one.write) {
            one.sequential |= !one.random;
        }
    }
    topics
}

pub(super) const LOSS: &[&str] = &[
    "loss",
    "loses",
    "lose",
    "lost",
    "overhead",
    "penalty",
    "slower",
    "drop",
    "drops",
    "dropped",
    "decrease",
    "decreased",
    "lower",
    "degradation",
    "reduction",
    "costs",
    "损失",
    "开销",
    "损耗",
    "下降",
    "降低",
    "慢",
    "потер",
    "теря",
    "накладн",
    "падени",
    "сниж",
    "медленнее",
    "хуже",
];

pub(super) const GAIN: &[&str] = &[
    "faster",
    "more than",
    "higher",
    "improvement",
    "improves",
    "improved",
    "increase",
    "increased",
    "gain",
    "提升",
    "提高",
    "增加",
    "高出",
    "быстрее",
    "больше",
    "прирост",
    "лучше",
];

pub(super) const WITHIN: &[&str] = &[
    "within",
    "margin of error",
    "no more than",
    "误差",
    "以内",
    "不超过",
    "в пределах",
    "погрешност",
    "не более",
];

pub(super) const LIMIT: &[&str] = &[
    "limit",
    "limited",
    "limits",
    "maximum",
    "max",
    "at most",
    "up to",
    "ceiling",
    "bottleneck",
    "受限",
    "最高",
    "最大",
    "上限",
    "只支持",
    "瓶颈",
    "ограничен",
    "максим",
    "не более",
    "предел",
];

/// What else compares where figures are multiples.
const COMPARES: &[&str] = &[
    "as", "better", "worse", "more", "less", "greater", "longer", "shorter", "larger", "smaller", "fewer",
    "that", "the", "than", "speedup", "speed-up",
];

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
    let lower = line[clause.clone()].to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| has(&lower, word));
    let next = rest.trim_start();
    let alone =
        !called && !rest.starts_with(char::is_alphanumeric) && !next.starts_with(char::is_alphanumeric);
    let word = next.split(|letter: char| !letter.is_alphabetic() && letter != '-').next().unwrap_or("");
    let word = word.to_lowercase();
    let compares = [COMPARES, GAIN, LOSS].iter().any(|words| words.contains(&word.as_str()));
    let count =
        rest.starts_with(char::is_alphanumeric) || next.starts_with(|next: char| next.is_ascii_digit());
    !count && (alone || compares || (called && (says(GAIN) || says(LOSS))))
}

pub(super) const HALF: &[&str] = &["half", "一半", "половин", "вдвое"];

/// Whether a lower-case text has a word: whole in Latin letters, anywhere in others, whose words bend or stand together.
pub(crate) fn has(lower: &str, word: &str) -> bool {
    let mut from = 0;
    while let Some(found) = lower[from..].find(word) {
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

/// Whether a letter ends a sentence. A stop between digits is a decimal point, and after a single letter or number an
/// abbreviation or a list.
pub(super) fn ends_sentence(line: &str, at: usize, letter: char) -> bool {
    match letter {
        '。' | '!' | '?' | '！' | '？' | ';' | '；' => true,
        '.' => line[at + 1..].starts_with([' ', '\u{a0}']) || at + 1 == line.len(),
        _ => false,
    }
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

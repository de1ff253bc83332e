//! The words that tie a change to its ends, and those that tell that it is of something else.

use crate::prose::{has, tells_gain, tells_loss};

/// Words that behind a percentage are of a change, and elsewhere of much.
const LESS: &[&str] = &["less", "fewer", "worse", "down", "weniger"];
const MORE: &[&str] = &["more", "better", "up", "mehr"];

pub(super) fn says_less(lower: &str) -> bool {
    tells_loss(lower) || LESS.iter().any(|word| has(lower, word))
}

pub(super) fn says_more(lower: &str) -> bool {
    tells_gain(lower) || MORE.iter().any(|word| has(lower, word))
}

/// Whether a text says which way a change goes.
pub(super) fn tells(text: &str) -> bool {
    let lower = text.to_lowercase();
    says_less(&lower) || says_more(&lower)
}

pub(super) fn is_change(word: &str) -> bool {
    let lower = word.to_lowercase();
    CHANGES.contains(&lower.as_str()) || tells(&lower)
}

/// Whether nothing stands between a change and its ends that could make it one of something else.
pub(super) fn is_glue(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower
        .split(|letter: char| letter.is_whitespace() || "()[]{}=~≈+-−–—→,:，：（）、.*_\"'`".contains(letter))
        .filter(|word| !word.is_empty());
    words.all(|word| GLUE.contains(&word) || is_change(word))
}

/// Where a sentence with two figures speaks of a third, or of a range.
pub(super) const OF_OTHERS: &[&str] = &[
    "between",
    "than",
    "compared",
    "average",
    "expected",
    "claims",
    "claimed",
    "cpu",
    "memory",
    "ram",
    "each",
    "per",
    "total",
    "both",
    "usage",
    "utilization",
    "utilisation",
    "previous",
    "previously",
    "earlier",
    "before",
    "year",
    "version",
    "respectively",
    "while",
    "whereas",
    "but",
];

/// What ties a change to its ends.
const GLUE: &[&str] = &[
    "a",
    "an",
    "the",
    "about",
    "approximately",
    "approx",
    "roughly",
    "around",
    "almost",
    "nearly",
    "ca",
    "circa",
    "which",
    "is",
    "was",
    "that",
    "this",
    "or",
    "by",
    "i",
    "e",
    "of",
    "representing",
    "for",
    "from",
    "just",
    "only",
    "etwa",
    "rund",
    "um",
    "von",
    "на",
    "то",
    "есть",
    "около",
    "примерно",
    "с",
    "от",
    "约",
    "了",
    "从",
    "由",
    "大约",
    "即",
];

/// Words of a change that say not which way it goes, and what it is of.
const CHANGES: &[&str] = &[
    "change",
    "difference",
    "delta",
    "relative",
    "in",
    "throughput",
    "bandwidth",
    "iops",
    "latency",
    "performance",
    "speed",
    "rate",
    "speedup",
    "speed-up",
    "boost",
    "uplift",
    "decline",
    "regression",
    "slowdown",
    "reduced",
    "reduces",
    "reduce",
    "increases",
    "decreases",
    "rise",
    "fall",
    "fell",
    "rose",
    "grew",
    "longer",
    "shorter",
    "schneller",
    "langsamer",
    "höher",
    "niedriger",
];

/// What may go on behind a change without being what it is of.
pub(super) const FOLLOWS: &[&str] =
    &["for", "on", "with", "when", "than", "over", "after", "vs", "compared", "and", "but", "because"];

/// What was set, and no result.
pub(super) const SETTINGS: &[&str] = &[
    "limit",
    "limits",
    "limited",
    "limiting",
    "cap",
    "capped",
    "throttle",
    "throttled",
    "throttling",
    "link",
    "links",
    "nic",
    "nics",
    "ethernet",
    "port",
    "ports",
    "upgrade",
    "upgraded",
    "upgrading",
    "timeout",
    "interval",
    "runtime",
    "respectively",
    "target",
    "quota",
    "rated",
    "theoretical",
];

/// Where times are results.
pub(super) const TIMES: &[&str] = &[
    "latency",
    "latencies",
    "takes",
    "took",
    "time",
    "times",
    "duration",
    "p50",
    "p95",
    "p99",
    "median",
    "mean",
    "average",
    "response",
    "延迟",
    "耗时",
    "задержк",
    "время",
    "latenz",
];

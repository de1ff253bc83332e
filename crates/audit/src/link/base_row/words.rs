//! What heads, labels and cells say of a base.

use crate::link::Form;
use crate::link::names::parts;
use crate::number::Unit;

/// Whether a label or a cell says that its row is the base.
pub(super) fn says_base(text: &str) -> bool {
    const WORDS: [&str; 9] =
        ["baseline", "base", "ref", "reference", "referenz", "basis", "référence", "базовый", "эталон"];
    let said = parts(text);
    WORDS.iter().any(|word| said.iter().any(|part| part == word))
        || ["基准", "基线", "基準", "базов"].iter().any(|word| text.to_lowercase().contains(word))
}

/// Whether a head says that its cells are ratios, by more words than where no row is a base.
pub(super) fn says_ratio(head: &str) -> bool {
    const WORDS: [&str; 12] = [
        "relative",
        "rel",
        "speedups",
        "slowdown",
        "normalized",
        "normalised",
        "vs",
        "versus",
        "baseline",
        "relativ",
        "rapport",
        "accélération",
    ];
    const WITHIN: [&str; 4] = ["speed up", "加速比", "相对", "относительн"];
    let lower = head.to_lowercase();
    let said = parts(head);
    crate::link::columns::says_ratio(head)
        || WORDS.iter().any(|word| said.iter().any(|part| part == word))
        || WITHIN.iter().any(|word| lower.contains(word))
}

/// Whether a head says that its cells are changes or shares.
pub(super) fn says_change(head: &str) -> bool {
    const WITHIN: [&str; 39] = [
        "change",
        "perf",
        "性能",
        "производительн",
        "delta",
        "δ",
        "diff",
        "overhead",
        "loss",
        "gain",
        "improve",
        "saving",
        "saved",
        "reduc",
        "increase",
        "decrease",
        "drop",
        "penalty",
        "degradation",
        "efficiency",
        "faster",
        "slower",
        "share",
        "% of",
        "änderung",
        "verlust",
        "变化",
        "差异",
        "差距",
        "提升",
        "下降",
        "损耗",
        "损失",
        "开销",
        "占比",
        "изменени",
        "прирост",
        "потер",
        "разниц",
    ];
    let lower = head.to_lowercase();
    WITHIN.iter().any(|word| lower.contains(word))
}

/// What a head is against: `host` of `Speedup vs. host`.
pub(super) fn other(head: &str) -> Option<&str> {
    const BEFORE: [&str; 16] = [
        "vs.",
        "vs ",
        "versus ",
        "relative to ",
        "compared to ",
        "compared with ",
        "over ",
        "against ",
        "gegenüber ",
        "relativ zu ",
        "相对于",
        "相对",
        "相比",
        "относительно ",
        "по сравнению с ",
        "против ",
    ];
    let lower = head.to_lowercase();
    // Lower case may take other bytes: then nothing is cut.
    let behind = |word: &&str| lower.find(*word).and_then(|at| head.get(at + word.len()..));
    BEFORE.iter().find_map(behind)
}

/// Whether a head is of a mean of ratios, which two figures that are no means do not give.
pub(super) fn is_of_many(head: &str, values: &str) -> bool {
    let [head, values] = [head, values].map(str::to_lowercase);
    let only = |word: &&str| head.contains(*word) && !values.contains(*word);
    const WORDS: [&str; 11] =
        ["mean", "median", "avg", "average", "p50", "p95", "p99", "平均", "中位", "средн", "медиан"];
    WORDS.iter().any(only)
}

/// Whether a table tells that ratios are means of ratios: beside what they spread by, or as a tool prints them.
pub(super) fn says_mean_of_ratios(heads: &[&str], head: &str) -> bool {
    const SPREADS: [&str; 4] = ["RatioSD", "Ratio SD", "Error", "StdDev"];
    let has = |word: &str| heads.iter().any(|head| head.trim() == word);
    SPREADS.iter().any(|word| has(word)) || head.trim() == "Ratio" && has("Mean")
}

/// Whether a column is of what was set: `Number of threads`, not `MB per 1k nodes`.
pub(super) fn is_set(head: &str) -> bool {
    const WORDS: [&str; 25] = [
        "thread",
        "threads",
        "core",
        "cores",
        "cpus",
        "worker",
        "workers",
        "node",
        "nodes",
        "client",
        "clients",
        "process",
        "processes",
        "jobs",
        "numjobs",
        "iodepth",
        "depth",
        "线程",
        "程数",
        "并发",
        "发数",
        "节点",
        "点数",
        "потоки",
        "потоков",
    ];
    const BESIDE: [&str; 5] = ["number", "of", "num", "count", "число"];
    let said = parts(head);
    let known = |part: &String| WORDS.contains(&part.as_str()) || BESIDE.contains(&part.as_str());
    said.iter().all(known) && said.iter().any(|part| WORDS.contains(&part.as_str()))
}

/// Whether a row is one of means or totals, whose ratio may be the mean of the ratios.
pub(in crate::link) fn is_mean(label: &str) -> bool {
    const WORDS: [&str; 8] = ["avg", "average", "mean", "geomean", "total", "totals", "overall", "sum"];
    let lower = label.to_lowercase();
    parts(label).iter().any(|part| WORDS.contains(&part.as_str()))
        || ["平均", "合计", "总计", "средн", "итого", "всего"].iter().any(|word| lower.contains(word))
}

/// The form that a head says its ratios have of figures that are the better for being less, or more: `speedup` of times is turned
/// round, `overhead` is what is added to times and lost of rates, and a change is what it is of either.
pub(super) fn form(head: &str, better: Option<Better>, unit: Unit) -> Option<(Form, bool)> {
    let lower = head.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let speedup = says(&["speedup", "speed-up", "加速", "ускорение"]);
    let overhead = says(&["overhead", "开销", "накладн"]);
    let change = says(&["change", "delta", "δ", "изменени", "变化", "änderung"]);
    match (speedup, overhead, change, unit, better) {
        (true, false, false, Unit::Times, Some(better)) => Some((Form::Share, better == Better::Less)),
        (false, true, false, Unit::Percent, Some(Better::Less)) => Some((Form::Gain, false)),
        (false, true, false, Unit::Percent, Some(Better::More)) => Some((Form::Loss, false)),
        (false, false, true, Unit::Percent, _) => Some((Form::Gain, false)),
        _ => None,
    }
}

/// Which figures are the better.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Better {
    /// Rates.
    More,
    /// Times.
    Less,
}

impl Better {
    /// As far as a unit says it.
    pub(super) fn of(unit: Unit) -> Option<Better> {
        match unit {
            Unit::PerSecond | Unit::BytesPerSecond | Unit::BitsPerSecond => Some(Better::More),
            Unit::Nanoseconds => Some(Better::Less),
            _ => None,
        }
    }
}

//! Rates and bandwidths of one row: F4 with the size that the head or the label names, N8 where the unit is another than the
//! label says, N3 where a copied rate lost its carry.

use super::like;
use crate::finding::{Finding, Severity, Slip};
use crate::import::fio::num2str::{self, Era};
use crate::link::parts;
use crate::number::{Base, Interval, Quantity, Unit};
use crate::page::Page;
use crate::rule::{Evidence, Rule, Sink, slip};
use crate::table::Table;

/// N8, and F4 and N3 of tables.
pub const UNIT: Rule = Rule {
    id: "N8",
    name: "in a table IOPS times block size is the bandwidth, in the unit that the label says",
    severity: Severity::WrongFigure,
    holds: "the intervals of IOPS * bs and bandwidth meet but for 0.25 %; a table all of whose rows need 1024 for a label of 1000 is \
            told once (cosmetic where the size is of K too and the label of KB), a row that does not agree as F4, a rate that lost its carry as N3",
    silent: "unless a rate and a bandwidth stand in neighbouring columns and head or label names one block size, and at least two \
             thirds of the rows agree; where a size of KB or MB, taken as 1000, gives the printed bandwidths",
    check: rate_times_size,
};

/// Relative difference that rounding on the way to a table makes.
const SLACK: f64 = 0.0025;

/// A rate and a bandwidth of one size.
struct Pair<'a> {
    rate: &'a Quantity,
    bandwidth: &'a Quantity,
    size: f64,
    /// The size as it is written, where that is of 1000.
    literal: Option<f64>,
    /// Whether the size is written as `4K`, of 1024 for all readers.
    bare_k: bool,
}

fn rate_times_size(evidence: &Evidence, sink: &mut Sink) {
    for table in evidence.tables {
        let pairs = pairs(table);
        if !pairs.is_empty() {
            judge(evidence.page, &pairs, sink);
        }
    }
}

fn pairs(table: &Table) -> Vec<Pair<'_>> {
    let mut pairs = Vec::new();
    for row in &table.rows {
        // A column is of one pair: what stands between two pairs is none.
        let mut free = 0;
        for left in 0..table.columns.len().saturating_sub(1) {
            if left < free {
                continue;
            }
            let figure = |at: usize| row.cells.get(at)?.as_ref()?.figure.as_ref();
            let (Some(first), Some(second)) = (figure(left), figure(left + 1)) else { continue };
            let heads = [left, left + 1].map(|at| table.columns[at].head.as_str());
            if of_what(heads[0]) != of_what(heads[1]) {
                continue;
            }
            let (rate, bandwidth) = match (kind(first, heads[0]), kind(second, heads[1])) {
                (Some(Kind::Rate), Some(Kind::Bandwidth)) => (first, second),
                (Some(Kind::Bandwidth), Some(Kind::Rate)) => (second, first),
                _ => continue,
            };
            let texts = [Some(row.label.as_str()), Some(heads[0]), Some(heads[1]), table.title.as_deref()];
            let told = texts.into_iter().flatten().find_map(|text| Some((size_of(text)?, text)));
            pairs.extend(told.map(|(size, text)| Pair {
                rate,
                bandwidth,
                size,
                literal: literal_size_of(text),
                bare_k: is_bare_k(text),
            }));
            free = left + 2;
        }
    }
    pairs
}

/// Words of heads that say which figure it is, not of what.
const METRICS: [&str; 26] = [
    "iops",
    "throughput",
    "bandwidth",
    "bw",
    "speed",
    "rate",
    "mb",
    "mib",
    "kb",
    "kib",
    "gb",
    "gib",
    "mbps",
    "kbps",
    "gbps",
    "sec",
    "iops/s",
    "мб",
    "гб",
    "кб",
    "мбайт",
    "скорость",
    "带宽",
    "吞吐",
    "吐量",
    "速度",
];

/// What a head is of, without the words of the metric: two columns of one load have it in common.
fn of_what(head: &str) -> Vec<String> {
    parts(head).into_iter().filter(|part| !METRICS.contains(&part.as_str())).collect()
}

#[derive(PartialEq)]
enum Kind {
    Rate,
    Bandwidth,
}

fn kind(figure: &Quantity, head: &str) -> Option<Kind> {
    match figure.unit {
        Unit::BytesPerSecond => Some(Kind::Bandwidth),
        Unit::PerSecond => Some(Kind::Rate),
        Unit::Bare if head.to_lowercase().contains("iops") => Some(Kind::Rate),
        _ => None,
    }
}

/// The one block size that a text names: `4KB random`, `4k-50rdpct`, `1MB`; of 1024 whatever the prefix, as tools have it.
pub(crate) fn size_of(text: &str) -> Option<f64> {
    let mut sizes: Vec<f64> = Vec::new();
    let mut from = 0;
    while let Some(found) = text[from..].find(|letter: char| letter.is_ascii_digit()) {
        let start = from + found;
        let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
        from = start + digits;
        let free = text[..start]
            .chars()
            .next_back()
            .is_none_or(|before| !before.is_ascii_alphanumeric() && before != '.' && before != '=');
        let behind = text[from..].trim_start_matches(' ');
        let factor = match behind.as_bytes().first() {
            Some(b'k' | b'K') => 1024.0,
            Some(b'M') => 1_048_576.0,
            _ => continue,
        };
        let rest = behind[1..].strip_prefix("iB").or(behind[1..].strip_prefix('B')).unwrap_or(&behind[1..]);
        let ends = !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '/');
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

/// The one size of a text whose unit is `KB` or `MB`, of 1000: `4 MB` times 10 a second is 40 MB/s as it stands there.
fn literal_size_of(text: &str) -> Option<f64> {
    let size = size_of(text)?;
    let lower = text.to_lowercase();
    let said = |unit: &str| {
        lower.match_indices(unit).any(|(at, _)| {
            lower[..at].trim_end_matches(' ').ends_with(|before: char| before.is_ascii_digit())
        })
    };
    match (said("kb"), said("mb")) {
        (true, false) => Some(size / 1.024),
        (false, true) => Some(size / 1.048_576),
        _ => None,
    }
}

/// Whether the size of a text is a number of `K`, without a unit behind it.
fn is_bare_k(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.match_indices('k').any(|(at, _)| {
        let number = lower[..at].trim_end_matches(' ').ends_with(|before: char| before.is_ascii_digit());
        number && !lower[at + 1..].starts_with(char::is_alphanumeric)
    })
}

/// Whether a pair agrees if a printed prefix of bytes is of this base.
fn agrees(pair: &Pair, factor: f64) -> bool {
    agrees_by(pair, pair.size, factor)
}

fn agrees_by(pair: &Pair, size: f64, factor: f64) -> bool {
    let expected = pair.rate.interval().scaled(size);
    expected.wider(SLACK).meets(pair.bandwidth.interval().scaled(factor))
}

/// What a decimal label is if it is of 1024 in fact.
fn binary(quantity: &Quantity) -> f64 {
    1.024f64.powi((quantity.scale.log10() / 3.0).round() as i32)
}

fn judge(page: &Page, pairs: &[Pair], sink: &mut Sink) {
    let plain = pairs.iter().filter(|pair| agrees(pair, 1.0)).count();
    let decimal = |pair: &&Pair| pair.bandwidth.base == Base::Decimal;
    let other = pairs.iter().filter(decimal).filter(|pair| agrees(pair, binary(pair.bandwidth))).count();
    let enough = |count: usize| 3 * count >= 2 * pairs.len() && count >= 2;
    let factor_of = |pair: &Pair| if other > plain && decimal(&pair) { binary(pair.bandwidth) } else { 1.0 };
    if !enough(plain.max(other)) {
        return;
    }
    // By the units as they are written, it is right.
    let literal = |pair: &&Pair| pair.literal.is_some_and(|size| agrees_by(pair, size, 1.0));
    if other > plain && pairs.iter().filter(literal).count() < other {
        unit_is_another(page, pairs, other, sink);
    }
    for pair in pairs {
        judge_pair(page, pair, factor_of(pair), sink);
    }
}

/// The label of a bandwidth whose unit stands in its head.
fn label_of(bandwidth: &Quantity) -> &'static str {
    let binary = bandwidth.base == Base::Binary;
    match bandwidth.scale.log10().round() as i32 {
        0 => "B/s",
        3 => ["KB/s", "KiB/s"][usize::from(binary)],
        9 => ["GB/s", "GiB/s"][usize::from(binary)],
        12 => ["TB/s", "TiB/s"][usize::from(binary)],
        _ => ["MB/s", "MiB/s"][usize::from(binary)],
    }
}

fn unit_is_another(page: &Page, pairs: &[Pair], count: usize, sink: &mut Sink) {
    let Some(first) = pairs.iter().find(|pair| pair.bandwidth.base == Base::Decimal) else { return };
    let printed = page.quote(first.bandwidth.figure.spot);
    // Who writes 4K for 4096 bytes writes KB for 1024 of them.
    let alike = first.bandwidth.scale == 1e3 && pairs.iter().all(|pair| pair.bare_k);
    let message = format!(
        "the label says {}, but the numbers are of 1024{}: IOPS times block size gives them in {count} of {} rows",
        if printed.chars().any(char::is_alphabetic) {
            printed.trim_start_matches(|letter: char| !letter.is_alphabetic())
        } else {
            label_of(first.bandwidth)
        },
        if alike { ", as its block size is" } else { "" },
        pairs.len()
    );
    let severity = if alike { Severity::Cosmetic } else { Severity::WrongFigure };
    let by = format!("{} * {} B", page.quote(first.rate.figure.spot), first.size);
    sink.finds(
        Finding::new("N8", severity, first.bandwidth.figure.spot, message)
            .by(by)
            .slip(Slip::ThousandFor1024)
            .against([first.rate.figure.spot]),
    );
}

fn judge_pair(page: &Page, pair: &Pair, factor: f64, sink: &mut Sink) {
    let Pair { rate, bandwidth, size, .. } = *pair;
    if agrees(pair, factor) {
        sink.holds("F4", &rate.figure);
        if factor == 1.0 {
            sink.holds("F4", &bandwidth.figure);
        } else {
            sink.plausible("F4", &bandwidth.figure);
        }
        return;
    }
    let expected = bandwidth.interval().scaled(factor / size);
    let printed = page.quote(rate.figure.spot);
    let carried =
        num2str::carried(printed, &rate.figure, Era::LostCarry).filter(|meant| meant.meets(expected));
    let by = format!("{} / {size} B = {:.0}", page.quote(bandwidth.figure.spot), expected.middle());
    if let Some(meant) = carried {
        let value = Interval { low: meant.low.max(expected.low), high: meant.high.min(expected.high) };
        let text = like(printed, rate, value.middle());
        let message = format!(
            "\"{printed}\" is how fio 2.20 to 3.25 shows about {:.0}, which is what its bandwidth gives: {text} is meant",
            value.middle()
        );
        sink.corrects(rate.figure.spot, value, text.clone());
        sink.finds(
            Finding::new("N3", Severity::WrongFigure, rate.figure.spot, message)
                .recomputed(text)
                .by(by)
                .slip(Slip::FioCarry)
                .against([bandwidth.figure.spot]),
        );
        return;
    }
    let recomputed = rate.interval().scaled(size / factor);
    let printed = page.quote(bandwidth.figure.spot);
    let text = like(printed, bandwidth, recomputed.middle());
    let by = format!("{} * {size} B", page.quote(rate.figure.spot));
    let slip = slip::of(bandwidth.interval(), recomputed);
    let unit = if printed.chars().any(char::is_alphabetic) {
        String::new()
    } else {
        format!(" {}", label_of(bandwidth))
    };
    let message = match slip {
        Some(slip) => format!("{printed}{unit} is not what {by} gives, {text}{unit}: {}", slip.words()),
        None => format!(
            "{printed}{unit} and {} are not of one run: {by} is {text}{unit}",
            page.quote(rate.figure.spot)
        ),
    };
    let mut finding = Finding::new("F4", Severity::WrongFigure, bandwidth.figure.spot, message)
        .recomputed(text)
        .by(by)
        .against([rate.figure.spot]);
    finding.slip = slip;
    sink.finds(finding);
}

#[cfg(test)]
mod tests;

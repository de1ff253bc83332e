//! Checks that IOPS times block size is the bandwidth: F4 in every grid, N8 if the unit differs
//! from the label's, N3 if a copied rate lost its carry.

use super::columns::{ColumnKind, by_columns, only_value, pairs, row_block_size};
use crate::evidence::{Evidence, EvidenceSink};
use crate::finding::{Finding, Severity, Slip};
use crate::import::fio::num2str::{self, DigitStyle};
use crate::link::grid::Grid;
use crate::link::near;
use crate::number::{Interval, NumberUnit, PrefixBase, Quantity};
use crate::page::AuditedPage;
use crate::prose::{BlockSize, size_of};
use crate::rule::table::{like, uncut};
use crate::slip;
use std::collections::BTreeMap;

/// Relative difference from rounding before the figures came into a table.
const SLACK: f64 = 0.0025;
/// Largest relative difference that is not reported unless other rows prove the block size: the
/// figures may be of two measurements.
const LOOSE: f64 = 0.02;
/// Returns usual block sizes, 512 B to 8 MiB without the rare 1 and 2 KiB, for pages that do not
/// state theirs.
fn usual_sizes() -> impl Iterator<Item = f64> {
    (9..=23).filter(|power| ![10, 11].contains(power)).map(|power| 2f64.powi(power))
}

/// Number of rows whose quotient is tried as the block size of all rows.
const MOST_OTHERS: usize = 8;

/// A rate and a bandwidth with one block size.
struct RatePair<'a> {
    rate: &'a Quantity,
    bandwidth: &'a Quantity,
    /// Block size in bytes, or in bits for a bandwidth in bits.
    size: f64,
    /// Size with `KB` or `MB` taken as 1000-based; `None` for other units.
    literal: Option<f64>,
    /// True if the size is written as `4K`, which everybody takes as 1024-based.
    bare_k: bool,
    stated: bool,
}

pub(in crate::rule) fn check(evidence: &Evidence, sink: &mut EvidenceSink) {
    let of_page = only_value(evidence, size_of);
    // Parts of a log are one table if they have the same heads.
    let mut logs: BTreeMap<[&str; 2], Vec<([usize; 2], RatePair)>> = BTreeMap::new();
    for grid in evidence.grids {
        let (stated, mut open) = of_grid(grid, of_page);
        if !stated.is_empty() {
            judge_pairs(evidence.page, &stated, sink);
        }
        if grid.is_text {
            for pair in std::mem::take(&mut open) {
                logs.entry(pair.0.map(|column| grid.heads[column].text.trim()))
                    .or_default()
                    .push(pair);
            }
        }
        for pairs in inferred(open) {
            judge_pairs(evidence.page, &pairs, sink);
        }
    }
    for pairs in logs.into_values().flat_map(inferred) {
        judge_pairs(evidence.page, &pairs, sink);
    }
}

/// Returns the pairs of a grid with a stated size, and the others by their columns.
fn of_grid<'a>(
    grid: &'a Grid,
    of_page: Option<f64>,
) -> (Vec<RatePair<'a>>, Vec<([usize; 2], RatePair<'a>)>) {
    let (mut stated, mut open) = (Vec::new(), Vec::new());
    for row in 0..grid.cells.rows() {
        for (rate, bandwidth) in pairs(grid, row, ColumnKind::Rate, ColumnKind::Bandwidth) {
            let (Some(of_rate), Some(of_bandwidth)) =
                (grid.quantity_at(row, rate), grid.quantity_at(row, bandwidth))
            else {
                continue;
            };
            let size_of_row = row_block_size(grid, row, [rate, bandwidth])
                .or(of_page.map(|bytes| BlockSize { bytes, unit: "" }));
            let bits = if of_bandwidth.unit == NumberUnit::BitsPerSecond { 8.0 } else { 1.0 };
            let pair = RatePair {
                rate: of_rate,
                bandwidth: of_bandwidth,
                size: bits * size_of_row.map_or(0.0, |size| size.bytes),
                literal: size_of_row.and_then(BlockSize::literal).map(|size| bits * size),
                bare_k: size_of_row.is_some_and(|size| size.unit.eq_ignore_ascii_case("k")),
                stated: size_of_row.is_some(),
            };
            if of_rate.figure.value <= 0.0 || of_bandwidth.figure.value <= 0.0 {
                continue;
            }
            match pair.stated {
                true => stated.push(pair),
                false => open.push(([rate, bandwidth], pair)),
            }
        }
    }
    (stated, open)
}

/// Infers the block size of pairs without a stated one. Pairs of the same columns get the size that
/// most of them fit; they are dropped if fewer than two thirds fit.
fn inferred(open: Vec<([usize; 2], RatePair<'_>)>) -> Vec<Vec<RatePair<'_>>> {
    let mut all = Vec::new();
    for mut pairs in by_columns(open) {
        let fits = |pair: &RatePair, size: f64| {
            let size =
                size * if pair.bandwidth.unit == NumberUnit::BitsPerSecond { 8.0 } else { 1.0 };
            factors(pair.bandwidth).iter().any(|factor| agrees_by(pair, size, *factor))
        };
        let count = |size: &f64| pairs.iter().filter(|pair| fits(pair, *size)).count();
        // An unusual size (10 KiB) needs three rows.
        let round = |pair: &RatePair| {
            (pair.bandwidth.figure.value / pair.rate.figure.value / 1024.0).round() * 1024.0
        };
        let others = pairs
            .iter()
            .take(MOST_OTHERS)
            .map(round)
            .filter(|size| (1024.0..=65536.0).contains(size));
        let mut sizes = others.filter(|size| count(size) >= 3).chain(usual_sizes());
        let first = sizes.next();
        let best = first.map(|first| {
            sizes.fold(first, |best, size| if count(&size) >= count(&best) { size } else { best })
        });
        let best = best.filter(|size| count(size) >= 2 && 3 * count(size) >= 2 * pairs.len());
        let Some(size) = best else { continue };
        // Rows that fit another size belong to that size.
        pairs.retain(|pair| fits(pair, size) || !usual_sizes().any(|other| fits(pair, other)));
        for pair in &mut pairs {
            pair.size =
                size * if pair.bandwidth.unit == NumberUnit::BitsPerSecond { 8.0 } else { 1.0 };
        }
        all.push(pairs);
    }
    all
}

/// Returns the factors by which a printed bandwidth may have to be multiplied: 1 if its prefix is
/// meant as it is read, else that of a prefix that is meant as 1024-based, or as thousands of KiB,
/// as some scripts print it.
fn factors(bandwidth: &Quantity) -> [f64; 3] {
    let decimal =
        bandwidth.base == PrefixBase::Decimal && bandwidth.unit == NumberUnit::BytesPerSecond;
    let power = if decimal { (bandwidth.scale.log10() / 3.0).round() as i32 } else { 0 };
    [1.0, 1.024f64.powi(power), 1.024f64.powi(power.min(1))]
}

/// Returns true if a pair agrees with factor number `base` of [`factors`].
fn agrees(pair: &RatePair, base: usize) -> bool {
    agrees_by(pair, pair.size, factors(pair.bandwidth)[base])
}

/// Returns true if the rate times `size` is the bandwidth times `factor`. Figures may have been
/// truncated: fio prints 84 I/Os per second for 84.7.
fn agrees_by(pair: &RatePair, size: f64, factor: f64) -> bool {
    uncut(pair.rate).scaled(size).wider(SLACK).overlaps_with(uncut(pair.bandwidth).scaled(factor))
}

fn judge_pairs(page: &AuditedPage, pairs: &[RatePair], sink: &mut EvidenceSink) {
    let count = |base: usize| pairs.iter().filter(|pair| agrees(pair, base)).count();
    // The first base wins among those with equal counts.
    let base = [0, 1, 2].into_iter().rev().max_by_key(|base| count(*base)).unwrap_or(0);
    let proven = 3 * count(base) >= 2 * pairs.len() && count(base) >= 2;
    // With the units taken literally, it is right.
    let literal = |pair: &&RatePair| pair.literal.is_some_and(|size| agrees_by(pair, size, 1.0));
    // A size that is not stated needs more rows.
    let is_certain = pairs.len() >= 4 || pairs.iter().all(|pair| pair.stated);
    if proven && is_certain && base > 0 && pairs.iter().filter(literal).count() < count(base) {
        unit_is_another(page, pairs, base, count(base), sink);
    }
    for pair in pairs {
        let factors = factors(pair.bandwidth);
        let right = factors.into_iter().find(|factor| agrees_by(pair, pair.size, *factor));
        let loosely = factors.iter().any(|factor| pair.off(*factor) <= LOOSE);
        match right {
            Some(own) => held(pair, own, sink),
            _ if literal(&pair) => held(pair, 1.0, sink),
            _ if proven || (!loosely && is_slip(pair, factors[base])) => {
                judge_pair(page, pair, factors[base], sink)
            }
            _ => {}
        }
    }
}

/// Returns true if one slip of the pen, in the rate or in the bandwidth, explains why the pair
/// disagrees.
fn is_slip(pair: &RatePair, factor: f64) -> bool {
    let RatePair { rate, bandwidth, size, .. } = *pair;
    let factors = if pair.stated { factors(bandwidth).to_vec() } else { vec![factor] };
    let ways = factors.into_iter().flat_map(|factor| [(factor, 0.0), (factor, SLACK)]);
    ways.into_iter().any(|(factor, slack)| {
        near::is_near(bandwidth, rate.interval().scaled(size / factor).wider(slack))
            || near::is_near(rate, bandwidth.interval().scaled(factor / size).wider(slack))
    })
}

fn held(pair: &RatePair, factor: f64, sink: &mut EvidenceSink) {
    sink.mark_holding("F4", &pair.rate.figure);
    match factor == 1.0 {
        true => sink.mark_holding("F4", &pair.bandwidth.figure),
        false => sink.plausible("F4", &pair.bandwidth.figure),
    }
}

impl RatePair<'_> {
    /// Returns the relative difference between the printed bandwidth, times `factor`, and the rate
    /// times the block size.
    fn off(&self, factor: f64) -> f64 {
        (self.bandwidth.figure.value * factor / (self.rate.figure.value * self.size) - 1.0).abs()
    }
}

/// Returns the label of a bandwidth whose unit is in its head.
fn label_of(bandwidth: &Quantity) -> &'static str {
    let binary = bandwidth.base == PrefixBase::Binary;
    match bandwidth.scale.log10().round() as i32 {
        0 => "B/s",
        3 => ["KB/s", "KiB/s"][usize::from(binary)],
        9 => ["GB/s", "GiB/s"][usize::from(binary)],
        12 => ["TB/s", "TiB/s"][usize::from(binary)],
        _ => ["MB/s", "MiB/s"][usize::from(binary)],
    }
}

fn unit_is_another(
    page: &AuditedPage,
    pairs: &[RatePair],
    base: usize,
    count: usize,
    sink: &mut EvidenceSink,
) {
    let Some(first) = pairs.iter().find(|pair| pair.bandwidth.base == PrefixBase::Decimal) else {
        return;
    };
    let printed = page.quote(first.bandwidth.figure.spot);
    // An author who writes 4K for 4096 bytes writes KB for 1024 bytes.
    let alike = first.bandwidth.scale == 1e3
        || (base == 1 && pairs.iter().all(|pair| pair.bare_k) && first.bandwidth.scale < 1e6);
    let thousands = base == 2 && first.bandwidth.scale > 1e3;
    let message = format!(
        "the label says {}, but the numbers are {}: IOPS times block size gives them in {count} of {} rows",
        if printed.chars().any(char::is_alphabetic) {
            printed.trim_start_matches(|letter: char| !letter.is_alphabetic())
        } else {
            label_of(first.bandwidth)
        },
        match (thousands, alike) {
            (true, _) => "thousands of KiB/s",
            (false, true) => "of 1024, as its block size is",
            _ => "of 1024",
        },
        pairs.len()
    );
    let severity = if alike || thousands { Severity::Cosmetic } else { Severity::WrongFigure };
    let by = format!("{} * {} B", page.quote(first.rate.figure.spot), first.size);
    sink.add_finding(
        Finding::new("N8", severity, first.bandwidth.figure.spot, message)
            .with_arithmetic(by)
            .slip(Slip::ThousandFor1024)
            .against([first.rate.figure.spot]),
    );
}

fn judge_pair(page: &AuditedPage, pair: &RatePair, factor: f64, sink: &mut EvidenceSink) {
    let RatePair { rate, bandwidth, size, .. } = *pair;
    let expected = bandwidth.interval().scaled(factor / size);
    let printed = page.quote(rate.figure.spot);
    let carried = num2str::lost_carry_interval(printed, &rate.figure, DigitStyle::LostCarry)
        .filter(|meant| meant.overlaps_with(expected));
    let by = format!("{} / {size} B = {:.0}", page.quote(bandwidth.figure.spot), expected.middle());
    if let Some(meant) = carried {
        let value =
            Interval { low: meant.low.max(expected.low), high: meant.high.min(expected.high) };
        let text = like(printed, rate, value.middle());
        let message = format!(
            "\"{printed}\" should be {text}: its bandwidth gives about {:.0}, and fio 2.20 to 3.25 loses the carry of the last digit",
            value.middle()
        );
        sink.corrects(rate.figure.spot, value, text.clone());
        sink.add_finding(
            Finding::new("N3", Severity::WrongFigure, rate.figure.spot, message)
                .recomputed(text)
                .with_arithmetic(by)
                .slip(Slip::FioCarry)
                .against([bandwidth.figure.spot]),
        );
        return;
    }
    let recomputed = rate.interval().scaled(size / factor);
    let printed = page.quote(bandwidth.figure.spot);
    let text = like(printed, bandwidth, recomputed.middle());
    let by = format!("{} * {size} B", page.quote(rate.figure.spot));
    let slip = slip::find_slip(bandwidth.interval(), recomputed);
    let unit = if printed.chars().any(char::is_alphabetic) {
        String::new()
    } else {
        format!(" {}", label_of(bandwidth))
    };
    let message = match slip {
        Some(slip) => {
            format!("{printed}{unit} is not what {by} gives, {text}{unit}: {}", slip.slip_words())
        }
        None => {
            format!(
                "{printed}{unit} and {} disagree: {by} is {text}{unit}",
                page.quote(rate.figure.spot)
            )
        }
    };
    let mut finding = Finding::new("F4", Severity::WrongFigure, bandwidth.figure.spot, message)
        .recomputed(text)
        .with_arithmetic(by)
        .against([rate.figure.spot]);
    finding.slip = slip;
    sink.add_finding(finding);
}

#[cfg(test)]
#[path = "product_tests.rs"]
mod tests;

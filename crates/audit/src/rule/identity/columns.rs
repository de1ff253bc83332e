//! Finds the quantities in the columns of a grid: rates, bandwidths, mean latencies, the I/Os in
//! flight, the block size.

use crate::evidence::Evidence;
use crate::link::grid::{Grid, GridColumn};
use crate::link::name_words;
use crate::link::words::{CLIENTS, DEPTH, LATENCY, List, NO_MEAN, RATES, SIZES, says};
use crate::number::NumberUnit;
use crate::prose::{BlockSize, block_size};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Rate,
    Bandwidth,
    Latency,
    Depth,
}

/// Returns what a figure of a grid measures; `None` if its unit, head and label do not show one of
/// these kinds.
pub(super) fn column_kind(grid: &Grid, row: usize, column: usize) -> Option<ColumnKind> {
    let figure = grid.quantity_at(row, column)?;
    let (head, label) = (grid.heads[column].lists, grid.label_lists[row]);
    let has = |lists: List, wanted: List| lists & wanted != 0;
    let no_mean = has(head, NO_MEAN) || !has(head, LATENCY) && has(label, NO_MEAN);
    match figure.unit {
        NumberUnit::PerSecond => Some(ColumnKind::Rate),
        NumberUnit::BytesPerSecond | NumberUnit::BitsPerSecond => Some(ColumnKind::Bandwidth),
        NumberUnit::Nanoseconds if !no_mean && has(head | label, LATENCY) => {
            Some(ColumnKind::Latency)
        }
        NumberUnit::Bare if has(head, DEPTH) && !has(head, RATES) && figure.scale == 1.0 => {
            Some(ColumnKind::Depth)
        }
        NumberUnit::Bare if has(head, RATES) => Some(ColumnKind::Rate),
        // `24.34 MB/s (6086)`.
        NumberUnit::Bare
            if grid.heads[column].slot != GridColumn::Figure
                && beside_bandwidth(grid, row, column) =>
        {
            Some(ColumnKind::Rate)
        }
        NumberUnit::Bare if !has(head, DEPTH) && has(label, RATES) => Some(ColumnKind::Rate),
        _ => None,
    }
}

fn beside_bandwidth(grid: &Grid, row: usize, column: usize) -> bool {
    let source = grid.heads[column].source;
    let bandwidth = |at: &usize| {
        grid.quantity_at(row, *at).is_some_and(|figure| figure.unit == NumberUnit::BytesPerSecond)
    };
    let own = |at: &usize| grid.heads[*at].source == source && *at != column;
    (0..grid.heads.len()).filter(own).any(|at| bandwidth(&at))
}

/// Words in heads that name the figure, not its subject.
const METRICS: &str = "iops throughput bandwidth bw speed rate mb mib kb kib gb gib mbps kbps gbps sec iops/s мб гб кб \
    мбайт скорость 带宽 吞吐 吐量 速度 latency lat avg ms us qps tps ops mean average 延迟 usec msec clat";

/// Returns the words of a head without those of the metric. Two columns of one load share them.
fn of_what(head: &str) -> Vec<String> {
    name_words(head)
        .into_iter()
        .filter(|part| METRICS.split(' ').all(|word| word != part))
        .collect()
}

/// Returns columns of two kinds in a row that belong together: in one cell, or under adjacent heads
/// of one load, or the only two.
pub(super) fn pairs(
    grid: &Grid,
    row: usize,
    first: ColumnKind,
    second: ColumnKind,
) -> Vec<(usize, usize)> {
    let of = |wanted: ColumnKind| -> Vec<usize> {
        (0..grid.heads.len()).filter(|at| column_kind(grid, row, *at) == Some(wanted)).collect()
    };
    let (ones, mut others) = (of(first), of(second));
    if let ([one], [other]) = (ones.as_slice(), others.as_slice()) {
        let apart = || {
            let [one, other] = [*one, *other].map(|at| of_what(&grid.heads[at].text));
            !one.is_empty() && !other.is_empty() && one != other
        };
        return if one.abs_diff(*other) > 1 && apart() { Vec::new() } else { vec![(*one, *other)] };
    }
    let mut found = Vec::new();
    for one in ones {
        let same_cell = |at: &usize| grid.heads[*at].source == grid.heads[one].source;
        let alike = |at: &usize| of_what(&grid.heads[*at].text) == of_what(&grid.heads[one].text);
        // In a line, the bracket after a figure belongs to it.
        let beside = |at: &usize| grid.is_text && (*at + 1 == one || one + 1 == *at);
        let best = others
            .iter()
            .position(same_cell)
            .or_else(|| others.iter().position(beside))
            .or_else(|| others.iter().position(|at| at.abs_diff(one) == 1 && alike(at)))
            .or_else(|| {
                let mut matching = others.iter().enumerate().filter(|(_, at)| alike(at));
                let only = matching.next()?;
                matching.next().is_none().then_some(only.0)
            });
        if let Some(at) = best {
            found.push((one, others.remove(at)));
        }
    }
    found
}

/// Groups results for pairs of columns by their pair.
pub(super) fn by_columns<T>(all: Vec<([usize; 2], T)>) -> impl Iterator<Item = Vec<T>> {
    let mut groups: BTreeMap<[usize; 2], Vec<T>> = BTreeMap::new();
    all.into_iter().for_each(|(columns, one)| groups.entry(columns).or_default().push(one));
    groups.into_values()
}

/// Returns the block size for a pair of columns in a row: from the label, the heads, a column of
/// sizes, or the title.
pub(super) fn row_block_size<'g>(
    grid: &'g Grid,
    row: usize,
    columns: [usize; 2],
) -> Option<BlockSize<'g>> {
    let own = || {
        let texts = [grid.labels[row], &grid.heads[columns[0]].text, &grid.heads[columns[1]].text];
        texts.into_iter().find_map(block_size)
    };
    let of_column = || {
        let sizes = |at: &usize| grid.heads[*at].lists & SIZES != 0;
        let figure =
            (0..grid.heads.len()).filter(sizes).find_map(|at| grid.quantity_at(row, at))?;
        let bytes = match figure.unit {
            NumberUnit::Bytes if figure.scale == 1.0 => figure.figure.value,
            NumberUnit::Bytes => {
                figure.figure.value / figure.scale
                    * 1024f64.powi((figure.scale.log10() / 3.0).round() as i32)
            }
            NumberUnit::Bare if figure.scale == 1e3 => figure.figure.value * 1.024,
            NumberUnit::Bare if figure.scale == 1e6 => figure.figure.value * 1.048_576,
            _ => return None,
        };
        (bytes >= 512.0).then_some(BlockSize { bytes, unit: "" })
    };
    own().or_else(of_column).or_else(|| block_size(&grid.title))
}

/// Returns the only value that `value_of` finds in the first 2000 lines outside tables and outputs:
/// the depth or the block size of the whole page. `None` if it finds none or different ones.
pub(super) fn only_value(evidence: &Evidence, value_of: fn(&str) -> Option<f64>) -> Option<f64> {
    let lines = evidence
        .text_lines()
        .take(2000)
        .map(|at| evidence.page.line_text(at))
        .filter(|line| line.len() < 300);
    let mut values = lines.filter_map(value_of);
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

/// Returns the number of I/Os in flight for a row: from columns of depths and jobs, or from a text
/// such as `QD32`, `T1Q1`, `iodepth=64`.
pub(super) fn depth(grid: &Grid, row: usize, pair: [usize; 2]) -> Option<f64> {
    let columns =
        (0..grid.heads.len()).filter(|at| column_kind(grid, row, *at) == Some(ColumnKind::Depth));
    let depths: Vec<(bool, f64)> = columns
        .filter_map(|at| {
            Some((grid.heads[at].lists & CLIENTS != 0, grid.quantity_at(row, at)?.figure.value))
        })
        .collect();
    // Clients are the whole depth, whatever threads drive them.
    if let Some((_, all)) = depths.iter().find(|(all, _)| *all) {
        return Some(*all);
    }
    // `| threads | QPS |`: the labels are the depths.
    let label = grid.labels[row].trim().parse::<f64>().ok().filter(|_| says(&grid.corner, DEPTH));
    if label.is_some() {
        return label;
    }
    if !depths.is_empty() {
        return Some(depths.iter().map(|(_, depth)| depth).product());
    }
    let texts = [
        grid.labels[row],
        &grid.heads[pair[0]].text,
        &grid.heads[pair[1]].text,
        &grid.corner,
        &grid.title,
    ];
    texts.into_iter().find_map(depth_of)
}

/// Returns the depth in a text: the product of all of `qd=32`, `QD 32`, `T4Q8`, `iodepth=64
/// numjobs=4`, `128 depth`, `50 clients`, `16 threads`.
pub(super) fn depth_of(text: &str) -> Option<f64> {
    const BEFORE: &[&str] =
        &["iodepth", "qd", "q", "t", "numjobs", "jobs", "depth", "threads", "clients"];
    const AFTER: &[&str] =
        &["depth", "threads", "thread", "clients", "jobs", "connections", "并发", "线程", "поток"];
    let lower = text.to_lowercase();
    let mut product = None;
    let mut from = 0;
    while let Some(found) = lower[from..].find(|letter: char| letter.is_ascii_digit()) {
        let start = from + found;
        let digits = lower[start..].bytes().take_while(u8::is_ascii_digit).count();
        from = start + digits;
        let before = lower[..start].trim_end_matches([' ', '=', ':', '-']);
        let word_start =
            before.rfind(|letter: char| !letter.is_ascii_alphabetic()).map_or(0, |at| at + 1);
        // `T1Q1`: the letter after a digit begins a word.
        let word = before.get(word_start..).unwrap_or("");
        let after = lower[from..].trim_start_matches([' ', '-', '个']);
        let names_depth =
            BEFORE.contains(&word) || AFTER.iter().any(|unit| after.starts_with(unit));
        let number: Option<f64> = lower[start..from].parse().ok();
        if let (true, Some(number)) =
            (names_depth, number.filter(|number| (1.0..=65536.0).contains(number)))
        {
            product = Some(product.unwrap_or(1.0) * number);
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_told_in_many_ways() {
        for (text, depth) in [
            ("QD=32", Some(32.0)),
            ("T1Q1 write", Some(1.0)),
            ("4K randwrite, 128 depth", Some(128.0)),
            ("randread iodepth=16 numjobs=4", Some(64.0)),
            ("RND4K Q32T16", Some(512.0)),
            ("50 clients", Some(50.0)),
            ("4k read", None),
            ("PM1725 raid10", None),
        ] {
            assert_eq!(depth_of(text), depth, "{text}");
        }
    }
}

//! X31: DiskSpd's MiB/s and I/Os a second are counts over the time of the test, its totals the sums of threads, all I/Os reads and
//! writes, its percentiles rise.

use super::ledger::{Ledger, Named, named};
use super::{Evidence, Rule, Sink};
use crate::finding::Severity;
use crate::import::Said;
use crate::import::diskspd::{DiskSpd, Row, Span, Table};
use crate::number::{Figure, Interval};

/// The rule's entry in the family.
pub const RULE: Rule = Rule {
    id: "X31",
    name: "DiskSpd's figures are counts over its time, sums of threads, reads and writes",
    severity: Severity::WrongFigure,
    holds: "bytes / time = MiB/s; I/Os / time = I/O per s; I/Os * block = bytes; total = sum of threads = reads + writes; the \
            total's mean latency is the threads' weighted by I/Os; percentiles rise; all within rounding",
    silent: "about blocks of several sizes, and about sums where fewer lines are shown than threads were",
    check,
};

fn check(evidence: &Evidence, sink: &mut Sink) {
    for output in evidence.outputs {
        let Said::DiskSpd(said) = &output.said else { continue };
        for span in &said.spans {
            let mut ledger = Ledger::new(evidence.page, RULE.id);
            relations(said, span, &mut ledger);
            ledger.settle(sink);
        }
    }
}

/// A column of a table: its name, what the threads' are called, its unit, the figure of a row.
type Column = (&'static str, &'static str, &'static str, fn(&Row) -> Option<Figure>);

fn bytes(row: &Row) -> Named {
    named("the bytes", "bytes", row.bytes)
}

fn ios(row: &Row) -> Named {
    named("the I/Os", "", row.ios)
}

fn relations(said: &DiskSpd, span: &Span, ledger: &mut Ledger) {
    for table in span.tables.iter().flatten() {
        for row in table.rows.iter().chain(&table.total) {
            of_row(said, span, row, ledger);
        }
        // A page may leave out lines of threads: their sum is no total.
        let whole = span.threads.is_none_or(|threads| table.rows.len() as f64 >= threads.value);
        if let Some(total) = table.total.as_ref().filter(|_| whole) {
            totals(table, total, ledger);
        }
    }
    ways(span, ledger);
    const NAMES: [&str; 3] = ["the percentile of reads", "the percentile of writes", "the percentile of all"];
    // Tables of several targets follow one another.
    let rises = span.tiles.windows(2).all(|pair| pair[0].percent <= pair[1].percent);
    for (way, name) in NAMES.into_iter().enumerate().take(if rises { 3 } else { 0 }) {
        let points: Vec<Named> =
            span.tiles.iter().filter_map(|tile| Some(named(name, "ms", tile.latency[way]?))).collect();
        ledger.rising(&points, 0.0);
    }
    for [usage, _, _, idle] in &span.cpus {
        let operands = [named("the usage", "%", *usage), named("the idle share", "%", *idle)];
        let rest = Interval { low: 100.0 - usage.high, high: 100.0 - usage.low };
        ledger.given(operands[1], rest, &operands[..1], || format!("100% - {:.2}%", usage.value));
    }
}

fn of_row(said: &DiskSpd, span: &Span, row: &Row, ledger: &mut Ledger) {
    if let Some(seconds) = span.seconds {
        let seconds = named("the test time", "s", seconds);
        if let Some(rate) = row.bandwidth {
            ledger.product(named("the MiB/s", "MiB/s", rate), 1.0, &[(bytes(row), 1), (seconds, -1)], 0.0);
        }
        if let Some(rate) = row.iops {
            ledger.product(named("the I/O per s", "/s", rate), 1.0, &[(ios(row), 1), (seconds, -1)], 0.0);
        }
    }
    let Some(block) = said.block() else { return };
    ledger.product(bytes(row), block as f64, &[(ios(row), 1)], 0.0);
    if let (Some(bandwidth), Some(iops)) = (row.bandwidth, row.iops) {
        let iops = named("the I/O per s", "/s", iops);
        ledger.product(named("the MiB/s", "MiB/s", bandwidth), block as f64, &[(iops, 1)], 0.0);
    }
}

/// The line `total` of a table.
fn totals(table: &Table, total: &Row, ledger: &mut Ledger) {
    let of =
        |name: &'static str, unit: &'static str, get: fn(&Row) -> Option<Figure>| -> Option<Vec<Named>> {
            table.rows.iter().map(|row| get(row).map(|figure| named(name, unit, figure))).collect()
        };
    let columns: [Column; 4] = [
        ("the total of bytes", "the bytes of the threads", "bytes", |row| Some(row.bytes)),
        ("the total of I/Os", "the I/Os of the threads", "", |row| Some(row.ios)),
        ("the total of MiB/s", "the MiB/s of the threads", "MiB/s", |row| row.bandwidth),
        ("the total of I/O per s", "the I/O per s of the threads", "/s", |row| row.iops),
    ];
    for (name, parts, unit, get) in columns {
        if let (Some(target), Some(rows)) = (get(total), of(parts, unit, get)) {
            ledger.sum(named(name, unit, target), 1.0, &rows, 0.0);
        }
    }
    let latencies = of("the latencies of the threads", "ms", |row| row.latency);
    let (Some(latencies), Some(mean)) = (latencies, total.latency) else { return };
    let all: f64 = table.rows.iter().map(|row| row.ios.value).sum();
    if all <= 0.0 {
        return;
    }
    let weighted = |of: fn(&Figure) -> f64| {
        let parts = latencies.iter().zip(&table.rows);
        parts.map(|(one, row)| of(&one.figure) * row.ios.value).sum::<f64>() / all
    };
    let expected = Interval { low: weighted(|one| one.low), high: weighted(|one| one.high) };
    ledger.given(named("the mean latency of all", "ms", mean), expected, &latencies, || {
        format!("latencies weighted by I/Os = {:.3} ms", expected.middle() / 1e6)
    });
}

/// All I/Os are reads and writes, in the totals and of each thread.
fn ways(span: &Span, ledger: &mut Ledger) {
    let [Some(all), Some(reads), Some(writes)] = &span.tables else { return };
    let totals = all.total.iter().zip(&reads.total).zip(&writes.total);
    let rows = all.rows.iter().zip(&reads.rows).zip(&writes.rows);
    let alike = all.rows.len() == reads.rows.len() && all.rows.len() == writes.rows.len();
    let rows = rows.take(if alike { usize::MAX } else { 0 });
    for ((all, reads), writes) in totals.chain(rows) {
        let columns: [Column; 4] = [
            ("all bytes", "bytes", "bytes", |row| Some(row.bytes)),
            ("all I/Os", "I/Os", "", |row| Some(row.ios)),
            ("all MiB/s", "MiB/s", "MiB/s", |row| row.bandwidth),
            ("all I/O per s", "I/O per s", "/s", |row| row.iops),
        ];
        for (name, _, unit, get) in columns {
            if let (Some(all), Some(reads), Some(writes)) = (get(all), get(reads), get(writes)) {
                let operands = [named("the reads", unit, reads), named("the writes", unit, writes)];
                ledger.sum(named(name, unit, all), 1.0, &operands, 0.0);
            }
        }
    }
}

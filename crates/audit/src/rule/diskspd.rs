//! X31: DiskSpd's MiB/s and I/Os a second are counts over the time of the test, its totals the sums of threads, all I/Os reads and
//! writes, its percentiles rise.

use super::Rule;
use super::ledger::{Ledger, Named, mean, named};
use crate::finding::Severity;
use crate::import::Said;
use crate::import::diskspd::{COLUMNS, Span, Table};
use crate::import::sheet::{BANDWIDTH, BYTES, IOPS, IOS, MEAN, Sheet, TIME};
use crate::number::Figure;

pub const RULE: Rule = Rule {
    id: "X31",
    name: "DiskSpd's figures are counts over its time, sums of threads, reads and writes",
    severity: Severity::WrongFigure,
    holds: "bytes / time = MiB/s; I/Os / time = I/O per s; I/Os * block = bytes; total = sum of threads = reads + writes; the \
            total's mean latency is the threads' weighted by I/Os; percentiles rise",
    silent: "about blocks of several sizes, and about sums where fewer lines are shown than threads were",
    check: |evidence, sink| {
        for output in evidence.outputs {
            let Said::DiskSpd(said) = &output.said else { continue };
            for span in &said.spans {
                let mut ledger = Ledger::new(evidence.page, RULE.id);
                relations(said.block(), span, &mut ledger);
                ledger.settle(sink);
            }
        }
    },
};

fn relations(block: Option<u64>, span: &Span, ledger: &mut Ledger) {
    for table in span.tables.iter().flatten() {
        table.all().for_each(|row| of_row(block, span.time, row, ledger));
        // A page may leave out lines of threads: their sum is no total.
        let whole = span.threads.is_none_or(|threads| table.rows.len() as f64 >= threads.value);
        table.total.iter().filter(|_| whole).for_each(|total| totals(table, total, ledger));
    }
    // All I/Os are reads and writes, in the totals and of each thread.
    if let [Some(all), Some(reads), Some(writes)] = &span.tables {
        let alike = [reads, writes].iter().all(|table| table.rows.len() == all.rows.len());
        let rows = all.rows.iter().zip(&reads.rows).zip(&writes.rows).filter(|_| alike);
        for ((all, reads), writes) in all.total.iter().zip(&reads.total).zip(&writes.total).chain(rows) {
            for (name, ..) in COLUMNS {
                let parts = (reads.get(name), writes.get(name));
                if let (Some(all), (Some(reads), Some(writes))) = (all.get(name), parts) {
                    let parts =
                        [Named { name: "the reads", ..reads }, Named { name: "the writes", ..writes }];
                    ledger.sum(all, &parts, 0.0);
                }
            }
        }
    }
    const NAMES: [&str; 3] = ["the percentile of reads", "the percentile of writes", "the percentile of all"];
    // Tables of several targets follow one another.
    if span.tiles.windows(2).all(|pair| pair[0].0 <= pair[1].0) {
        for (way, name) in NAMES.into_iter().enumerate() {
            let points = span.tiles.iter().filter_map(|(_, of)| Some(named(name, "ms", of[way]?)));
            ledger.rising(&points.collect::<Vec<_>>(), 0.0);
        }
    }
}

fn of_row(block: Option<u64>, time: Option<Figure>, row: &Sheet, ledger: &mut Ledger) {
    for (rate, count) in [(BANDWIDTH, BYTES), (IOPS, IOS)] {
        if let (Some(rate), Some(count), Some(time)) = (row.get(rate), row.get(count), time) {
            ledger.product(rate, 1e9, &[(count, 1), (named(TIME, "s", time), -1)], 0.0);
        }
    }
    let Some(block) = block else { return };
    ledger.of(row, BYTES, block as f64, &[(IOS, 1)], 0.0);
    ledger.of(row, BANDWIDTH, block as f64, &[(IOPS, 1)], 0.0);
}

/// The line `total` of a table.
fn totals(table: &Table, total: &Sheet, ledger: &mut Ledger) {
    let of = |name: &str| table.rows.iter().map(|row| row.get(name)).collect::<Option<Vec<Named>>>();
    for (name, ..) in COLUMNS {
        if let (Some(target), Some(rows)) = (total.get(name), of(name)) {
            ledger.sum(target, &rows, 0.0);
        }
    }
    let (Some(latencies), Some(ios), Some(target)) = (of(MEAN), of(IOS), total.get(MEAN)) else { return };
    let weights: Vec<f64> = ios.iter().map(|one| one.figure.value).collect();
    if let Some(expected) = mean(&latencies, &weights) {
        ledger.given(target, expected, &latencies, || {
            format!("latencies weighted by I/Os = {:.3} ms", expected.middle() / 1e6)
        });
    }
}

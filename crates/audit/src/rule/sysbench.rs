//! X27: sysbench's rates are counts over the time, its latencies' sum is their mean times the events.

use super::Rule;
use super::ledger::{Ledger, Named, sheets};
use crate::finding::Severity;
use crate::import::sheet::{LEAST, MEAN, MOST, Sheet, TIME, named};
use crate::import::sysbench::*;
use crate::number::{Figure, Interval};

pub const RULE: Rule = Rule {
    id: "X27",
    name: "sysbench's rates are counts over its time, and its latencies fill its threads' time",
    severity: Severity::WrongFigure,
    holds: "count / time = rate; sum of latencies = mean * events; MiB = operations * block; IOPS * block = MiB/s; queries are reads, \
            writes and others; a thread's figures times threads are all",
    silent: "about rates of runs that are too short for sysbench's clocks to agree",
    check: |evidence, sink| {
        sheets(evidence, sink, RULE.id, FORMAT.name, |sheets, ledger| {
            sheets.iter().filter(|sheet| !sheet.repeats).for_each(|sheet| relations(sheet, ledger));
        });
    },
};

/// How much longer than the printed time the clock of rates may run: it is read later. 1 ms was seen.
const LATER_NS: f64 = 20e6;
const LATER_SHARE: f64 = 0.001;

/// Counters are read one after another while threads end: 0.07 % was seen.
const SEEN: f64 = 0.003;

/// Percentiles are edges of the histogram's buckets, which are 2.4 % apart.
const BUCKET: f64 = 0.03;

fn relations(printed: &Sheet, ledger: &mut Ledger) {
    let sheet = &exact(printed);
    let pairs = [(EVENTS, EVENT_RATE), (OPERATIONS, OPERATION_RATE), (MOVED, THROUGHPUT)];
    ledger.rates(sheet, pairs.into_iter().chain(COUNTS).map(|(count, rate)| (rate, count)));
    files(sheet, ledger);
    if let Some(block) = sheet.workload.bs.map(|block| block as f64) {
        let memory = [(MOVED, OPERATIONS), (THROUGHPUT, OPERATION_RATE)];
        let of_files = FILE_BYTES.into_iter().zip(FILE_RATES).chain(OLD_BYTES.into_iter().zip(PARTS));
        for (bytes, count) in memory.into_iter().chain(of_files) {
            ledger.of(sheet, bytes, block, &[(count, 1)], 0.0);
        }
    }
    let same = [(COUNTS[1].0, PARTS[3]), (EVENTS, OPERATIONS)];
    for (one, other) in DECIMAL_BYTES.into_iter().zip(FILE_BYTES).chain(same) {
        ledger.of(sheet, one, 1.0, &[(other, 1)], 0.0);
    }
    ledger.adds(sheet, MOVED, &OLD_BYTES);
    ledger.adds(sheet, PARTS[3], &PARTS[..3]);
    let both = if sheet.get(OLD_BYTES[0]).is_some() { EVENTS } else { COUNTS[2].0 };
    ledger.adds(sheet, both, &PARTS[..2]);
    ledger.latencies(sheet);
    if let (Some((_, tail)), Some(least), Some(most)) =
        (sheet.percentiles.first(), sheet.get(LEAST), sheet.get(MOST))
    {
        ledger.rising(&[least, named(PERCENTILE, "ms", *tail), most], BUCKET);
    }
    ledger.of(sheet, SUM, 1.0, &[(MEAN, 1), (EVENTS, 1)], SEEN);
    for (all, of_thread) in [EVENTS, SUM].into_iter().zip(OF_THREAD) {
        ledger.of(sheet, all, 1.0, &[(of_thread, 1), (THREADS, 1)], SEEN);
    }
}

/// A sheet whose time may be that of the later clock of rates, and whose bytes, where 0.x prints five digits without the zeros at their
/// end, stand for half a unit of the fifth.
fn exact(printed: &Sheet) -> Sheet {
    let mut sheet = printed.clone();
    let old = sheet.get(OLD_BYTES[0]).is_some();
    for (_, Named { name, figure, .. }) in &mut sheet.figures {
        let Figure { value, low, high, .. } = *figure;
        if *name == TIME {
            (figure.low, figure.high) = (low * (1.0 - LATER_SHARE), high * (1.0 + LATER_SHARE) + LATER_NS);
        } else if old && [OLD_BYTES[0], OLD_BYTES[1], MOVED].contains(name) {
            let slack = (high - value).max(value * 5e-5);
            (figure.low, figure.high) = (value - slack, value + slack);
        }
    }
    sheet
}

/// All rates of files over the time are the events: final fsyncs, one a file, come after the last rate was taken.
fn files(sheet: &Sheet, ledger: &mut Ledger) {
    let rates: Vec<Named> = FILE_RATES.iter().filter_map(|name| sheet.get(name)).collect();
    let (Some(events), Some(time), 3) = (sheet.get(EVENTS), sheet.get(TIME), rates.len()) else { return };
    let all = rates.iter().fold(Interval::exact(0.0), |sum, rate| sum.plus(rate.figure.interval()));
    let given = all.times(time.figure.interval()).scaled(1e-9);
    let bounds = Interval { low: given.low * 0.98 - 256.0, high: given.high * 1.02 + 256.0 };
    ledger.within(events, bounds, &[rates, vec![time]].concat(), || {
        format!("all rates a second * {} s = {:.0}", time.figure.value / 1e9, given.middle())
    });
}

//! X27: sysbench's rates are counts over the time, its latencies' sum is their mean times the events.

use super::Rule;
use super::ledger::{Ledger, Named, sheets};
use crate::finding::Severity;
use crate::import::sheet::{LEAST, MEAN, MOST, Sheet, TIME, named};
use crate::import::sysbench::*;
use crate::number::{Figure, Interval};

/// The rule's entry in the family.
pub const RULE: Rule = Rule {
    id: "X27",
    name: "sysbench's rates are counts over its time, and its latencies fill its threads' time",
    severity: Severity::WrongFigure,
    holds: "count / total time = rate (the rate's clock runs up to 20 ms and 0.1 % longer); sum of latencies = mean * events; MiB = \
            operations * block; IOPS * block = MiB/s; queries are reads, writes and others; events and time of a thread times threads \
            are all, within 0.3 % since counters are read one after another",
    silent: "about rates of runs that are too short for the clocks to agree",
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

fn relations(sheet: &Sheet, ledger: &mut Ledger) {
    let get = |name: &str| sheet.get(name);
    let (events, sum, threads) = (get(EVENTS), get(SUM), get(THREADS));
    let old = OLD_BYTES.map(get);
    if let Some(time) = get(TIME) {
        let time = Named { figure: clock(time.figure), ..time };
        let pairs = [(EVENTS, EVENT_RATE), (OPERATIONS, OPERATION_RATE), (MOVED, THROUGHPUT)];
        for (count, rate) in pairs.into_iter().chain(COUNTS) {
            if let (Some(count), Some(rate)) = (get(count), get(rate)) {
                ledger.product(rate, 1e9, &[(count, 1), (time, -1)], 0.0);
            }
        }
        files(sheet, events, time, ledger);
    }
    if let Some(block) = sheet.workload.bs.map(|block| block as f64) {
        let memory = [(MOVED, OPERATIONS), (THROUGHPUT, OPERATION_RATE)];
        let of_files = [(FILE_BYTES[0], FILE_RATES[0]), (FILE_BYTES[1], FILE_RATES[1])];
        for (bytes, count) in memory.into_iter().chain(of_files) {
            if let (Some(bytes), Some(count)) = (get(bytes), get(count)) {
                ledger.product(bytes, block, &[(count, 1)], 0.0);
            }
        }
        for (bytes, count) in old.iter().zip(PARTS) {
            if let (Some(bytes), Some(count)) = (bytes, get(count)) {
                ledger.product(five(*bytes), block, &[(count, 1)], 0.0);
            }
        }
    }
    for (decimal, bytes) in DECIMAL_BYTES.into_iter().zip(FILE_BYTES) {
        if let (Some(decimal), Some(bytes)) = (get(decimal), get(bytes)) {
            ledger.product(decimal, 1.0, &[(bytes, 1)], 0.0);
        }
    }
    if let ([Some(read), Some(written)], Some(moved)) = (old, get(MOVED)) {
        ledger.sum(five(moved), &[five(read), five(written)], 0.0);
    }
    if let [Some(reads), Some(writes), Some(others), Some(all)] = PARTS.map(get) {
        ledger.sum(all, &[reads, writes, others], 0.0);
        if let Some(queries) = get(COUNTS[1].0) {
            ledger.product(queries, 1.0, &[(all, 1)], 0.0);
        }
        let both = if old[0].is_some() { events } else { get(COUNTS[2].0) };
        both.into_iter().for_each(|both| ledger.sum(both, &[reads, writes], 0.0));
    }
    if let (Some(operations), Some(events)) = (get(OPERATIONS), events) {
        ledger.product(events, 1.0, &[(operations, 1)], 0.0);
    }
    let order: Vec<Named> = [LEAST, MEAN, MOST].into_iter().filter_map(get).collect();
    ledger.rising(&order, 0.0);
    if let (Some((_, tail)), [least, _, most]) = (sheet.percentiles.first(), order.as_slice()) {
        ledger.rising(&[*least, named(PERCENTILE, "ms", *tail), *most], BUCKET);
    }
    if let (Some(mean), Some(sum), Some(events)) = (get(MEAN), sum, events) {
        ledger.product(sum, 1.0, &[(mean, 1), (events, 1)], SEEN);
    }
    if let Some(threads) = threads {
        for (all, of_thread) in [events, sum].into_iter().zip(OF_THREAD) {
            if let (Some(all), Some(of_thread)) = (all, get(of_thread)) {
                ledger.product(all, 1.0, &[(of_thread, 1), (threads, 1)], SEEN);
            }
        }
    }
}

/// The time, as its printed digits and the later clock of rates have it.
fn clock(time: Figure) -> Figure {
    let high = time.high * (1.0 + LATER_SHARE) + LATER_NS;
    Figure { low: time.low * (1.0 - LATER_SHARE), high, ..time }
}

/// All rates of files over the time are the events: final fsyncs, one a file, come after the last rate was taken.
fn files(sheet: &Sheet, events: Option<Named>, time: Named, ledger: &mut Ledger) {
    let rates: Vec<Named> = FILE_RATES.iter().filter_map(|name| sheet.get(name)).collect();
    let Some(events) = events.filter(|_| rates.len() == FILE_RATES.len()) else { return };
    let all = rates.iter().fold(Interval::exact(0.0), |sum, rate| sum.plus(rate.figure.interval()));
    let given = all.times(time.figure.interval()).scaled(1e-9);
    let bounds = Interval { low: given.low * 0.98 - 256.0, high: given.high * 1.02 + 256.0 };
    let operands = [rates, vec![time]].concat();
    ledger.within(events, bounds, &operands, || {
        format!("all rates a second * {} s = {:.0}", time.figure.value / 1e9, given.middle())
    });
}

/// 0.x prints five digits without the zeros at their end: half a unit of the fifth is what they stand for.
fn five(named: Named) -> Named {
    let Figure { value, high, .. } = named.figure;
    let slack = (high - value).max(value * 5e-5);
    Named { figure: Figure { low: value - slack, high: value + slack, ..named.figure }, ..named }
}

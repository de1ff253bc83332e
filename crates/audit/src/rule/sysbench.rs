//! X27: sysbench's rates are counts over the time, its latencies' sum is their mean times the events, and lies within what its
//! threads have time for.

use super::ledger::{Ledger, Named, named};
use super::{Evidence, Rule, Sink};
use crate::finding::Severity;
use crate::import::Said;
use crate::import::sysbench::Sysbench;
use crate::number::{Figure, Interval};

/// The rule's entry in the family.
pub const RULE: Rule = Rule {
    id: "X27",
    name: "sysbench's rates are counts over its time, and its latencies fill its threads' time",
    severity: Severity::WrongFigure,
    holds: "count / total time = rate (the rate's clock runs up to 20 ms and 0.1 % longer); sum of latencies = mean * events <= \
            threads * time; MiB = operations * block; IOPS * block = MiB/s; queries are reads, writes and others; events and \
            time of a thread times threads are all, within 0.3 % since counters are read one after another",
    silent: "about rates of runs that are too short for the clocks to agree; about threads' time where a rate was asked for",
    check,
};

/// How much longer than the printed time the clock of rates may run: it is read later. 1 ms was seen.
const LATER_S: f64 = 0.02;
const LATER_SHARE: f64 = 0.001;

fn check(evidence: &Evidence, sink: &mut Sink) {
    for output in evidence.outputs {
        let Said::Sysbench(said) = &output.said else { continue };
        let mut ledger = Ledger::new(evidence.page, RULE.id);
        rates(said, &mut ledger);
        sizes(said, &mut ledger);
        files(said, &mut ledger);
        queries(said, &mut ledger);
        latencies(said, &mut ledger);
        threads(said, &mut ledger);
        ledger.settle(sink);
    }
}

/// The time, as its printed digits and the later clock of rates have it.
fn clock(said: &Sysbench) -> Option<Named> {
    let seconds = said.seconds?;
    let high = seconds.high * (1.0 + LATER_SHARE) + LATER_S;
    let low = seconds.low * (1.0 - LATER_SHARE);
    Some(named("the total time", "s", Figure { low, high, ..seconds }))
}

fn rates(said: &Sysbench, ledger: &mut Ledger) {
    let Some(time) = clock(said) else { return };
    let events = said.events.map(|events| named("the number of events", "", events));
    if let Some(events) = events {
        for rate in said.events_per_second.iter().chain(&said.requests_per_second) {
            ledger.product(named("the rate of events", "/s", *rate), 1.0, &[(events, 1), (time, -1)], 0.0);
        }
    }
    for (rate, total, per_second) in [
        (&said.operations, named_rate("the operations", ""), named_rate("the rate of operations", "/s")),
        (&said.transferred, named_rate("the MiB moved", "MiB"), named_rate("the throughput", "MiB/s")),
    ] {
        let Some(rate) = rate else { continue };
        ledger.product(per_second(rate.per_second), 1.0, &[(total(rate.total), 1), (time, -1)], 0.0);
    }
    for counted in &said.counted {
        let (total, rate) = (counted.rate.total, counted.rate.per_second);
        let total = named(counted.name, "", total);
        ledger.product(named("the rate a second", "/s", rate), 1.0, &[(total, 1), (time, -1)], 0.0);
    }
}

fn named_rate(name: &'static str, unit: &'static str) -> impl Fn(Figure) -> Named {
    move |figure| named(name, unit, figure)
}

/// What the memory test moved, and how much of it a second, are its operations times the block.
fn sizes(said: &Sysbench, ledger: &mut Ledger) {
    let (Some(block), Some(moved), Some(done)) = (said.block, &said.transferred, &said.operations) else {
        return;
    };
    let (operations, rate) = (done.total, done.per_second);
    let block = block as f64;
    // 0.4 takes the size of what it was asked for.
    let moved_bytes = named("the MiB moved", "MiB", moved.total);
    ledger.product(moved_bytes, block, &[(named("the operations", "", operations), 1)], 0.0);
    let throughput = named("the throughput", "MiB/s", moved.per_second);
    ledger.product(throughput, block, &[(named("the rate of operations", "/s", rate), 1)], 0.0);
    if let Some(events) = said.events {
        let operations = named("the operations", "", operations);
        ledger.product(named("the number of events", "", events), 1.0, &[(operations, 1)], 0.0);
    }
}

fn files(said: &Sysbench, ledger: &mut Ledger) {
    const NAMES: [(&str, &str); 2] = [
        ("the reads a second", "the MiB read a second"),
        ("the writes a second", "the MiB written a second"),
    ];
    for (at, (ios, bytes)) in NAMES.into_iter().enumerate() {
        let (Some(rate), Some(moved)) = (said.per_second[at], said.bytes_per_second[at]) else { continue };
        let moved = named(bytes, "MiB/s", moved);
        if let Some(block) = said.block {
            ledger.product(moved, block as f64, &[(named(ios, "/s", rate), 1)], 0.0);
        }
        if let Some(decimal) = said.decimal_per_second[at] {
            ledger.product(named("the same in MB/s", "MB/s", decimal), 1.0, &[(moved, 1)], 0.0);
        }
    }
    let rates: Option<Vec<Named>> =
        said.per_second.iter().map(|rate| rate.map(|rate| named("the rates a second", "/s", rate))).collect();
    // The final fsyncs come after the last rate was taken: within the clock's slack, and one a file.
    if let (Some(rates), Some(events), Some(time)) = (rates, said.events, clock(said)) {
        let all = rates.iter().fold(Interval::exact(0.0), |sum, rate| sum.plus(rate.figure.interval()));
        let given = all.times(time.figure.interval());
        let expected = Interval { low: given.low * 0.98 - 256.0, high: given.high * 1.02 + 256.0 };
        let mut operands = rates.clone();
        operands.push(time);
        ledger.within(named("the number of events", "", events), expected, &operands, || {
            format!("all rates a second * {} s = {:.0}", time.figure.value, given.middle())
        });
    }
    let [reads, writes, others, all] = said.requests;
    if let (Some(reads), Some(writes), Some(others), Some(all)) = (reads, writes, others, all) {
        let operands =
            [named("the reads", "", reads), named("the writes", "", writes), named("the others", "", others)];
        ledger.sum(named("the total", "", all), 1.0, &operands, 0.0);
        if let Some(events) = said.events {
            ledger.sum(named("the number of events", "", events), 1.0, &operands[..2], 0.0);
        }
    }
    old_files(said, ledger);
}

/// 0.x prints five digits without the zeros at their end: half a unit of the fifth is what they stand for.
fn old_files(said: &Sysbench, ledger: &mut Ledger) {
    let [Some(read), Some(written)] = said.moved else { return };
    let Some(moved) = said.transferred else { return };
    let operands = [named("the read", "MiB", five(read)), named("the written", "MiB", five(written))];
    ledger.sum(named("the total transferred", "MiB", five(moved.total)), 1.0, &operands, 0.0);
    let Some(block) = said.block else { return };
    for (count, bytes) in [(said.requests[0], operands[0]), (said.requests[1], operands[1])] {
        if let Some(count) = count {
            ledger.product(bytes, block as f64, &[(named("the requests", "", count), 1)], 0.0);
        }
    }
}

fn five(figure: Figure) -> Figure {
    let slack = (figure.high - figure.value).max(figure.value * 5e-5);
    Figure { low: figure.value - slack, high: figure.value + slack, ..figure }
}

fn queries(said: &Sysbench, ledger: &mut Ledger) {
    let [reads, writes, others, all] = said.queries;
    if let (Some(reads), Some(writes), Some(others), Some(all)) = (reads, writes, others, all) {
        let parts = [
            named("the read queries", "", reads),
            named("the write queries", "", writes),
            named("the other queries", "", others),
        ];
        ledger.sum(named("the total of queries", "", all), 1.0, &parts, 0.0);
        let counted = |name: &str| said.counted.iter().find(|one| one.name == name).map(|one| one.rate.total);
        if let Some(queries) = counted("queries") {
            let all = named("the total of queries", "", all);
            ledger.product(named("the queries", "", queries), 1.0, &[(all, 1)], 0.0);
        }
        if let Some(requests) = counted("read/write requests") {
            ledger.sum(named("the read/write requests", "", requests), 1.0, &parts[..2], 0.0);
        }
    }
}

fn latencies(said: &Sysbench, ledger: &mut Ledger) {
    let [least, mean, most] = said.latency.map(|one| one.map(|figure| named("the latency", "ms", figure)));
    let name = |one: Option<Named>, name: &'static str| one.map(|one| Named { name, ..one });
    let (least, mean, most) = (
        name(least, "the least latency"),
        name(mean, "the mean latency"),
        name(most, "the greatest latency"),
    );
    let order: Vec<Named> = [least, mean, most].into_iter().flatten().collect();
    ledger.rising(&order, 0.0);
    if let (Some((_, percentile)), Some(most)) = (said.percentile, most) {
        // Percentiles are edges of the histogram's buckets, which are 2.4 % apart.
        ledger.rising(&[named("the percentile", "ms", percentile), most], BUCKET);
        if let Some(least) = least {
            ledger.rising(&[least, named("the percentile", "ms", percentile)], BUCKET);
        }
    }
    let (Some(mean), Some(sum), Some(events)) = (mean, said.event_time, said.events) else { return };
    let events = named("the number of events", "", events);
    let unit = if said.is_new() { "ms" } else { "s" };
    ledger.product(named("the sum of latencies", unit, sum), 1.0, &[(mean, 1), (events, 1)], COUNTED);
}

/// Counters are read one after another while threads end: 0.07 % was seen.
const COUNTED: f64 = 0.003;

const BUCKET: f64 = 0.03;

/// What the threads did is what all did.
fn threads(said: &Sysbench, ledger: &mut Ledger) {
    let Some(threads) = said.threads.map(|threads| named("the number of threads", "", threads)) else {
        return;
    };
    if let (Some([of_thread, _]), Some(events)) = (said.events_of_thread, said.events) {
        let of_thread = named("the events of a thread", "", of_thread);
        let events = named("the number of events", "", events);
        ledger.product(events, 1.0, &[(of_thread, 1), (threads, 1)], COUNTED);
    }
    let sum =
        said.event_time.map(|sum| named("the sum of latencies", if said.is_new() { "ms" } else { "s" }, sum));
    if let (Some([of_thread, _]), Some(sum)) = (said.seconds_of_thread, sum) {
        let of_thread = named("the execution time of a thread", "s", of_thread);
        ledger.product(sum, 1e9, &[(of_thread, 1), (threads, 1)], COUNTED);
    }
    // Waiting for the rate that was asked for is in the latencies: they may be longer than the threads' time.
    if let (Some(sum), Some(time), false) = (sum, clock(said), said.rate) {
        let room = threads.figure.value * time.figure.high * 1e9;
        let expected = Interval { low: 0.0, high: room };
        ledger.within(sum, expected, &[threads, time], || {
            format!("{} threads * {} s = {:.2} s", threads.figure.value, time.figure.value, room / 1e9)
        });
    }
}

//! X23: vdbench's MB/s is its rate times the size of an I/O, its queue the rate times the response time, its averages those of the
//! intervals above them.

use super::ledger::{Ledger, Named, named};
use super::{Evidence, Rule, Sink};
use crate::finding::Severity;
use crate::import::Said;
use crate::import::vdbench::{Row, Run, Span, fixed_bytes};
use crate::number::{Figure, Interval};

/// The rule's entry in the family.
pub const RULE: Rule = Rule {
    id: "X23",
    name: "vdbench's MB/s is rate * bytes in MiB, its queue rate * resp, its averages those of its intervals",
    severity: Severity::WrongFigure,
    holds: "rate * bytes = MB/s in MiB (or MB where the head says 1000**2); resp between the reads' and the writes' by their \
            share; rate * resp is no more than the queue but for 10 % of averages; averages of rate and MB/s = means over the intervals (from the \
            first or the second, with or without the last), of resp weighted by rate; the greatest = the intervals' greatest",
    silent: "about averages where intervals are missing above them; about the queue of single intervals",
    check,
};

fn check(evidence: &Evidence, sink: &mut Sink) {
    for output in evidence.outputs {
        let Said::Vdbench(said) = &output.said else { continue };
        for run in &said.runs {
            let mut ledger = Ledger::new(evidence.page, RULE.id);
            run.rows.iter().for_each(|row| of_row(run, row, &mut ledger));
            averages(run, &mut ledger);
            ledger.settle(sink);
        }
    }
}

fn megabytes(run: &Run) -> &'static str {
    if run.megabyte == 1e6 { "MB/s" } else { "MiB/s" }
}

fn of_row(run: &Run, row: &Row, ledger: &mut Ledger) {
    let rate = row.rate.map(|rate| named("the rate", "/s", rate));
    if let (Some(rate), Some(bandwidth), Some(bytes)) = (rate, row.bandwidth, fixed_bytes(run, row)) {
        let bytes = named("the bytes of an I/O", "bytes", bytes);
        ledger.product(named("the MB/sec", megabytes(run), bandwidth), 1.0, &[(rate, 1), (bytes, 1)], 0.0);
    }
    let [all, reads, writes] = row.response;
    if let (Some(all), Some(reads), Some(writes), Some(share)) = (all, reads, writes, row.reads) {
        let part = Interval { low: (share.low / 100.0).max(0.0), high: (share.high / 100.0).min(1.0) };
        let rest = Interval { low: 1.0 - part.high, high: 1.0 - part.low };
        let clip = |figure: Figure| Interval { low: figure.low.max(0.0), high: figure.high };
        let expected = clip(reads).times(part).plus(clip(writes).times(rest));
        // Rounding of shares leaves no more than that.
        let operands = [
            named("the response of reads", "ms", reads),
            named("the response of writes", "ms", writes),
            named("the share of reads", "%", share),
        ];
        ledger.given(named("the response time", "ms", all), expected, &operands, || {
            format!(
                "{} ms * {}% + {} ms * {:.2}% = {:.3} ms",
                reads.value / 1e6,
                share.value,
                writes.value / 1e6,
                100.0 - share.value,
                expected.middle() / 1e6
            )
        });
    }
    if let (Some(all), Some(most)) = (all, row.most[0]) {
        let all = named("the response time", "ms", all);
        ledger.rising(&[all, named("the greatest response time", "ms", most)], 0.0);
    }
    if let (Some(rate), Some(all), Some(queue), Span::Average(..)) = (rate, all, row.queue, row.span) {
        let operands = [rate, named("the response time", "ms", all)];
        let answered = rate.figure.interval().times(all.interval()).scaled(1e-9);
        // An I/O that hangs is in the queue and in no response time: there may be any number of them.
        let bounds = Interval { low: answered.low * (1.0 - QUEUE) - 0.05, high: f64::INFINITY };
        ledger.within(named("the queue depth", "", queue), bounds, &operands, || {
            format!("rate * response time = {:.1}", answered.middle())
        });
    }
}

/// A column that is averaged: its name, what the intervals' are called, its unit, the figure of a row.
type Column = (&'static str, &'static str, &'static str, fn(&Row) -> Option<Figure>);

/// An I/O that began before the first interval is in the response times and not in the queue.
const QUEUE: f64 = 0.1;

fn averages(run: &Run, ledger: &mut Ledger) {
    let Some(average) = run.average() else { return };
    let Span::Average(from, to) = average.span else { return };
    let intervals: Vec<&Row> = run.rows.iter().filter(|row| matches!(row.span, Span::One(_))).collect();
    let number = |row: &Row| match row.span {
        Span::One(number) => number,
        Span::Average(..) => 0,
    };
    let complete = intervals.len() == to as usize
        && intervals.iter().enumerate().all(|(at, row)| number(row) as usize == at + 1);
    if !complete || from == 0 || from > to {
        return;
    }
    let columns: [Column; 2] = [
        ("the average rate", "the intervals' rates", "/s", |row| row.rate),
        ("the average MB/sec", "the intervals' MB/sec", megabytes(run), |row| row.bandwidth),
    ];
    for (name, parts, unit, get) in columns {
        let target = get(average).map(|figure| named(name, unit, figure));
        let parts: Option<Vec<Named>> =
            intervals.iter().map(|row| get(row).map(|figure| named(parts, unit, figure))).collect();
        if let (Some(target), Some(parts)) = (target, parts) {
            means(target, &parts, from, ledger);
        }
    }
    response(average, &intervals, from, ledger);
    greatest(average, &intervals, ledger);
}

/// The spans of intervals that an average may be of: the label tells the first, which some versions do not heed; the last may
/// have been cut short.
fn spans(count: usize, from: u32) -> impl Iterator<Item = std::ops::Range<usize>> {
    let first = (from as usize - 1).min(count);
    let starts = if first == 0 { vec![0] } else { vec![first, 0] };
    starts.into_iter().flat_map(move |start| [start..count, start..count - 1]).filter(|span| !span.is_empty())
}

fn means(target: Named, parts: &[Named], from: u32, ledger: &mut Ledger) {
    let mean = |span: std::ops::Range<usize>| {
        let count = span.len() as f64;
        let sum = parts[span].iter().fold(Interval::exact(0.0), |sum, one| sum.plus(one.figure.interval()));
        sum.scaled(1.0 / count)
    };
    let means: Vec<Interval> = spans(parts.len(), from).map(mean).collect();
    let own = target.figure.interval();
    if let Some(met) = means.iter().find(|mean| mean.meets(own)) {
        ledger.given(target, *met, parts, String::new);
        return;
    }
    // Between what is possible nothing is said: a last interval that was cut short counts in part.
    let low = means.iter().map(|mean| mean.low).fold(f64::INFINITY, f64::min);
    let high = means.iter().map(|mean| mean.high).fold(0.0, f64::max);
    let room = Interval { low, high }.wider(0.01);
    if let (false, Some(first)) = (room.meets(own), means.first()) {
        ledger.given(target, *first, parts, || {
            let count = parts.len() as u32 + 1 - from;
            format!("sum of {count} intervals / {count}")
        });
    }
}

/// The average response time is that of the intervals, weighted by how many I/Os they had.
fn response(average: &Row, intervals: &[&Row], from: u32, ledger: &mut Ledger) {
    let Some(target) = average.response[0] else { return };
    let parts: Option<Vec<(Figure, Figure)>> =
        intervals.iter().map(|row| Some((row.response[0]?, row.rate?))).collect();
    let Some(parts) = parts else { return };
    let mean = |span: std::ops::Range<usize>| {
        let all: f64 = parts[span.clone()].iter().map(|(_, rate)| rate.value).sum();
        let of = |end: fn(&Figure) -> f64| {
            parts[span.clone()].iter().map(|(one, rate)| end(one) * rate.value).sum::<f64>() / all
        };
        (all > 0.0).then(|| Interval { low: of(|one| one.low), high: of(|one| one.high) })
    };
    let means: Vec<Interval> = spans(parts.len(), from).filter_map(mean).collect();
    let Some(first) = means.first() else { return };
    let low = means.iter().map(|mean| mean.low).fold(f64::INFINITY, f64::min);
    let high = means.iter().map(|mean| mean.high).fold(0.0, f64::max);
    let room = Interval { low, high }.wider(0.01);
    let expected = if room.meets(target.interval()) { room } else { *first };
    let operands: Vec<Named> =
        parts.iter().map(|(one, _)| named("the intervals' response times", "ms", *one)).collect();
    ledger.given(named("the average response time", "ms", target), expected, &operands, || {
        format!("response times weighted by rate = {:.3} ms", expected.middle() / 1e6)
    });
}

fn greatest(average: &Row, intervals: &[&Row], ledger: &mut Ledger) {
    for at in 0..3 {
        let parts: Option<Vec<Figure>> = intervals.iter().map(|row| row.most[at]).collect();
        let (Some(target), Some(parts)) = (average.most[at], parts) else { continue };
        // One that was left out may have been the greatest.
        let greatest = |skip: usize| parts.iter().skip(skip).map(|one| one.value).fold(0.0, f64::max);
        let met = [0, 1].into_iter().find(|skip| target.interval().has(greatest(*skip)));
        let expected = Interval::exact(greatest(met.unwrap_or(0)));
        let greatest = parts.iter().filter(|one| one.value == expected.low);
        let operands: Vec<Named> = greatest.map(|one| named("the intervals' greatest", "ms", *one)).collect();
        let name = "the greatest response time of all";
        ledger.given(named(name, "ms", target), expected, &operands, || {
            format!("greatest of {} intervals = {:.3} ms", parts.len(), expected.middle() / 1e6)
        });
    }
}

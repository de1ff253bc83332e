//! X23: vdbench's MB/s is its rate times the size of an I/O, its averages those of the intervals above them.

use super::Rule;
use super::ledger::{Ledger, Named, mean, sheets};
use crate::finding::Severity;
use crate::import::sheet::{BANDWIDTH, IOPS, MEAN, MOST, Sheet, Span};
use crate::import::vdbench::{EACH, FORMAT, QUEUE, SHARE, WAYS, WAYS_MOST, runs};
use crate::number::Interval;

pub const RULE: Rule = Rule {
    id: "X23",
    name: "vdbench's MB/s is rate * bytes in MiB, its averages those of its intervals",
    severity: Severity::WrongFigure,
    holds: "rate * bytes = MB/s; resp is that of reads and writes by their share; rate * resp is at most the queue; averages are means \
            over the intervals (of resp weighted by rate), the greatest is theirs",
    silent: "about averages where intervals are missing above them, and about a queue that is longer",
    check: |evidence, sink| {
        sheets(evidence, sink, RULE.id, FORMAT.name, |sheets, ledger| {
            for run in runs(sheets) {
                run.iter().for_each(|row| of_row(row, ledger));
                averages(run, ledger);
            }
        });
    },
};

/// An I/O that began before the first interval is in the response times and not in the queue.
const BEFORE: f64 = 0.1;

fn of_row(row: &Sheet, ledger: &mut Ledger) {
    let get = |name: &str| row.get(name);
    ledger.of(row, BANDWIDTH, 1.0, &[(IOPS, 1), (EACH, 1)], 0.0);
    let response = get(MEAN);
    if let (Some(all), [Some(reads), Some(writes)], Some(share)) = (response, WAYS.map(get), get(SHARE)) {
        let part = share.figure.interval().scaled(0.01);
        let part = Interval { low: part.low.max(0.0), high: part.high.min(1.0) };
        let rest = Interval { low: 1.0 - part.high, high: 1.0 - part.low };
        let clip = |named: Named| Interval { low: named.figure.low.max(0.0), high: named.figure.high };
        let expected = clip(reads).times(part).plus(clip(writes).times(rest));
        ledger.given(all, expected, &[reads, writes, share], || {
            format!("response times by their shares = {:.3} ms", expected.middle() / 1e6)
        });
    }
    let order: Vec<Named> = response.into_iter().chain(get(MOST)).collect();
    ledger.rising(&order, 0.0);
    if let (Some(rate), Some(all), Some(queue), Span::Average(..)) =
        (get(IOPS), response, get(QUEUE), row.span)
    {
        let answered = rate.figure.interval().times(all.figure.interval()).scaled(1e-9);
        let bounds = Interval { low: answered.low * (1.0 - BEFORE) - 0.05, high: f64::INFINITY };
        ledger.within(queue, bounds, &[rate, all], || {
            format!("rate * response time = {:.1}", answered.middle())
        });
    }
}

fn averages(run: &[Sheet], ledger: &mut Ledger) {
    let Some((average, intervals)) = run.split_last() else { return };
    let Span::Average(from, to) = average.span else { return };
    let count_on = intervals.iter().zip(1..).all(|(row, number)| row.span == Span::Interval(number));
    if !count_on || intervals.len() != to as usize || from == 0 || from > to {
        return;
    }
    let all = |name: &str| intervals.iter().map(|row| row.get(name)).collect::<Option<Vec<Named>>>();
    let rates = all(IOPS);
    for name in [IOPS, BANDWIDTH, MEAN] {
        let (Some(target), Some(parts), Some(rates)) = (average.get(name), all(name), &rates) else {
            continue;
        };
        // Response times count by how many I/Os an interval had.
        let weight = |rate: &Named| if name == MEAN { rate.figure.value } else { 1.0 };
        means(target, &parts, &rates.iter().map(weight).collect::<Vec<f64>>(), from, ledger);
    }
    for name in [MOST].into_iter().chain(WAYS_MOST) {
        let (Some(target), Some(parts)) = (average.get(name), all(name)) else { continue };
        // One that was left out may have been the greatest.
        let greatest = |skip| parts.iter().skip(skip).map(|one| one.figure.value).fold(0.0, f64::max);
        let met = [0, 1].into_iter().find(|skip| target.figure.interval().has(greatest(*skip)));
        let expected = Interval::exact(greatest(met.unwrap_or(0)));
        let operands: Vec<Named> =
            parts.iter().filter(|one| one.figure.value == expected.low).copied().collect();
        ledger.given(target, expected, &operands, || {
            format!("greatest of {} intervals = {:.3} ms", parts.len(), expected.middle() / 1e6)
        });
    }
}

/// Holds an average against those of the spans that it may be of: the label tells the first interval, which some versions do not
/// heed; the last may have been cut short.
fn means(target: Named, parts: &[Named], weights: &[f64], from: u32, ledger: &mut Ledger) {
    let (first, count) = ((from as usize - 1).min(parts.len()), parts.len());
    let spans = [first..count, first..count - 1, 0..count, 0..count - 1].into_iter();
    let means = spans.filter_map(|span| mean(&parts[span.clone()], &weights[span]));
    let means: Vec<Interval> = means.collect();
    let (Some(first), own) = (means.first(), target.figure.interval()) else { return };
    // Between what is possible nothing is said: a last interval that was cut short counts in part.
    let low = means.iter().map(|mean| mean.low).fold(f64::INFINITY, f64::min);
    let high = means.iter().map(|mean| mean.high).fold(0.0, f64::max);
    let met = means.iter().find(|mean| mean.meets(own));
    if met.is_some() || !(Interval { low, high }).wider(0.01).meets(own) {
        let by = || format!("mean of {} intervals", parts.len() as u32 + 1 - from);
        ledger.given(target, *met.unwrap_or(first), parts, by);
    }
}

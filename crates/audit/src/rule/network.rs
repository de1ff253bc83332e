//! X24: the arithmetic of iperf3; M10: what its streams lost.

use super::ledger::{Ledger, named};
use super::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::import::Said;
use crate::import::iperf3::{End, Row, Stream, Test};
use crate::number::{Figure, Interval};
use crate::page::Spot;
use std::collections::HashSet;

pub(super) fn check(evidence: &Evidence, sink: &mut Sink) {
    for output in evidence.outputs {
        let Said::Iperf3(said) = &output.said else { continue };
        for test in &said.tests {
            let mut ledger = Ledger::new(evidence.page, "X24");
            test.ends.iter().chain(&test.intervals).for_each(|row| rate(row, &mut ledger));
            [&test.ends, &test.intervals].iter().for_each(|rows| sums(test, rows, &mut ledger));
            ledger.settle(sink);
        }
    }
    losses(evidence, sink);
}

/// M10: streams that sent at least ten segments a second again.
fn losses(evidence: &Evidence, sink: &mut Sink) {
    let said = evidence.outputs.iter().filter_map(|output| match &output.said {
        Said::Iperf3(said) => Some(said),
        _ => None,
    });
    let rows = said.flat_map(|said| &said.tests).flat_map(|test| &test.ends);
    let streams = rows.filter(|row| row.end == Some(End::Sender) && row.stream != Stream::Sum);
    let often = streams.filter_map(|row| {
        let seconds = row.time[1].map(|to| to.value).filter(|seconds| *seconds >= 5.0)?;
        Some((row.retransmits?.spot, row.retransmits?.value / seconds))
    });
    let lossy: Vec<(Spot, f64)> = often.filter(|(_, often)| *often >= 10.0).collect();
    let Some((spot, often)) = lossy.iter().max_by(|one, other| one.1.total_cmp(&other.1)) else { return };
    let count = if lossy.len() == 1 { "one stream".to_owned() } else { format!("{} streams", lossy.len()) };
    let message = format!(
        "{count} sent up to {often:.0} segments a second again: loss holds the rate below that of the link"
    );
    sink.finds(Finding::new("M10", Severity::Ambiguous, *spot, message));
}

/// What streams that end at slightly other times leave open.
const SLACK: f64 = 0.005;
/// Rows of more streams than a test has are not looked at.
const MOST_STREAMS: usize = 600;

fn rate(row: &Row, ledger: &mut Ledger) {
    let (Some(bytes), Some(rate), [Some(from), Some(to)]) = (row.bytes, row.rate, row.time) else { return };
    let seconds = to.value - from.value;
    // UDP's receivers count what arrived in the sender's time or in theirs, by version.
    if seconds < 0.1 || (row.datagrams.is_some() && row.end.is_some()) {
        return;
    }
    let time = Interval { low: to.low - from.high, high: to.high - from.low };
    let Some(expected) = bytes.interval().scaled(8.0).over(time) else { return };
    let operands = [named("the bytes", "", bytes)];
    ledger.given(named("the rate", "", rate), expected.wider(SLACK), &operands, || {
        format!("8 * {} / {seconds:.2} s = {:.4} Gbits/s", bytes.value, 8.0 * bytes.value / seconds / 1e9)
    });
}

/// What rows of streams and their sum have in common: way, end, whether omitted, and when they began, in tenths of a second.
fn group(row: &Row) -> impl PartialEq {
    (row.role, row.end, row.omitted, row.time[0].map(|time| (time.value * 10.0).round()))
}

/// A sum against the streams before it, behind the one before of an interval; what they ended at other times than the sum is not of it.
fn sums(test: &Test, rows: &[Row], ledger: &mut Ledger) {
    let mut from = 0;
    for (at, sum) in rows.iter().enumerate().filter(|(_, row)| row.stream == Stream::Sum) {
        let near = rows[from.max(at.saturating_sub(MOST_STREAMS))..at].iter();
        let parts: Vec<&Row> =
            near.filter(|row| row.stream != Stream::Sum && group(row) == group(sum)).collect();
        if sum.end.is_none() {
            from = at;
        }
        let streams: HashSet<Stream> = parts.iter().map(|row| row.stream).collect();
        let complete = test.streams.is_none_or(|count| count as usize == parts.len());
        let of_udp = sum.datagrams.is_some() || parts.iter().any(|row| row.datagrams.is_some());
        if parts.len() < 2 || !complete || streams.len() < parts.len() || of_udp {
            continue;
        }
        let end = |row: &Row| row.time[1].map_or(0.0, |to| to.value);
        let together = parts.iter().all(|row| (end(row) - end(sum)).abs() <= SLACK * end(sum));
        let fields: [(fn(&Row) -> Option<Figure>, _, _); 3] = [
            (|row| row.bytes, "the bytes", 1e-3),
            (|row| row.retransmits, "the retransmits", 0.0),
            // A rate is over the time of its own row.
            (|row| row.rate, "the rate", 2.0 * SLACK),
        ];
        for (of, name, slack) in &fields[..if together { 3 } else { 2 }] {
            let figures = parts.iter().map(|row| of(row).map(|figure| named(name, "", figure)));
            if let (Some(total), Some(figures)) = (of(sum), figures.collect::<Option<Vec<_>>>()) {
                ledger.sum(named(name, "", total), &figures, *slack);
            }
        }
    }
}

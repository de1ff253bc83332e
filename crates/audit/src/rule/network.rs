//! X24: streams of iperf3 make up their sum.

use super::ledger::{Ledger, Named, named};
use crate::evidence::{Evidence, Sink};
use crate::import::Said;
use crate::import::iperf3::{Row, Stream, Test};
use crate::number::Figure;

pub(super) fn check(evidence: &Evidence, sink: &mut Sink) {
    for output in evidence.outputs {
        let Said::Iperf3(said) = &output.said else { continue };
        for test in &said.tests {
            let mut ledger = Ledger::new(evidence.page, "X24");
            [&test.ends, &test.intervals].iter().for_each(|rows| sums(test, rows, &mut ledger));
            ledger.settle(sink);
        }
    }
}

/// What streams that end at slightly other times leave open.
const SLACK: f64 = 0.005;

/// What rows of streams and their sum have in common: way, end, whether omitted, and when they began, in tenths of a second.
fn group(row: &Row) -> impl PartialEq {
    (row.role, row.end, row.omitted, row.time[0].map(|time| (time.value * 10.0).round()))
}

fn sums(test: &Test, rows: &[Row], ledger: &mut Ledger) {
    let mut from = 0;
    for (at, sum) in rows.iter().enumerate().filter(|(_, row)| row.stream == Stream::Sum) {
        // Streams stand before their sum, behind the one before: an interval's of its own time.
        let near = &rows[from.max(at.saturating_sub(600))..at];
        let parts = near.iter().filter(|row| row.stream != Stream::Sum && group(row) == group(sum));
        let parts: Vec<&Row> = parts.collect();
        if sum.end.is_none() {
            from = at;
        }
        let mut streams: Vec<Stream> = parts.iter().map(|row| row.stream).collect();
        streams.sort_unstable();
        streams.dedup();
        let of_udp = sum.datagrams.is_some() || parts.iter().any(|row| row.datagrams.is_some());
        let complete = test.streams.is_none_or(|count| count as usize == parts.len());
        if parts.len() < 2 || !complete || streams.len() < parts.len() || of_udp {
            continue;
        }
        let mut field = |of: fn(&Row) -> Option<Figure>, name: &'static str, slack: f64| {
            let name = |figure| named(name, "", figure);
            let figures: Option<Vec<Named>> = parts.iter().map(|row| of(row).map(name)).collect();
            if let (Some(total), Some(figures)) = (of(sum), figures) {
                ledger.sum(name(total), &figures, slack);
            }
        };
        field(|row| row.bytes, "the bytes", 1e-3);
        // A rate is over the time of its own row: of streams that ended at other times than the sum nothing is said.
        if let Some(apart) = apart(sum, &parts).filter(|apart| *apart <= 0.05) {
            field(|row| row.rate, "the rate", SLACK + apart);
        }
        field(|row| row.retransmits, "the retransmits", 0.0);
    }
}

/// By how much of it the times of streams differ from that of their sum.
fn apart(sum: &Row, parts: &[&Row]) -> Option<f64> {
    let long = |row: &Row| Some(row.time[1]?.value - row.time[0]?.value).filter(|seconds| *seconds > 0.0);
    let whole = long(sum)?;
    parts.iter().try_fold(0.0f64, |most, row| Some(most.max((long(row)? / whole - 1.0).abs())))
}

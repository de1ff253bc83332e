//! M10: what iperf3's streams lost.

use super::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::import::Said;
use crate::import::iperf3::{End, Stream};
use crate::page::Spot;

/// Streams that sent at least ten segments a second again.
pub(super) fn check(evidence: &Evidence, sink: &mut Sink) {
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

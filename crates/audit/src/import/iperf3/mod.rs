//! iperf3's output in one form, read from text and JSON: tests of streams with their intervals and
//! final results. Figures are in bytes, bits per second or seconds; jitter is in milliseconds.

pub mod json;
pub mod text;

use super::cut::other;
use super::workload::{OtherToolResult, OutputFigure, ResultDirection, ToolResult, Workload};
use crate::claim::Metric;
use crate::number::{NumberUnit, PrintedNumber};

/// An output, with one test per process that ran at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Iperf3 {
    pub tests: Vec<IperfTest>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct IperfTest {
    pub(crate) line: usize,
    /// Name of the instance that printed the test, `s1`; `None` if there is only one.
    pub(crate) speaker: Option<String>,
    pub version: Option<String>,
    pub(crate) bidirectional: bool,
    /// True if the columns count datagrams, false if retransmissions; `None` if the head is missing
    /// or shows neither.
    pub(crate) udp: Option<bool>,
    /// Number of streams requested each way.
    pub(crate) streams: Option<u64>,
    /// Ports of its first connection, the lower first: the same at both ends.
    pub(crate) ports: Option<[u64; 2]>,
    pub(crate) failed: Option<String>,
    pub(crate) intervals: Vec<IperfRow>,
    pub(crate) ends: Vec<IperfRow>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum IperfStream {
    One(u64),
    #[default]
    Sum,
}

/// Roles in a bidirectional test: sent and received, first as the client reports them, then as the
/// server does.
pub(crate) const ROLES: [&str; 4] = ["[TX-C]", "[RX-C]", "[TX-S]", "[RX-S]"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum IperfEnd {
    Sender,
    Receiver,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct IperfRow {
    pub(crate) line: usize,
    pub(crate) stream: IperfStream,
    pub(crate) role: Option<&'static str>,
    /// End that counted; `None` for intervals.
    pub(crate) end: Option<IperfEnd>,
    pub(crate) time: [Option<PrintedNumber>; 2],
    pub(crate) bytes: Option<PrintedNumber>,
    pub(crate) rate: Option<PrintedNumber>,
    pub(crate) retransmits: Option<PrintedNumber>,
    pub(crate) jitter_ms: Option<PrintedNumber>,
    pub(crate) datagrams: Option<PrintedNumber>,
    pub(crate) lost_share: Option<PrintedNumber>,
    /// True for a row of the first seconds that iperf3 was told to omit.
    pub(crate) omitted: bool,
}

impl IperfRow {
    fn visit_row_figures(&self, add: &mut dyn FnMut(OutputFigure)) {
        let metric = |of_end| if self.end.is_some() { of_end } else { Metric::Interval };
        let nanoseconds = |time: Option<PrintedNumber>, scale| time.map(|time| time.scaled(scale));
        for (metric, unit, figure) in [
            (Metric::Runtime, NumberUnit::Nanoseconds, nanoseconds(self.time[0], 1e9)),
            (Metric::Runtime, NumberUnit::Nanoseconds, nanoseconds(self.time[1], 1e9)),
            (metric(Metric::Total), NumberUnit::Bytes, self.bytes),
            (metric(Metric::Bandwidth), NumberUnit::BitsPerSecond, self.rate),
            (metric(Metric::Retransmits), NumberUnit::Things, self.retransmits),
            (Metric::Latency, NumberUnit::Nanoseconds, nanoseconds(self.jitter_ms, 1e6)),
            (metric(Metric::Issued), NumberUnit::Things, self.datagrams),
            (Metric::Ratio, NumberUnit::Percent, self.lost_share),
        ] {
            figure.into_iter().for_each(|figure| add((metric, unit, figure)));
        }
    }
}

impl IperfTest {
    /// Returns the result of each direction: the sum, or the only stream. Of two ends, the
    /// receiver's count is preferred. A direction with several streams and no sum has no result.
    pub(crate) fn results(&self) -> Vec<&IperfRow> {
        let mut roles: Vec<Option<&'static str>> = Vec::new();
        for row in &self.ends {
            if !roles.contains(&row.role) {
                roles.push(row.role);
            }
        }
        roles.into_iter().filter_map(|role| self.result(role)).collect()
    }

    fn result(&self, role: Option<&'static str>) -> Option<&IperfRow> {
        let of_role = || self.ends.iter().filter(move |row| row.role == role);
        let sums = of_role().any(|row| row.stream == IperfStream::Sum);
        let first = of_role().next()?.stream;
        if !sums && of_role().any(|row| row.stream != first) {
            return None;
        }
        let mut rows = of_role().filter(|row| !sums || row.stream == IperfStream::Sum);
        let received =
            rows.clone().find(|row| row.end == Some(IperfEnd::Receiver) && row.rate.is_some());
        received.or_else(|| rows.next())
    }

    fn reading(&self, row: &IperfRow) -> ToolResult {
        let workload = Workload {
            numjobs: self.streams,
            runtime_s: row.time[1].map(|time| time.value),
            name: self.speaker.clone(),
            ..Workload::default()
        };
        let name = match row.role {
            Some("[TX-C]" | "[RX-S]") => "throughput from client to server",
            Some(_) => "throughput from server to client",
            None => "throughput",
        };
        // Beside what was received is who sent it.
        let same = |other: &&IperfRow| {
            (other.role, other.stream, other.end) == (row.role, row.stream, Some(IperfEnd::Sender))
        };
        let resent = row.retransmits.or_else(|| self.ends.iter().find(same)?.retransmits);
        let figures = [
            (name, "bit/s", true, row.rate),
            ("retransmits", "", false, resent),
            ("jitter", "ms", false, row.jitter_ms),
            ("lost datagrams", "%", false, row.lost_share),
        ];
        let made = |(name, unit, more, figure): (&str, &str, bool, Option<PrintedNumber>)| {
            Some(other(name, unit, more, figure?))
        };
        let others: Vec<OtherToolResult> = figures.into_iter().filter_map(made).collect();
        ToolResult {
            bytes: row.bytes,
            others,
            failed: self.failed.clone(),
            run: self.ports.map(|[low, high]| format!("iperf3 {low} {high}")),
            ..ToolResult::new(row.line, workload, ResultDirection::Both)
        }
    }
}

impl Iperf3 {
    pub(crate) fn visit_test_figures(&self, add: &mut dyn FnMut(OutputFigure)) {
        let rows = self.tests.iter().flat_map(|test| test.intervals.iter().chain(&test.ends));
        rows.for_each(|row| row.visit_row_figures(add));
    }

    pub(crate) fn readings(&self) -> Vec<ToolResult> {
        let of_test = |test: &IperfTest| -> Vec<ToolResult> {
            test.results().iter().map(|row| test.reading(row)).collect()
        };
        self.tests.iter().flat_map(of_test).collect()
    }
}

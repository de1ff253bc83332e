//! What iperf3 prints, as text and as JSON, in one form: tests of streams with their intervals and what came of them in the
//! end. Figures are in bytes, bits a second, seconds, milliseconds of jitter.

pub mod json;
pub mod text;

use super::Told;
use super::workload::{Other, Reading, Way, Workload};
use crate::claim::Metric;
use crate::number::{Figure, Unit};

/// How it was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Normal text.
    Text,
    /// JSON, in one piece or as a stream.
    Json,
}

/// An output: of several processes at once, one test each.
#[derive(Clone, Debug, PartialEq)]
pub struct Iperf3 {
    /// How it was printed.
    pub form: Form,
    /// Its tests.
    pub tests: Vec<Test>,
}

/// Which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

/// One test of one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Test {
    /// Index of the line it begins at.
    pub line: usize,
    /// What stands before its lines: `s1:`.
    pub speaker: Option<String>,
    /// `3.12`.
    pub version: Option<String>,
    /// Which protocol, as told or as its columns are.
    pub protocol: Option<Protocol>,
    /// Whether the server sends.
    pub reverse: Option<bool>,
    /// Whether both send at once.
    pub bidirectional: Option<bool>,
    /// How many streams were asked for each way.
    pub streams: Option<u64>,
    /// What each interval had.
    pub intervals: Vec<Row>,
    /// What came of it.
    pub ends: Vec<Row>,
    /// What the tool says went wrong.
    pub error: Option<String>,
    /// CPU time in percent: of this side, of the other.
    pub cpu: [Option<Figure>; 2],
}

/// Of what a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// Of the stream of that number.
    One(u64),
    /// Of all.
    Sum,
}

/// `[TX-C]`: who sends in a test both ways, and who tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Sent by the client, told by it.
    TxC,
    /// Received by the client, told by it.
    RxC,
    /// Sent by the server, told by it.
    TxS,
    /// Received by the server, told by it.
    RxS,
}

/// Who counted what came of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Who sent it.
    Sender,
    /// Who received it.
    Receiver,
}

/// One row of figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Index of its line.
    pub line: usize,
    /// Of what.
    pub stream: Stream,
    /// In a test both ways.
    pub role: Option<Role>,
    /// Who counted; `None` of intervals.
    pub end: Option<End>,
    /// Seconds at which it begins and ends.
    pub time: [Option<Figure>; 2],
    /// Bytes.
    pub bytes: Option<Figure>,
    /// Bits a second.
    pub rate: Option<Figure>,
    /// Segments sent again.
    pub retransmits: Option<Figure>,
    /// Bytes of the congestion window.
    pub window: Option<Figure>,
    /// Milliseconds.
    pub jitter_ms: Option<Figure>,
    /// Datagrams that were lost.
    pub lost: Option<Figure>,
    /// Datagrams.
    pub datagrams: Option<Figure>,
    /// Share of those lost in percent.
    pub lost_share: Option<Figure>,
    /// Whether it is of the time that is left out.
    pub omitted: bool,
}

impl Row {
    /// A row of nothing yet.
    pub fn new(line: usize, stream: Stream) -> Row {
        Row {
            line,
            stream,
            role: None,
            end: None,
            time: [None; 2],
            bytes: None,
            rate: None,
            retransmits: None,
            window: None,
            jitter_ms: None,
            lost: None,
            datagrams: None,
            lost_share: None,
            omitted: false,
        }
    }

    fn figures(&self, tell: &mut dyn FnMut(Told)) {
        const NANOSECONDS: f64 = 1e9;
        let metric = |of_end| if self.end.is_some() { of_end } else { Metric::Interval };
        let mut say = |metric, unit, figure: Option<Figure>| {
            if let Some(figure) = figure {
                tell((metric, unit, figure));
            }
        };
        for time in self.time {
            say(Metric::Runtime, Unit::Nanoseconds, time.map(|time| time.scaled(NANOSECONDS)));
        }
        say(metric(Metric::Total), Unit::Bytes, self.bytes);
        say(metric(Metric::Bandwidth), Unit::BitsPerSecond, self.rate);
        say(metric(Metric::Retransmits), Unit::Things, self.retransmits);
        say(Metric::Other, Unit::Bytes, self.window);
        say(Metric::Latency, Unit::Nanoseconds, self.jitter_ms.map(|jitter| jitter.scaled(1e6)));
        say(metric(Metric::Other), Unit::Things, self.lost);
        say(metric(Metric::Issued), Unit::Things, self.datagrams);
        say(Metric::Ratio, Unit::Percent, self.lost_share);
    }
}

impl Test {
    /// What came of it each way: of the sum where there is one, else of the only stream; as the receiver counted it where
    /// that is told.
    pub fn results(&self) -> Vec<&Row> {
        let mut roles: Vec<Option<Role>> = self.ends.iter().map(|row| row.role).collect();
        roles.dedup();
        let mut seen = Vec::new();
        roles.retain(|role| {
            !seen.contains(role) && {
                seen.push(*role);
                true
            }
        });
        roles.into_iter().filter_map(|role| self.result(role)).collect()
    }

    fn result(&self, role: Option<Role>) -> Option<&Row> {
        let of_role = || self.ends.iter().filter(move |row| row.role == role);
        let sums = of_role().any(|row| row.stream == Stream::Sum);
        let first = of_role().next()?.stream;
        if !sums && of_role().any(|row| row.stream != first) {
            return None;
        }
        let mut rows = of_role().filter(|row| !sums || row.stream == Stream::Sum);
        let received = rows.clone().find(|row| row.end == Some(End::Receiver) && row.rate.is_some());
        received.or_else(|| rows.next())
    }

    /// The row of the sender beside a result.
    fn sent(&self, result: &Row) -> Option<&Row> {
        let same = |row: &&Row| row.role == result.role && row.stream == result.stream;
        self.ends.iter().filter(same).find(|row| row.end == Some(End::Sender))
    }
}

impl Iperf3 {
    /// Every figure in it.
    pub fn figures(&self, tell: &mut dyn FnMut(Told)) {
        for test in &self.tests {
            test.intervals.iter().chain(&test.ends).for_each(|row| row.figures(tell));
            for figure in test.cpu.iter().flatten() {
                tell((Metric::Cpu, Unit::Percent, *figure));
            }
        }
    }

    /// Its results in the form that all tools share.
    pub fn readings(&self) -> Vec<Reading> {
        let of_test =
            |test: &Test| -> Vec<Reading> { test.results().iter().map(|row| reading(test, row)).collect() };
        self.tests.iter().flat_map(of_test).collect()
    }
}

fn reading(test: &Test, row: &Row) -> Reading {
    let workload = Workload {
        numjobs: test.streams,
        runtime_s: row.time[1].map(|time| time.value),
        name: test.speaker.clone(),
        ..Workload::default()
    };
    let mut others = Vec::new();
    let mut tell = |name: &str, unit: &str, more_is_better, figure: Option<Figure>| {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        others.extend(figure.map(|figure| Other { name, unit, more_is_better, figure }));
    };
    let name = match row.role {
        Some(Role::TxC | Role::RxS) => "throughput from client to server",
        Some(Role::RxC | Role::TxS) => "throughput from server to client",
        None => "throughput",
    };
    tell(name, "bit/s", true, row.rate);
    let resent = row.retransmits.or_else(|| test.sent(row)?.retransmits);
    tell("retransmits", "", false, resent);
    tell("jitter", "ms", false, row.jitter_ms);
    tell("lost datagrams", "%", false, row.lost_share);
    Reading { bytes: row.bytes, others, ..Reading::new(row.line, workload, Way::Both) }
}

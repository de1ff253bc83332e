//! iperf3's JSON, 3.0 to 3.17: in one piece, or as the stream of events of `--json-stream`.

use super::{End, Iperf3, ROLES, Row, Stream, Test};
use crate::import::json_formats::JsonFormat;
use crate::import::printed::Printed;
use crate::import::{Format, Found, Said};
use crate::json::{self, Node, Value};
use crate::page::{Page, Unread};

pub(crate) const FORMAT: JsonFormat = JsonFormat {
    name: "iperf3 JSON",
    help: "iperf3 -J: TCP, UDP, several streams, both ways",
    example: include_str!("../../../fixtures/iperf3/tcp.json"),
    knows: |node| {
        let version = node.at(&["start", "version"]).and_then(Node::text);
        version.is_some_and(|version| version.starts_with("iperf"))
    },
    read: |page, node, _| {
        let line = page.spot(node.bytes.clone()).index();
        let mut reader = Reader::new(page, line);
        reader.start(node.get("start"));
        for interval in node.get("intervals").map_or(&[][..], Node::elements) {
            reader.rows(interval, false);
        }
        node.get("end").into_iter().for_each(|end| reader.rows(end, true));
        Some(reader.said())
    },
};

pub(crate) const STREAM: Format = Format {
    name: "iperf3 JSON stream",
    help: "iperf3 --json-stream, 3.17: one event a line",
    example: STREAM_EXAMPLE,
    begins: |line| line.trim_start().starts_with("{\"event\":"),
    read: read_stream,
};

fn read_stream(page: &Page, line: usize) -> Option<Found> {
    let mut reader = Reader::new(page, line);
    let mut unread: Vec<Unread> = Vec::new();
    let mut at = line;
    let mut known = false;
    while at < page.len() && (STREAM.begins)(page.bare(at).0) {
        let (bare, prefix) = page.bare(at);
        let from = page.offset(at) + prefix + (bare.len() - bare.trim_start().len());
        let parsed = json::parse(page.text(), from)?;
        let event = parsed.node.get("event").and_then(Node::text);
        let data = parsed.node.get("data");
        // The start of a further test is an output of its own.
        if at > line && event == Some("start") {
            break;
        }
        known |= matches!(event, Some("start" | "interval" | "end"));
        if !known {
            return None;
        }
        match event {
            Some("start") => reader.start(data),
            Some("interval") => data.into_iter().for_each(|data| reader.rows(data, false)),
            Some("end") => data.into_iter().for_each(|data| reader.rows(data, true)),
            _ => {}
        }
        if let Some((_, why)) = parsed.broken {
            unread.push(page.unread(at..at + 1, format!("iperf3 JSON stream: {why}")));
        }
        at += 1;
    }
    Some(Found { said: reader.said(), end: at, unread })
}

struct Reader<'p> {
    printed: Printed<'p>,
    test: Test,
    server: bool,
}

impl<'p> Reader<'p> {
    fn new(page: &'p Page, line: usize) -> Reader<'p> {
        let test = Test { line, ..Test::default() };
        Reader { printed: Printed::new(page, line), test, server: false }
    }

    fn said(mut self) -> Said {
        if !self.test.bidirectional {
            self.test.intervals.iter_mut().chain(&mut self.test.ends).for_each(|row| row.role = None);
        }
        Said::Iperf3(Box::new(Iperf3 { tests: vec![self.test] }))
    }

    fn start(&mut self, node: Option<&Node>) {
        let Some(node) = node else { return };
        let version = node.get("version").and_then(Node::text);
        self.test.version = version.map(|text| text.trim_start_matches("iperf").trim().to_owned());
        self.server = node.get("accepted_connection").is_some();
        let whole = |key: &str| node.at(&["test_start", key]).and_then(Node::whole);
        self.test.bidirectional = whole("bidir").is_some_and(|both| both != 0);
        self.test.streams = whole("num_streams");
    }

    fn rows(&mut self, node: &Node, ended: bool) {
        let mut told: Vec<(&str, &Node, bool)> = Vec::new();
        for stream in node.get("streams").map_or(&[][..], Node::elements) {
            match ended {
                true => told.extend(stream.members().iter().map(|(key, told)| (*key, told, false))),
                false => told.push(("", stream, false)),
            }
        }
        let sums = node.members().iter().filter(|(key, _)| key.starts_with("sum"));
        told.extend(sums.map(|(key, sum)| (*key, sum, true)));
        for (key, node, sum) in told {
            // The name of a sum tells of a test both ways, which old versions tell nowhere else.
            self.test.bidirectional |= key.ends_with("bidir_reverse");
            let end = match key {
                _ if !ended => None,
                _ if key.starts_with("receiver") || key.starts_with("sum_received") => Some(End::Receiver),
                _ if sum || key.starts_with("sender") || key == "udp" => Some(End::Sender),
                _ => continue,
            };
            let row = self.row(node, end, sum);
            if ended { &mut self.test.ends } else { &mut self.test.intervals }.extend(row);
        }
    }

    fn row(&mut self, node: &Node, end: Option<End>, sum: bool) -> Option<Row> {
        let stream = if sum { Stream::Sum } else { Stream::One(node.get("socket")?.whole()?) };
        let mut row = Row { line: self.printed.line(node.bytes.start), stream, end, ..Row::default() };
        let truth = |key: &str| node.get(key).map(|node| node.value == Value::Truth(true));
        row.role = truth("sender").map(|sends| ROLES[2 * usize::from(self.server) + usize::from(!sends)]);
        row.omitted = truth("omitted") == Some(true);
        let exact = |key: &str| self.printed.exact(node.get(key), 1.0);
        row.time = [exact("start"), exact("end")];
        row.bytes = exact("bytes");
        row.rate = exact("bits_per_second");
        row.retransmits = exact("retransmits");
        row.jitter_ms = exact("jitter_ms");
        row.datagrams = exact("packets");
        row.lost_share = exact("lost_percent");
        (row.rate.is_some() || row.bytes.is_some()).then_some(row)
    }
}

const STREAM_EXAMPLE: &str = r#"{"event":"start","data":{"version":"iperf 3.17.1","test_start":{"protocol":"TCP","num_streams":1,"reverse":0}}}
{"event":"interval","data":{"streams":[{"socket":5,"start":0,"end":1,"bytes":2852126720,"bits_per_second":22817013760}]}}
{"event":"end","data":{"sum_received":{"start":0,"end":1,"bytes":2852126720,"bits_per_second":22817013760,"sender":true}}}
"#;

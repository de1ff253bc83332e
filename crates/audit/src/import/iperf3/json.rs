//! iperf3's JSON, 3.0 to 3.17.

use super::{Iperf3, IperfEnd, IperfRow, IperfStream, IperfTest, ROLES};
use crate::import::format::JsonFormat;
use crate::import::format::ToolReport;
use crate::import::printed::PrintedFigures;
use crate::json::{JsonNode, JsonValue};

pub(crate) const FORMAT: JsonFormat = JsonFormat {
    name: "iperf3 JSON",
    example: include_str!("../../../fixtures/iperf3/tcp.json"),
    knows: |node| {
        let version = node.node_at(&["start", "version"]).and_then(JsonNode::as_raw_text);
        version.is_some_and(|version| version.starts_with("iperf"))
    },
    read: |page, node| {
        let line = page.spot(node.bytes.clone()).index();
        let test = IperfTest { line, ..IperfTest::default() };
        let mut reader =
            IperfJsonReader { printed: PrintedFigures::new(page, line), test, server: false };
        reader.read_start(node.get("start"));
        for interval in node.get("intervals").map_or(&[][..], JsonNode::elements) {
            reader.rows(interval, false);
        }
        node.get("end").into_iter().for_each(|end| reader.rows(end, true));
        let mut test = reader.test;
        test.failed = node.get("error").and_then(JsonNode::as_raw_text).map(str::to_owned);
        if !test.bidirectional {
            test.intervals.iter_mut().chain(&mut test.ends).for_each(|row| row.role = None);
        }
        ToolReport::Iperf3(Box::new(Iperf3 { tests: vec![test] }))
    },
};

struct IperfJsonReader<'p> {
    printed: PrintedFigures<'p>,
    test: IperfTest,
    server: bool,
}

impl IperfJsonReader<'_> {
    fn read_start(&mut self, node: Option<&JsonNode>) {
        let Some(node) = node else { return };
        let version = node.get("version").and_then(JsonNode::as_raw_text);
        self.test.version = version.map(|text| text.trim_start_matches("iperf").trim().to_owned());
        self.server = node.get("accepted_connection").is_some();
        let whole = |key: &str| node.node_at(&["test_start", key]).and_then(JsonNode::as_integer);
        self.test.bidirectional = whole("bidir").is_some_and(|both| both != 0);
        self.test.streams = whole("num_streams");
        let connection = node.get("connected").and_then(|all| all.elements().first());
        let ports = connection.and_then(|one| {
            Some([one.get("local_port")?.as_integer()?, one.get("remote_port")?.as_integer()?])
        });
        self.test.ports = ports.map(|[one, other]| [one.min(other), one.max(other)]);
    }

    fn rows(&mut self, node: &JsonNode, ended: bool) {
        let mut row_nodes: Vec<(&str, &JsonNode, bool)> = Vec::new();
        for stream in node.get("streams").map_or(&[][..], JsonNode::elements) {
            match ended {
                true => {
                    row_nodes.extend(stream.members().iter().map(|(key, node)| (*key, node, false)))
                }
                false => row_nodes.push(("", stream, false)),
            }
        }
        let sums = node.members().iter().filter(|(key, _)| key.starts_with("sum"));
        row_nodes.extend(sums.map(|(key, sum)| (*key, sum, true)));
        for (key, node, sum) in row_nodes {
            // The name of a sum shows a bidirectional test, which old versions report nowhere else.
            self.test.bidirectional |= key.ends_with("bidir_reverse");
            let end = match key {
                _ if !ended => None,
                _ if key.starts_with("receiver") || key.starts_with("sum_received") => {
                    Some(IperfEnd::Receiver)
                }
                _ if sum || key.starts_with("sender") || key == "udp" => Some(IperfEnd::Sender),
                _ => continue,
            };
            let row = self.read_json_row(node, end, sum);
            if ended { &mut self.test.ends } else { &mut self.test.intervals }.extend(row);
        }
    }

    fn read_json_row(
        &mut self,
        node: &JsonNode,
        end: Option<IperfEnd>,
        sum: bool,
    ) -> Option<IperfRow> {
        let stream = if sum {
            IperfStream::Sum
        } else {
            IperfStream::One(node.get("socket")?.as_integer()?)
        };
        let mut row = IperfRow {
            line: self.printed.line_of_byte(node.bytes.start),
            stream,
            end,
            ..IperfRow::default()
        };
        let truth = |key: &str| node.get(key).map(|node| node.value == JsonValue::Truth(true));
        row.role =
            truth("sender").map(|sends| ROLES[2 * usize::from(self.server) + usize::from(!sends)]);
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

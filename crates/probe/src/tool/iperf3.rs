//! iperf3: runs its client, and reads the JSON that it prints.

use super::visit::{
    self, Tool, ToolReading, ToolRequest, ToolText, ask_program, bytes_direction, last_words, ns,
    version_after,
};
use crate::{Argument, Definition, Exchange, ExchangeDirection, ProbeSpec, ProbeUnit};
use iotax_load::Direction;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;

/// Time limit in milliseconds for connecting to the server, which a firewall may prevent.
const CONNECTS_WITHIN_MS: &str = "5000";

pub(super) const DEFINITION: Definition = Definition {
    name: "iperf3",
    argument: Argument::Test(&[
        ("tcp", ProbeUnit::Bytes, "from here to the other end"),
        ("reverse", ProbeUnit::Bytes, "TCP from the other end to here"),
        (
            "bidir",
            ProbeUnit::Bytes,
            "TCP both ways at once: to the other end, and back as the other direction",
        ),
        (
            "udp",
            ProbeUnit::Bytes,
            "datagrams sent to the other end as fast as possible: those that arrive",
        ),
    ]),
    unit: ProbeUnit::Bytes,
    subject: "iperf3's stream",
    about: "Sends to the other end and counts what arrives there. Up to version 3.15 all its streams share one thread.",
    relative: "tcp, in slices",
    program: Some(("iperf3", "iperf3")),
    shortest_slice_ns: 1_000_000_000,
    needs_peer: true,
    prepare: |spec| visit::prepare(spec, &DEFINITION, &TOOL),
};

const TOOL: Tool = Tool {
    label: "iperf3",
    program: "iperf3",
    version: |program| Ok(version_after("iperf", &ask_program(program, &["--version"])?)),
    copies: false,
    arguments: |asked| {
        let (seconds, streams) = (asked.seconds().to_string(), asked.spec.numjobs.to_string());
        let [address, port] = address_and_port(asked.spec.peer);
        let mut words = vec!["-J", "-c", &address, "-p", &port, "-t", &seconds];
        words.extend(["--connect-timeout", CONNECTS_WITHIN_MS]);
        if asked.spec.numjobs > 1 {
            words.extend(["-P", &streams]);
        }
        words.extend_from_slice(match asked.test() {
            "reverse" => &["-R"],
            "bidir" => &["--bidir"],
            "udp" => &["-u", "-b", "0"],
            _ => &[],
        });
        words.into_iter().map(str::to_owned).collect()
    },
    expected: |asked| Duration::from_secs(asked.seconds() + 6),
    is_unanswered: |_| false,
    read: read_iperf3,
};

/// Returns address and port in the form that programs take; both are empty without a peer.
pub(super) fn address_and_port(peer: Option<SocketAddr>) -> [String; 2] {
    peer.map_or_else(Default::default, |peer| [peer.ip().to_string(), peer.port().to_string()])
}

/// Returns the command of a server, which serves one test at a time until it is ended.
pub(super) fn server(_: &ProbeSpec, listen: SocketAddr) -> Vec<String> {
    let [address, port] = address_and_port(Some(listen));
    ["iperf3", "-s", "-B", &address, "-p", &port].map(str::to_owned).into()
}

fn read_iperf3(asked: &ToolRequest, printed: &ToolText) -> Result<ToolReading, String> {
    let json: Value = serde_json::from_str(&printed.stdout).map_err(|error| {
        format!("the output is not JSON ({error}); its last line: {}", last_words(printed))
    })?;
    // iperf3 exits with success even then.
    if let Some(why) = json.get("error").and_then(Value::as_str) {
        let [address, port] = address_and_port(asked.spec.peer);
        let hint = format!(
            "is `iperf3 -s -p {port}` running at {address}, and does a firewall let it in?"
        );
        return Err(format!("\"{why}\"; {hint}"));
    }
    let (ns, read) = received(&json, "sum_received", asked)?;
    let write = match asked.test() {
        // Both are over the same time, to a millisecond.
        "bidir" => received(&json, "sum_received_bidir_reverse", asked)?.1,
        _ => Direction::default(),
    };
    let exchange = Some(exchange(&json, ns)?);
    Ok(ToolReading { ns, read, write, exchange, ..ToolReading::default() })
}

/// Reads losses, retransmits, and the server's CPU time during the `ns` nanoseconds of the test.
fn exchange(json: &Value, ns: u64) -> Result<Exchange, String> {
    let figure = |pointer: &str| json.pointer(pointer).and_then(Value::as_f64);
    let sent = figure("/end/sum_received/packets").unwrap_or(0.0) as u64;
    let lost = figure("/end/sum_received/lost_packets").unwrap_or(0.0).max(0.0) as u64;
    let sums = ["sum_sent", "sum_sent_bidir_reverse"].map(|sum| format!("/end/{sum}/retransmits"));
    let retransmits = sums.iter().filter_map(|sum| figure(sum)).sum::<f64>() as u64;
    let cpu_ns = |kind: &str| {
        let percent = figure(&format!("/end/cpu_utilization_percent/remote_{kind}"));
        let percent = percent.ok_or_else(|| format!("no \"remote_{kind}\" at its end"))?;
        Ok::<u64, String>((percent.max(0.0) / 100.0 * ns as f64) as u64)
    };
    Ok(Exchange {
        to_peer: Some(ExchangeDirection {
            sent,
            lost,
            retransmits,
            ..ExchangeDirection::default()
        }),
        peer_cpu_user_ns: cpu_ns("user")?,
        peer_cpu_system_ns: cpu_ns("system")?,
        ..Exchange::default()
    })
}

/// Reads the nanoseconds and the amount of a sum of iperf3's, such as `sum_received`. A sum of
/// nothing is an error.
fn received(json: &Value, sum: &str, asked: &ToolRequest) -> Result<(u64, Direction), String> {
    let sum_of =
        json.pointer(&format!("/end/{sum}")).ok_or_else(|| format!("no \"{sum}\" at its end"))?;
    let figure = |key: &str| {
        let number = sum_of.get(key).and_then(Value::as_f64).filter(|number| *number >= 0.0);
        number.ok_or_else(|| format!("no \"{key}\" in \"{sum}\""))
    };
    let (seconds, moved) = (figure("seconds")?, figure("bytes")? as u64);
    if seconds == 0.0 || moved == 0 {
        return Err(format!("{moved} bytes within {seconds} s in \"{sum}\""));
    }
    let mut direction = bytes_direction(moved);
    if asked.test() == "udp" {
        direction.ios = (figure("packets")? - figure("lost_packets")?).max(0.0) as u64;
    }
    Ok((ns(seconds), direction))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{read_sample, reads};
    use super::*;

    const TCP: &str = include_str!("samples/iperf3-3.12-tcp.json");
    const BIDIR: &str = include_str!("samples/iperf3-3.12-bidir.json");
    const UDP: &str = include_str!("samples/iperf3-3.12-udp.json");

    fn way(reading: &ToolReading) -> ExchangeDirection {
        reading.exchange.clone().unwrap().to_peer.unwrap()
    }

    #[test]
    fn what_arrived_and_what_did_not_is_read() {
        let reading = read_sample("iperf3(tcp)", &TOOL, TCP, "").unwrap();
        assert_eq!((reading.ns, reading.read.bytes), (1_001_030_000, 2_052_587_520));
        let reading = read_sample("iperf3(bidir)", &TOOL, BIDIR, "").unwrap();
        assert_eq!((reading.read.bytes, reading.write.bytes), (1_520_435_200, 1_670_250_496));
        let reading = read_sample("iperf3(udp)", &TOOL, UDP, "").unwrap();
        assert_eq!((reading.read.bytes, reading.read.ios), (121_700_352, 3813 - 99));
        assert_eq!(reading.write.ios, 0, "what was sent is no unit");
        let (lost, of_tcp) =
            (way(&reading), way(&read_sample("iperf3(tcp)", &TOOL, TCP, "").unwrap()));
        assert_eq!((lost.sent, lost.lost, of_tcp.sent, of_tcp.retransmits), (3813, 99, 0, 8));
        let exchange = reading.exchange.unwrap();
        assert_eq!((exchange.peer_cpu_user_ns, exchange.peer_cpu_system_ns), (47_032_802, 0));
    }

    #[test]
    fn what_is_cut_off_or_of_other_words_is_an_error() {
        let cut = &TCP[..TCP.len() / 2];
        assert!(reads("iperf3", &TOOL, cut, "").unwrap_err().contains("is not JSON"));
        let refused = r#"{"end": {}, "error": "unable to connect to server: Connection refused"}"#;
        let why = reads("iperf3", &TOOL, refused, "").unwrap_err();
        assert!(why.contains("Connection refused") && why.contains("iperf3 -s"), "{why}");
        assert!(
            reads("iperf3(bidir)", &TOOL, TCP, "")
                .unwrap_err()
                .contains("no \"sum_received_bidir_reverse\"")
        );
        assert!(reads("iperf3(udp)", &TOOL, TCP, "").unwrap_err().contains("no \"packets\""));
    }
}

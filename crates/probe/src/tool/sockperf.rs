//! Ping-pong test of sockperf: the client's end, read from its log of all messages.

use super::iperf3::address_and_port;
use super::visit::{
    self, Tool, ToolReading, ToolRequest, ToolText, ask_program, last_words, ns, parse_positive,
    shorten_line, version_after, whole_number,
};
use crate::{Argument, Definition, ProbeSpec, ProbeUnit};
use std::net::SocketAddr;
use std::time::Duration;

const HALF: ProbeUnit = ProbeUnit::Time("half a round trip of 64 bytes");

pub(super) const DEFINITION: Definition = Definition {
    name: "sockperf",
    argument: Argument::Test(&[
        ("udp", HALF, "datagrams"),
        ("tcp", HALF, "a TCP connection without Nagle's delay"),
    ]),
    unit: HALF,
    subject: "sockperf's latency",
    about: "Sends 64 bytes, waits until they are back, and reports half of that time; a round trip takes twice as long.",
    relative: "rr, in slices, which gives whole round trips",
    program: Some(("sockperf", "sockperf")),
    shortest_slice_ns: 1_000_000_000,
    needs_peer: true,
    prepare: |spec| visit::prepare(spec, &DEFINITION, &TOOL),
};

const TOOL: Tool = Tool {
    label: "sockperf",
    program: "sockperf",
    version: |program| {
        Ok(version_after("sockperf, version", &ask_program(program, &["--version"])?))
    },
    copies: true,
    arguments: |asked| {
        let ([address, port], seconds) =
            (address_and_port(asked.spec.peer), asked.seconds().to_string());
        let mut words = vec!["ping-pong", "-i", &address, "-p", &port, "-t", &seconds, "-m", "64"];
        words.extend(["--full-log", "/dev/stdout"]);
        if asked.test() == "tcp" {
            words.push("--tcp");
        }
        words.into_iter().map(str::to_owned).collect()
    },
    // sockperf measures the clock's rate, and warms up.
    expected: |asked| Duration::from_secs(asked.seconds() + 4),
    is_unanswered: |_| false,
    read: read_sockperf,
};

/// Returns the command of a server, which runs until it is ended.
pub(super) fn server(spec: &ProbeSpec, listen: SocketAddr) -> Vec<String> {
    let [address, port] = address_and_port(Some(listen));
    let mut words = vec!["sockperf", "server", "-i", &address, "-p", &port];
    if spec.argument.as_deref() == Some("tcp") {
        words.push("--tcp");
    }
    words.into_iter().map(str::to_owned).collect()
}

fn read_sockperf(asked: &ToolRequest, printed: &ToolText) -> Result<ToolReading, String> {
    let text = &printed.stdout;
    let complaint =
        |line: &&str| line.contains("ERROR") || line.contains("No messages were received");
    // sockperf exits with success even then.
    if let Some(line) = text.lines().chain(printed.stderr.lines()).find(complaint) {
        let [address, port] = address_and_port(asked.spec.peer);
        let hint = format!(
            "is `sockperf server -p {port}` running at {address}, and does a firewall let it in?"
        );
        return Err(format!("{}; {hint}", shorten_line(line)));
    }
    let part = |line: &'_ str, label: &str, end: &str| {
        let (_, rest) = line.split_once(label)?;
        Some(rest.split_once(end)?.0.to_owned())
    };
    let line_with = |label: &str| {
        let line = text.lines().find(|line| line.contains(label));
        line.ok_or_else(|| format!("no line \"{label}\"; its last line: {}", last_words(printed)))
    };
    let valid = line_with("[Valid Duration]")?;
    let seconds = part(valid, "RunTime=", " sec")
        .ok_or_else(|| format!("no time in {}", shorten_line(valid)))?;
    let received = valid.rsplit_once("ReceivedMessages=").map(|(_, number)| number);
    let received = whole_number(received.unwrap_or_default(), valid)?;
    let lost = line_with("# dropped messages")?;
    let errors = part(lost, "dropped messages = ", ";")
        .ok_or_else(|| format!("no number in {}", shorten_line(lost)))?;
    let mut reading =
        ToolReading { ns: ns(parse_positive(&seconds, valid)?), ..ToolReading::default() };
    reading.errors = whole_number(&errors, lost)?;
    reading.first_error =
        (reading.errors > 0).then(|| format!("{} messages were not answered", reading.errors));

    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("packet, txTime(sec), rxTime(sec), latency(usec)"));
    for line in rows.skip(1).take_while(|line| !line.starts_with("---")) {
        match line.split(", ").collect::<Vec<_>>()[..] {
            [_, _, _, microseconds] => {
                reading.read.latency.record(ns(parse_positive(microseconds, line)? / 1e6))
            }
            _ => return Err(format!("{} is not a message of its log", shorten_line(line))),
        }
    }
    reading.read.ios = reading.read.latency.count();
    match reading.read.ios == received {
        true => Ok(reading),
        false => Err(format!("its log has {} messages instead of {received}", reading.read.ios)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{read_sample, reads};
    use super::*;

    // Whole recorded output, with twelve of its messages.
    const SAMPLE: &str = include_str!("samples/sockperf-3.7.txt");

    #[test]
    fn every_message_is_in_the_histogram() {
        let reading = read_sample("sockperf(tcp)", &TOOL, SAMPLE, "").unwrap();
        assert_eq!((reading.ns, reading.read.ios), (550_000_000, 12));
        let median = reading.read.latency.percentile(0.5).unwrap();
        assert!((3_200..3_300).contains(&median), "{median}");
        assert_eq!((reading.errors, reading.first_error), (0, None));
    }

    #[test]
    fn messages_that_were_not_answered_are_errors_of_the_slice() {
        let lost = SAMPLE.replace("# dropped messages = 0", "# dropped messages = 3");
        assert_eq!(read_sample("sockperf", &TOOL, &lost, "").unwrap().errors, 3);
    }

    #[test]
    fn what_is_cut_off_or_of_other_words_is_an_error() {
        let cut = SAMPLE.split("\n5, ").next().unwrap();
        assert!(
            reads("sockperf", &TOOL, cut, "")
                .unwrap_err()
                .contains("its log has 5 messages instead of 12")
        );
        assert!(
            reads("sockperf", &TOOL, "", "").unwrap_err().contains("no line \"[Valid Duration]\"")
        );
        let none = "sockperf: No messages were received from the server. Is the server down?\n";
        assert!(
            reads("sockperf", &TOOL, none, "").unwrap_err().contains("does a firewall let it in?")
        );
        let other = SAMPLE.replace("RunTime=0.550 sec", "RunTime=0.550 minutes");
        assert!(reads("sockperf", &TOOL, &other, "").unwrap_err().contains("no time in"));
    }
}

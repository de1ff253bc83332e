//! Measurements between two places over a network: a [`ProbeServer`] listens in one, probes connect
//! from the other and measure in slices. [`path`] describes what lies between them.
//!
//! `hello` and `control` are what crosses the network besides the load, `flow` is the load, `lane`
//! its threads; `server` and `client` are the two ends.

mod addresses;
mod client;
mod control;
mod flow;
mod hello;
mod interface;
mod lane;
mod netlink;
pub mod path;
mod sequence;
mod server;
#[cfg(test)]
mod tests;

pub(crate) use client::SMALL_DATAGRAM;
pub(crate) use flow::LONGEST_DATAGRAM;

pub use addresses::addresses;
pub use interface::give_address;
pub use path::{PathFacts, PathKind};
pub use server::ProbeServer;
pub(crate) use server::free_port;

use crate::{Argument, Definition, ProbeUnit};

pub const ALL: &[&Definition] = &[&TCP, &UDP, &RR];

const TCP: Definition = Definition {
    name: "tcp",
    argument: Argument::Word(&[
        ("send", "from here to the other end"),
        ("receive", "from the other end to here"),
        ("both", "both directions at once, numjobs streams each"),
    ]),
    unit: ProbeUnit::Bytes,
    subject: "TCP throughput",
    about: "Sends blocks of 128 KiB over numjobs open TCP connections and counts the bytes that arrive.",
    relative: "iperf3: it counts from the connection's first byte on, its slow start with it, and a run of it takes seconds",
    program: None,
    shortest_slice_ns: 50_000_000,
    needs_peer: true,
    prepare: client::prepare,
};

const UDP: Definition = Definition {
    name: "udp",
    argument: Argument::Word(&[
        ("send", "1400 bytes each, from here to the other end"),
        ("receive", "1400 bytes each, from the other end to here"),
        ("both", "1400 bytes each, both directions at once"),
        ("small-send", "64 bytes each, from here to the other end"),
        ("small-receive", "64 bytes each, from the other end to here"),
    ]),
    unit: ProbeUnit::Count("datagrams"),
    subject: "UDP datagrams",
    about: "Sends datagrams as fast as possible and counts those that arrive.",
    relative: "iperf3 -u: it sends in bursts of a millisecond, and a run of it takes seconds",
    program: None,
    shortest_slice_ns: 50_000_000,
    needs_peer: true,
    prepare: client::prepare,
};

const RR: Definition = Definition {
    name: "rr",
    argument: Argument::Word(&[
        ("tcp", "over TCP connections"),
        ("udp", "by datagrams; one that gets no response is counted apart"),
    ]),
    unit: ProbeUnit::Time("round trip"),
    subject: "network round trip",
    about: "Sends 64 bytes and waits for 64 bytes back, one request at a time on each of numjobs connections.",
    relative: "sockperf ping-pong (it shows half a round trip), netperf TCP_RR: a run of them takes seconds",
    program: None,
    shortest_slice_ns: 20_000_000,
    needs_peer: true,
    prepare: client::prepare,
};

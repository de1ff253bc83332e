//! Results that only a network probe has.

use serde::{Deserialize, Serialize};

/// Further results of a network probe in a slice: losses, and the other end's part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Exchange {
    /// Round-trip time of the control connection before the load, in nanoseconds; 0 for a tool.
    pub round_trip_ns: u64,
    /// Size of a TCP segment in bytes, without headers; 0 if unknown.
    pub mss: u32,
    /// Size of a datagram in bytes, without the headers of IP and UDP; `None` if the load is not a
    /// stream of datagrams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagram_bytes: Option<u32>,
    /// Direction from this place to the other, if the load has it. A tool reports all its losses
    /// here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_peer: Option<ExchangeDirection>,
    /// Direction from the other place to this one, if the load has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_peer: Option<ExchangeDirection>,
    /// Bytes of the headers of a segment or datagram in an Ethernet frame; 0 if the load consists
    /// of neither, but of single messages.
    pub header_bytes: u32,
    /// Requests by datagram that got no response in time.
    pub unanswered: u64,
    /// CPU time of the other end's threads in user mode over the whole slice.
    pub peer_cpu_user_ns: u64,
    pub peer_cpu_system_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExchangeDirection {
    /// Bytes that arrived in the window.
    pub bytes: u64,
    /// Datagrams that were sent in the window.
    pub sent: u64,
    /// Datagrams of `sent` that never arrived.
    pub lost: u64,
    /// Datagrams of the whole slice that arrived after one that was sent later.
    pub reordered: u64,
    /// Datagrams of the whole slice that arrived more than once.
    pub duplicates: u64,
    /// TCP segments of the whole slice that were sent again.
    pub retransmits: u64,
    /// Bytes of TCP, or datagrams, that arrived in each step from the beginning of the load to the
    /// end of the window. Empty unless [`course_ns`](crate::ProbeSpec::course_ns) asks for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<u64>,
}

impl Exchange {
    /// Returns all counts and times, so that they can be checked: a peer that lies may report any
    /// value.
    pub fn counts(&self) -> Vec<u64> {
        let own =
            [self.round_trip_ns, self.unanswered, self.peer_cpu_user_ns, self.peer_cpu_system_ns];
        let of_way = |way: &ExchangeDirection| {
            let counts =
                [way.bytes, way.sent, way.lost, way.reordered, way.duplicates, way.retransmits];
            counts.into_iter().chain(way.course.clone())
        };
        own.into_iter()
            .chain([&self.to_peer, &self.from_peer].into_iter().flatten().flat_map(of_way))
            .collect()
    }

    /// Returns the bytes on the wire per byte of the load; `None` if the size of headers or of what
    /// they carry is not known.
    pub fn on_wire(&self) -> Option<f64> {
        let payload = self.datagram_bytes.unwrap_or(self.mss);
        let known = self.header_bytes > 0 && payload > 0;
        known.then(|| 1.0 + f64::from(self.header_bytes) / f64::from(payload))
    }
}

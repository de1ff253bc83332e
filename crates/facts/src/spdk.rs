//! What a running SPDK target reports of itself.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where an SPDK target listens unless told otherwise.
pub const USUAL_SOCKET: &str = "/var/tmp/spdk.sock";

/// An SPDK target, which ran before the run and goes on after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpdkTarget {
    pub socket: PathBuf,
    /// As it tells it: `SPDK v26.05`.
    pub version: String,
    /// Its threads, each on a processor of its own.
    pub reactors: Vec<Reactor>,
}

/// A reactor of an SPDK target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reactor {
    pub core: u32,
    /// It asks for work without a pause, so that its processor is busy whatever it does; else it
    /// waits for interrupts.
    pub polls: bool,
}

impl SpdkTarget {
    /// Processors that are busy even when it has nothing to do.
    pub fn polled(&self) -> Vec<u32> {
        self.reactors.iter().filter(|reactor| reactor.polls).map(|reactor| reactor.core).collect()
    }

    /// `SPDK v26.05, polls on core 0`.
    pub fn describe_target(&self) -> String {
        let cores = |polls: bool| {
            let cores = self.reactors.iter().filter(|reactor| reactor.polls == polls);
            cores.map(|reactor| reactor.core.to_string()).collect::<Vec<_>>().join(", ")
        };
        let some = |does: &str, cores: String| {
            (!cores.is_empty()).then(|| format!("{does} on core {cores}"))
        };
        let parts = [
            Some(self.version.clone()),
            some("polls", cores(true)),
            some("waits for interrupts", cores(false)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

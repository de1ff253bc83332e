//! Facts that a running SPDK target reports about itself.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

pub const USUAL_SOCKET: &str = "/var/tmp/spdk.sock";

/// An SPDK target that ran before the run and stays up after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpdkTarget {
    pub socket: PathBuf,
    /// Version as the target reports it: `SPDK v26.05`.
    pub version: String,
    /// Threads of the target, each on its own processor.
    pub reactors: Vec<Reactor>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reactor {
    pub core: u32,
    /// True if the reactor polls for work and thus keeps its processor busy; false if it waits for
    /// interrupts.
    pub polls: bool,
}

impl SpdkTarget {
    /// Returns the processors whose reactors poll: these are busy even when the target is idle.
    pub fn polled_processors(&self) -> Vec<u32> {
        self.reactors.iter().filter(|reactor| reactor.polls).map(|reactor| reactor.core).collect()
    }

    /// Describes the target: `SPDK v26.05, polls on core 0`.
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

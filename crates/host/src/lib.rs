//! Facts of this machine, what a run lacks on it, and the guard of what may be written.
//!
//! [`facts`] gathers what is there, with `block`, `cable`, `drive_health`, `net`, `pci`, `mounts`,
//! `caches`, `limits` and `routes`; [`probe`] is how it is read. [`gauges`] reads CPU time and dirty bytes,
//! [`needs`] checks what may be missing. [`guard`] has the markers of our files, the inspection of
//! targets, and consent.
#![forbid(unsafe_code)]

pub mod block;
pub mod busy;
pub mod cable;
pub mod caches;
pub mod drive_health;
pub mod facts;
pub mod gauges;
pub mod guard;
pub mod kernel_threads;
pub mod kvm;
pub mod limits;
#[cfg(any(test, feature = "testing"))]
#[path = "testing/made_up.rs"]
pub mod made_up;
pub mod mounts;
pub mod needs;
pub mod net;
pub mod pci;
pub mod probe;
pub mod routes;

use serde::{Deserialize, Serialize};

/// A requirement of a stack that this machine does not meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Missing thing: `qemu-system-x86_64`.
    pub what: String,
    /// Purpose, a clause: `to boot a guest`.
    pub why: String,
    /// Command that installs it, or another action: `apt-get install qemu-system-x86`.
    pub command: String,
    /// True if the command takes effect only after a reboot.
    #[serde(default)]
    pub reboot: bool,
}

//! The family of engines: null, sync, uring.

use serde::{Deserialize, Serialize};

/// Which system interface issues the I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Completes at once without a system call: measures the generator.
    Null,
    /// preadv2 / pwritev2, one I/O at a time a thread.
    Sync,
    /// io_uring.
    Uring,
}

/// The engine in use, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// Its name.
    pub name: EngineName,
    /// A clause: `named by the user`, `io_uring works here without worker threads`, ...
    pub why: String,
}

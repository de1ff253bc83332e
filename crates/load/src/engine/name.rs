//! Names of the engines.

use serde::{Deserialize, Serialize};

/// System interface that issues the I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Completes I/Os at once without a system call: measures the generator.
    Null,
    /// pread and pwrite, one I/O at a time per thread.
    Sync,
    /// io_submit and io_getevents, the system calls of libaio.
    Aio,
    /// io_uring, with one ring per thread.
    Uring,
    /// Counterpart of fio's posixaio: a queue that feeds a thread, which does one I/O at a time, as
    /// in glibc.
    PosixAio,
}

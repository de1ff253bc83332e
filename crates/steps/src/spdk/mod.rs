//! A running SPDK target, spoken to over its JSON-RPC socket: the wire, what the target is, and
//! what is made in it. It is somebody else's process: it is never started, stopped or configured,
//! and only what carries a run's name is taken away.

#[cfg(test)]
mod bdev_tests;
mod export;
#[cfg(test)]
mod fake;
mod file;
pub mod join;
mod look;
pub mod nvmf;
pub mod raid;
mod rpc;
mod target;
#[cfg(test)]
mod tests;

pub use export::{export, find, read_back, unexport};
pub use rpc::{LIMIT, Rpc, RpcError};
pub use target::{SpdkConnection, answers, has};

use crate::threads::{self, ServingThread};
use anyhow::Result;
use std::path::Path;

/// Threads of the target behind a socket that serve I/O: its reactors; none where it is not seen
/// from here.
///
/// # Errors
/// When it does not answer.
pub fn threads(socket: &Path) -> Result<Vec<ServingThread>> {
    let target = look::running(socket)?;
    Ok(target.and_then(|rpc| rpc.process()).map_or_else(Vec::new, threads::of_target))
}

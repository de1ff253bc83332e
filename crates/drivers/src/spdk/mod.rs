//! Speaks to a running SPDK target over its JSON-RPC socket: the wire protocol, facts about the
//! target, and what is made in it. The target is somebody else's process: it is never started,
//! stopped or configured, and only what carries a run's name is removed.

#[cfg(test)]
mod bdev_tests;
pub mod export;
#[cfg(test)]
#[path = "testing/fake.rs"]
mod fake;
pub mod file;
pub mod join;
mod look;
pub mod names;
pub mod nvmf;
pub mod raid;
mod rpc;
mod target;
#[cfg(test)]
mod tests;

pub use export::{export, find_export, read_back, unexport};
pub use rpc::{LIMIT, Rpc, RpcError};
pub use target::{SpdkConnection, answers, check_target_methods};

use crate::threads::{self, ServingThread};
use anyhow::Result;
use std::path::Path;

/// Returns the threads that serve I/O in the target at a socket: its reactors. Empty if nobody
/// listens there, or the target's process is not visible from here.
///
/// # Errors
/// If somebody listens there and no connection is made.
pub fn threads(socket: &Path) -> Result<Vec<ServingThread>> {
    let target = look::running(socket)?;
    Ok(target.and_then(|rpc| rpc.process()).map_or_else(Vec::new, threads::of_target))
}

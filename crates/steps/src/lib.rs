//! Steps as data: what changes a machine is written down before it is performed, and undone from
//! what was written down. Layers make steps; only the executor here performs them, through the
//! [`place_executor::PlaceExecutor`] of their place. Nothing here decides what to build.
//!
//! Modules:
//! - `op/`: the operations, one file each. Each is an [`operation::Operation`] and a
//!   [`resource::ManagedResource`] or a [`resource::ResourceChange`]. [`observer`]: what they ask
//!   of a machine before they change it.
//! - [`journal`], [`executor`], [`clean`]: writing down, performing and undoing.
//! - [`local_executor`] for this machine, `simulated` for tests, [`remote_executor`] for another
//!   place.
//! - [`agent`]: the program that is copied there. [`agent_handler`]: what it can do.
//!   [`agent_program`]: which program it is.
#![forbid(unsafe_code)]

pub mod agent;
pub mod agent_handler;
pub mod agent_program;
pub mod clean;
pub mod executor;
pub mod journal;
mod leftover_superblocks;
pub mod local_executor;
pub mod observer;
pub mod op;
pub mod operation;
pub mod place_executor;
pub mod remote_executor;
pub mod resource;
#[cfg(test)]
#[path = "testing/simulated.rs"]
mod simulated;
pub mod step;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod volume_tests;

//! Steps as data: what changes a machine is written down before it is done, and undone from what
//! was written down. Layers make steps; only the executor here performs them, by the
//! [`place_executor::PlaceExecutor`] of their place. Nothing here decides what to build.
//!
//! Modules: `op/` the operations, one file and one entry each, every one a
//! [`resource::ManagedResource`] or a [`resource::ResourceChange`]; [`journal`], [`executor`],
//! [`clean`] what is written down, done and undone; [`system`] this machine, `simulated` its twin
//! for tests. [`tool`], [`json_socket`], [`process`], `leftover` how programs are run, asked and
//! waited for; [`md`], [`lvm`], [`zfs`], [`dm`], [`loops`], [`partition`], [`ceph`], [`spdk`],
//! [`nvmet`], [`nvmf`], [`iscsi`], [`lio`], [`nbd`], [`softrdma`], [`vfio`] what the tools of one
//! system make; [`vhost_user`] what a socket serves; [`settings`] and [`queue`] how what was made
//! really is. [`guest`] QEMU, its kernel, boot and disks. [`wire`] the protocol, [`agent_handler`]
//! and [`remote_executor`] its two ends, [`agent`] the program that is copied. [`engine`] what
//! loads a target, [`durability`] the writer and verifier of trials, [`agentless`] hosts without an
//! agent, [`stops`] when this process was stopped.
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
mod simulated;
pub mod step;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod volume_tests;

//! Drivers of storage systems. A driver makes, finds, reads and removes one thing with the tools of
//! one system; its parameters are a struct beside it ([`md::CreateArray`]). Nothing here decides
//! what to build or remembers what was made: the operations of the crate `iotax_steps` do.
//!
//! Modules, by what they are for:
//! - what the tools of one system make: [`md`], [`lvm`], [`zfs`], [`dm`], [`loops`], [`partition`],
//!   [`ceph`], [`spdk`], [`nvmet`], [`nvmf`], [`iscsi`], [`lio`], [`export`], [`nbd`], [`softrdma`]
//!   and [`vfio`];
//! - what a socket serves: [`vhost_user`];
//! - the actual state of what was made: [`settings`], [`queue`] and [`threads`];
//! - running programs, talking to them and waiting for them: [`tool`], [`json_socket`],
//!   [`process`], `leftover` and [`wait`];
//! - files of a run and of the kernel: [`plain_file`]; this machine: [`system`];
//! - types that drivers share with operations: [`path_ref`], [`drives`], [`disk_key`], [`run_tag`],
//!   [`step_output`] and [`refusal`];
//! - the agent that was copied to this host: [`agent_copy`].
#![forbid(unsafe_code)]

pub mod agent_copy;
pub mod ceph;
pub mod disk_key;
pub mod dm;
pub mod drives;
pub mod export;
pub mod iscsi;
pub mod json_socket;
pub mod leftover;
pub mod lio;
pub mod loops;
pub mod lvm;
pub mod md;
pub mod nbd;
pub mod nvmet;
pub mod nvmf;
pub mod partition;
pub mod path_ref;
pub mod plain_file;
pub mod process;
pub mod queue;
pub mod refusal;
pub mod run_tag;
pub mod settings;
pub mod softrdma;
pub mod spdk;
pub mod step_output;
pub mod system;
pub mod threads;
pub mod tool;
pub mod vfio;
pub mod vhost_user;
pub mod wait;
pub mod zfs;

//! How the tools of each system are run and read, and the few helpers for that. A driver makes,
//! finds, reads and removes one thing; what is asked for is data beside it
//! ([`md::CreateArray`]). Nothing here decides what to build, or remembers what was made:
//! operations do.
//!
//! Modules: [`md`], [`lvm`], [`zfs`], [`dm`], [`loops`], [`partition`], [`ceph`], [`spdk`],
//! [`nvmet`], [`nvmf`], [`iscsi`], [`lio`], [`export`], [`nbd`], [`softrdma`], [`vfio`] what the
//! tools of one system make; [`vhost_user`] what a socket serves; [`settings`], [`queue`] and
//! [`threads`] how what was made really is. [`tool`], [`json_socket`], [`process`], `leftover`,
//! [`wait`] how programs are run, asked and waited for; [`plain_file`] files of a run and of the
//! kernel; [`system`] this machine; [`path_ref`], [`drives`], [`disk_key`], [`run_tag`],
//! [`step_output`], [`refusal`] what drivers and operations say to each other. [`agent_copy`] the
//! agent that was copied here.
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

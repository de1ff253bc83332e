//! Other machines as they are reached: over the system's ssh, with a copied agent or without one,
//! and through the manager of their virtual machines.
//!
//! Modules: [`ssh`] connections and the copy of the agent; [`agentless`] hosts whose own fio does
//! the work; [`hypervisor`] libvirt, Proxmox, ESXi.
#![forbid(unsafe_code)]

pub mod agentless;
pub mod hypervisor;
pub mod ssh;

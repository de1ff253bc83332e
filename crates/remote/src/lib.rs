//! Other machines and how iotax reaches them: over the system's ssh, with a copied agent or without
//! one, and through the manager of virtual machines.
//!
//! Modules: [`ssh`] connections and the copy of the agent; [`agentless`] hosts whose own fio issues
//! the load; [`hypervisor`] libvirt, Proxmox VE and ESXi.
#![forbid(unsafe_code)]

pub mod agentless;
pub mod hypervisor;
pub mod ssh;

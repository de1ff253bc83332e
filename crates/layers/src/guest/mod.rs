//! A guest is QEMU with virtio disks, a kernel that is found or fetched, and this program as its
//! PID 1. The parts are here; docs/guest.md describes how they fit together. Other crates decide
//! what is measured.

pub mod lab;
pub mod network;
mod outline;
pub mod room;
pub mod system_image;
pub mod vm;

pub const ALL: &[&dyn super::Layer] = &[&VirtualMachine];

pub const LAB_NEEDS: [&str; 3] = ["qemu", "guest-kernel", "lab-image"];

pub use vm::{
    FINDINGS, GuestDraft, GuestParts, GuestPlan, NETWORK_NEEDS, VirtualMachine, below_placeholder,
    draft_named_guest, finish, gives_drive_to_stranger, is_dead_kvm, put_on_processors, reach,
    requested,
};

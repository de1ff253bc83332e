//! A guest: QEMU with virtio disks, a kernel that is found or fetched, and this program as its PID
//! 1. Here are the parts; docs/guest.md tells how they fit together. What is measured is decided
//! elsewhere.

pub mod lab;
mod outline;
pub mod room;
pub mod system_image;
pub mod vm;

/// Every layer that is a guest.
pub const ALL: &[&dyn super::Layer] = &[&VirtualMachine];

/// Ids of what a lab takes.
pub const LAB_NEEDS: [&str; 3] = ["qemu", "guest-kernel", "lab-image"];

pub use boot::Requested;
pub use disk::DiskKey;
pub use iotax_steps::guest::{
    attach, boot, disk, init, initramfs, kernel, modules, ovmf, pin, qemu, qmp, root,
    seed as seed_disk, settings, signs,
};
pub use vm::{
    FINDINGS, GuestDraft, GuestParts, GuestPlan, NETWORK_NEEDS, VirtualMachine, below, finish,
    gives_drive_to_stranger, initramfs_for, is_dead_kvm, named, put_on_processors, reach,
    requested, seed,
};

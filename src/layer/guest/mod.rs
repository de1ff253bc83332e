//! A guest: QEMU with virtio disks, a kernel that is found or fetched, and this program as its PID 1. Here are the
//! parts; docs/guest.md tells how they fit together. What is measured is decided elsewhere.

pub mod attach;
pub mod boot;
pub mod disk;
mod elf;
pub mod init;
pub mod initramfs;
pub mod kernel;
pub mod lab;
pub mod modules;
mod outline;
pub mod ovmf;
mod packing;
pub mod pin;
pub mod qemu;
pub mod qmp;
pub mod room;
pub mod root;
mod seed;
pub mod settings;
pub mod signs;
pub mod system_image;
#[cfg(test)]
mod tests;
pub mod vm;

/// Every layer that is a guest.
pub const ALL: &[&dyn super::Layer] = &[&VirtualMachine];

/// Ids of what a lab takes.
pub const LAB_NEEDS: [&str; 3] = ["qemu", "guest-kernel", "lab-image"];

pub use boot::Requested;
pub use disk::DiskKey;
pub use vm::{
    Draft, FINDINGS, GuestPlan, Parts, VirtualMachine, below, finish, gives_drive_to_stranger, initramfs_for,
    is_dead_kvm, put_on_processors, reach, requested, seed,
};

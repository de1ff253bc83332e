//! A guest: QEMU with virtio disks, a kernel that is found or fetched, and this program as its PID 1. Here are the
//! parts, in the order of use; what is measured is decided elsewhere. docs/guest.md tells how they fit together.

pub mod boot;
pub mod disk;
mod elf;
pub mod init;
pub mod initramfs;
pub mod kernel;
pub mod modules;
pub mod qemu;
pub mod qmp;
#[cfg(test)]
mod tests;
pub mod vm;

pub use vm::{BELOW, GuestPlan, Parts, VirtualMachine, initramfs_for, is_dead_kvm, reach, wanted_accel};

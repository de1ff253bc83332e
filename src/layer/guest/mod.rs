//! A guest: QEMU with virtio disks, a kernel that is found or fetched, and this program as its PID 1. Here are the
//! parts, in the order of use; what is measured is decided elsewhere. docs/guest.md tells how they fit together.

pub mod kernel;
pub mod modules;
pub mod initramfs;
pub mod qemu;
pub mod boot;
pub mod qmp;
pub mod init;
pub mod disk;
mod elf;
mod packing;
#[cfg(test)]
mod tests;

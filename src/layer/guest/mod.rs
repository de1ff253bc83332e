//! A guest: QEMU with virtio disks, a kernel that is found or fetched, and this program as its PID 1. Here are the
//! parts in the order of use; nothing of them decides what is measured.

pub mod kernel;
pub mod modules;
pub mod initramfs;
mod elf;

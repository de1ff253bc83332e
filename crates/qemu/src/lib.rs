//! Guests in QEMU: command line, kernel, initramfs and PID 1, boot, QMP, disks and their effective
//! settings. docs/guest.md shows how they fit together. Which guest a stack needs is up to the
//! crate of the layers.
#![forbid(unsafe_code)]

pub mod accel;
pub mod attach;
pub mod boot;
pub mod command_line;
pub mod disk;
mod elf;
pub mod findings;
pub mod guest_files;
pub mod image;
pub mod init;
pub mod initramfs;
pub mod kernel;
pub mod modules;
pub mod option_value;
pub mod outline;
pub mod ovmf;
mod packing;
pub mod pin;
pub mod qcow2;
pub mod qmp;
pub mod root;
pub mod seed;
pub mod settings;
pub mod signs;
pub mod system_image;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod throttle;
pub mod version;

/// Returns the placeholder, in a command line, for the path of a device that only a step will make
/// known.
pub fn below_placeholder(number: usize) -> String {
    format!("/@below{number}@")
}

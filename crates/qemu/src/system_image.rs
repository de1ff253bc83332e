//! Somebody else's guest: a disk image with its own kernel and operating system, which QEMU boots.

use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Raw,
    Qcow2,
}

impl Format {
    pub fn driver(self) -> &'static str {
        match self {
            Format::Raw => "raw",
            Format::Qcow2 => "qcow2",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemImage {
    pub path: PathBuf,
    /// Format found by the image's first bytes, never guessed by QEMU, which warns of that with
    /// good reason: a guest could write another format's header.
    pub format: Format,
}

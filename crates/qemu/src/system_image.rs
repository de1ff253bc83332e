//! Disk image with its own kernel and operating system, which a guest boots.

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
    /// Format by the image's first bytes. QEMU must not guess it from a raw image, to which a guest
    /// could write another format's header.
    pub format: Format,
}

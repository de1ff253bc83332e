//! Limits of a guest.

/// The least memory that a guest boots in, in bytes: with less Debian's kernel does not unpack an
/// initramfs with this program.
pub const SMALLEST_MEMORY: u64 = 128 << 20;

/// Disks that a guest has room for: as many as have a PCI slot beside the agent's port.
pub const MOST_DISKS: usize = 12;

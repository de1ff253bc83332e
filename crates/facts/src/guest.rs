//! Limits of a guest.

/// Smallest memory in bytes that a guest boots in. With less, Debian's kernel does not unpack an
/// initramfs that contains this program.
pub const SMALLEST_MEMORY: u64 = 128 << 20;

/// Largest number of disks of a guest: as many as have a PCI slot beside the agent's port.
pub const MOST_DISKS: usize = 12;

//! Limits of the guests that iotax starts.

/// Smallest memory in bytes in which a guest boots. With less, Debian's kernel cannot unpack an
/// initramfs that contains this program.
pub const SMALLEST_MEMORY: u64 = 128 << 20;

/// Largest number of disks of a guest: the PCI slots that the agent's port leaves free.
pub const MOST_DISKS: usize = 12;

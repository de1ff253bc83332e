//! Layers of one host between a device and a file: loop, fs, partition, split, linear, mdraid; and what a running SPDK target
//! makes of them.

mod fs;
mod linear;
mod loopdev;
mod mdraid;
mod partition;
mod spdk;

pub use fs::FileSystem;
pub use linear::{LINEAR_HELP, Linear, SPLIT_HELP, Split};
pub use loopdev::Loop;
pub use mdraid::{HELP as MDRAID_HELP, MdRaid};
pub use partition::{HELP as PARTITION_HELP, Partition};
pub use spdk::{HELP as SPDK_HELP, SpdkBdev};

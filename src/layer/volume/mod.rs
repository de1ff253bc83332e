//! Layers of one host between a device and a file: loop, fs; and what a running SPDK target makes of them.

mod fs;
mod loopdev;
pub mod spdk;

pub use fs::FileSystem;
pub use loopdev::Loop;
pub use spdk::SpdkBdev;

//! Layers of one host between a device and a file: loop, fs.

mod fs;
mod loopdev;

pub use fs::FileSystem;
pub use loopdev::Loop;

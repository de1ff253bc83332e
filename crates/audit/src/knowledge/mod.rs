//! What pages say of hardware: mentions of drives and links, words around figures. What hardware can do is in `iotax_hardware`.

pub mod mentions;
pub mod words;

pub use iotax_hardware::{Link, Rate, iops_text, media, rate_text, ratings, size_text};

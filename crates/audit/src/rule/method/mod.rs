//! Rules on how it was measured: what was asked for, on what, with which settings.

mod devices;
mod effect;
mod labels;
pub(in crate::rule) mod loads;
mod parity;
mod platform;
mod preparation;
mod same;
mod settings;
mod sides;

pub use devices::{DISKS as M5, MADE as M11};
pub use effect::RULE as M9;
pub use labels::RULE as T7;
pub use parity::{HARDWARE as M14, PARITY as M4};
pub use platform::RULE as M12;
pub use preparation::{BUFFERED as M7, UNUSED as M6, ZEROS as M8};
pub use same::RULE as T8;
pub use sides::RULE as M13;

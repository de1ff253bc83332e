//! Rules on how it was measured: what was asked for, on what, with which settings.

mod effect;
mod labels;
pub(in crate::rule) mod loads;
mod same;

pub use effect::RULE as M9;
pub use labels::RULE as T7;
pub use same::RULE as T8;

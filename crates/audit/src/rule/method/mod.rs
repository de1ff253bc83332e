//! Rules on how it was measured: what was asked for, on what, with which settings.

mod effect;
mod labels;
pub(in crate::rule) mod loads;
mod page_cache;

pub use effect::RULE as M9;
pub use labels::RULE as T7;
pub use page_cache::RULE as M7;

//! Rules on how it was measured: what was asked for, on what, with which settings.

mod effect;
pub(in crate::rule) mod loads;

pub use effect::RULE as M9;

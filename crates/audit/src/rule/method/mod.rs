//! Rules on how it was measured: what was asked for, on what, with which settings.

pub(in crate::rule) mod loads;


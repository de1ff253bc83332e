//! layer
pub mod guest;

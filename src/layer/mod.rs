//! layer

pub mod catalog;

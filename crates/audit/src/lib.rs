//! Reads the results that other people publish, recomputes every figure, and says what does not
//! hold.
//!
//! Data flow: bytes -> [`container`] -> [`page`] of lines -> [`import`] finds what tools printed,
//! [`table`] the tables, [`prose`] the sentences -> [`claim`]s -> [`rule`]s -> [`finding`]s ->
//! [`verdict`]. The crate uses no clock, process, device or file.
#![forbid(unsafe_code)]

pub mod audit;
pub mod claim;
pub mod container;
pub mod evidence;
pub mod finding;
pub mod import;
pub mod json;
pub mod link;
#[cfg(test)]
#[path = "number/tests.rs"]
mod number_tests;
pub mod page;
pub mod prose;
pub mod rule;
mod slip;
pub mod table;
#[cfg(test)]
pub(crate) mod testing;
pub mod verdict;

pub use iotax_hardware::{number, ratings};
pub use iotax_units::harmless;

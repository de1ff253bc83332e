//! The audit proves itself: documents that an honest author would publish, made from runs of our own, and the same with one slip;
//! how many slips are found, and how many findings are of nothing. Values in, values out: the same seed gives the same figures.
//!
//! A new slip is one entry in a table of [`slips`].

pub mod draft;
pub mod guise;
pub mod measure;
pub mod pages;
pub mod pool;
pub mod random;
pub mod report;
pub mod shapes;
pub mod slips;
pub mod words;

pub use measure::{Measured, Plan, measure};

#[cfg(test)]
mod tests;

//! Checks iotax's own statistics with simulated comparisons of known truth, under every kind of
//! noise that is known to mislead, through the code that runs real comparisons. Values in, values
//! out; it measures nothing.

pub mod cell;
mod conduct;
pub mod details;
pub mod hosts;
pub mod kinds;
pub mod lines;
mod machine;
pub mod report;
pub mod series;
pub mod short;
pub(crate) mod signal;

//! iotax: the cost of every layer of a storage stack. See ARCHITECTURE.md for the flow of data.
//!
//! The library exists for the binary and its tests; it promises no stable interface.

pub mod cli;

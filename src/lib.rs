//! iotax: what every layer of a storage stack charges. See ARCHITECTURE.md for the way of the data.
//!
//! The library exists for the binary and its tests; it promises no stable interface.

pub mod cli;

//! The wire protocol (docs/wire.md) between the host of a run and its agents, which run workers in
//! any place: framed, versioned and CRC-protected, over any byte stream. Nothing here knows what a
//! stack or a scenario is, and nothing here serves a request: that is in `iotax_engines`.
//!
//! Modules: [`frame`] the bytes; [`message`] requests and responses; [`peer`] the end that asks;
//! [`trial`] a durability trial as both ends know it; [`stops`] times when this process was
//! stopped.
#![forbid(unsafe_code)]

pub mod frame;
pub mod message;
pub mod peer;
pub mod stops;
pub mod trial;

#[cfg(test)]
#[path = "docs_tests.rs"]
mod docs;

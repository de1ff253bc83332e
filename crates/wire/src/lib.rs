//! The wire (docs/wire.md): resident workers in any place, reached over a framed, versioned,
//! CRC-protected protocol over any byte stream. Nothing here knows what a stack or a scenario is,
//! and nothing serves a request: that is above.
//!
//! Modules: [`frame`] bytes, [`message`] what crosses, [`peer`] the end that asks; [`trial`] a
//! durability trial as both ends know it, [`stops`] when this process was stopped.
#![forbid(unsafe_code)]

pub mod frame;
pub mod message;
pub mod peer;
pub mod stops;
pub mod trial;

#[cfg(test)]
#[path = "docs_tests.rs"]
mod docs;

//! The wire (docs/wire.md): resident workers in any place, reached over a framed, versioned,
//! CRC-protected protocol over any byte stream. Nothing here knows what a stack or a scenario is.

pub mod frame;
pub mod message;
pub mod peer;

#[cfg(test)]
mod docs;

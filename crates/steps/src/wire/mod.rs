//! The wire (docs/wire.md): resident workers in any place, reached over a framed, versioned,
//! CRC-protected protocol over any byte stream. Nothing here knows what a stack or a scenario is.

pub mod agent;
pub mod frame;
pub mod message;
pub mod peer;
pub mod ssh;

pub use agent::{Handler, ProgressLine, serve, serve_stdio};
pub use frame::FrameError;
pub use message::{CardAddress, Response, WireRequest};
pub use peer::{ClockOffset, LastWords, Peer, PeerLink, WireError, WireFault};

#[cfg(test)]
mod docs;
#[cfg(test)]
mod fake;

//! Whether a layer keeps its promise: a writer in the guest stamps blocks and flushes, each flush that returns is
//! acknowledged to this host, something is killed, and what was acknowledged is read back through the stack. What such a
//! trial cannot show (a power cut) is said by the report; nothing here calls a stack safe.

pub mod disk;
mod kill;
pub mod schedule;
pub mod stamp;
mod trials;
pub mod verifier;
pub mod writer;

#[cfg(test)]
mod liars;

pub use kill::kills_of;
pub use schedule::TrialSpec;
pub use trials::check_room;

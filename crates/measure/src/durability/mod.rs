//! Whether a layer keeps its promise: a writer in the guest stamps blocks and flushes, each flush
//! that returns is acknowledged to this host, something is killed, and what was acknowledged is
//! read back through the stack. What such a trial cannot show (a power cut) is said by the report;
//! nothing here calls a stack safe.

mod kill;
mod trials;

pub use iotax_steps::durability::{TrialSpec, disk, schedule, stamp, verifier, writer};
pub use kill::kills_of;
pub use trials::check_room;

//! Entry of an engine in the table of engines.

use super::name::EngineName;
use crate::lane::{Resident, Setup};
use std::io;

/// Entry of one engine in [`ALL`](super::ALL).
pub struct EngineFamily {
    /// Engine that this entry is about.
    pub name: EngineName,
    /// Name as a word, as in scenario files.
    pub word: &'static str,
    /// I/Os that one thread can keep in flight: `Some(1)`, or `None` for as many as asked.
    pub depth: Option<u32>,
    /// Prepares a lane of this engine. Called in the thread that will run the lane.
    pub(crate) start: fn(Setup) -> io::Result<Box<dyn Resident>>,
}

//! What the table says about each engine.

use super::name::EngineName;
use crate::lane::{Resident, Setup};
use std::io;

/// Entry of one engine in [`ALL`](super::ALL).
pub struct EngineFamily {
    /// Name of the engine.
    pub name: EngineName,
    /// Name as a word, as in scenario files.
    pub word: &'static str,
    /// I/Os that one thread can keep in flight: `Some(1)`, or `None` for as many as asked.
    pub depth: Option<u32>,
    /// Prepares a thread; the thread itself calls it.
    pub(crate) start: fn(Setup) -> io::Result<Box<dyn Resident>>,
}

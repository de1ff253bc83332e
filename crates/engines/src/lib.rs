//! What loads a target where it is, and the agent that does so for a peer: the installed fio and
//! our own workers as engines, the writer and verifier of durability trials, and the end of the
//! wire that answers. What a place can do beside that, its handler has.
//!
//! Modules: [`load_engine`] what an engine is, [`kinds`] the table of them, [`fio`], [`native`],
//! [`probe`]; [`durability`]; [`serving`] requests of a peer, one after the other.
#![forbid(unsafe_code)]

pub mod durability;
pub mod fio;
pub mod kinds;
pub mod load_engine;
pub mod native;
pub mod probe;
pub mod serving;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

//! What issues load in a place, and the agent that does so for a host: fio and our own workers as
//! engines, the writer and verifier of durability trials, and the end of the wire that answers
//! requests. What else an agent can do is in its [`serving::Handler`].
//!
//! Modules: [`load_engine`] what an engine is; [`kinds`] the table of engines; [`fio`], [`native`]
//! and [`probe`] the engines; [`durability`] the trials; [`serving`] the agent.
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

//! Measuring: the wire to agents and the family of load engines.

pub mod engine;
pub mod wire;

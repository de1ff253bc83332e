//! The side of a durability trial that runs where the disk is. A writer stamps blocks and flushes,
//! each flush that returns is acknowledged, and a verifier reads back what is there after a kill.

pub mod disk;
pub mod stamp;
pub mod verifier;
pub mod writer;

#[cfg(test)]
#[path = "liars_tests.rs"]
mod liars;

//! Holds the audit to what it claims. It is not shipped: [`laws`] say what must hold of any bytes,
//! for the fuzzers of `fuzz/` and the corpus that `tests/corpus.rs` replays.
#![forbid(unsafe_code)]

pub mod laws;
pub mod slips;

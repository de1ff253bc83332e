//! What is compared and what is recorded, as checked values: [`scenario`] reads files and command
//! lines, [`layer`] knows what each layer is called, takes and means, [`record`] is what a run
//! keeps, [`state`] the states of arrays. No I/O but reading the files that a scenario names.
//!
//! Modules: `scenario/toml` files, `scenario/grammar` and `ast` the one-line stacks,
//! `scenario/check` and its neighbours what they mean, `scenario/fio` and `profile` loads that
//! others wrote; `layer/` one file a layer, with `comparable`, `layout` and `option` what they have
//! in common; `record/` one file for each kind of record that has several parts.
#![forbid(unsafe_code)]

pub mod layer;
pub mod record;
pub mod scenario;
pub mod state;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

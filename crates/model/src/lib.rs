//! Comparisons and records as checked values: [`scenario`] reads files and command lines, [`layer`]
//! has the name, options and meaning of each layer, [`record`] is what a run keeps, and [`state`]
//! has the states of arrays. The only I/O is reading the files that a scenario names.
//!
//! Modules: `scenario/toml` reads files, `scenario/grammar` and `ast` the one-line stacks.
//! `scenario/check` and its neighbours check what they mean. `scenario/fio` reads fio's job files,
//! `profile` has loads that others published. `layer/` has one file per layer, with `comparable`,
//! `layout` and `option` for what layers have in common. `record/` has one file for each kind of
//! record that has several parts. [`stack`] and [`tool_spec`] are what scenarios and layers have in
//! common.
#![forbid(unsafe_code)]

pub mod layer;
pub mod record;
pub mod scenario;
pub mod stack;
pub mod state;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tool_spec;

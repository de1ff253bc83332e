//! What a run would do, found without doing it: what is there and what is missing, which stacks can
//! be up together, the steps that bring each set up, and what is written first. `iotax plan` prints
//! it, a run performs it.
//!
//! Modules: [`ready`] is the entry point. [`survey`], [`caches`], `foreign_image`,
//! `foreign_socket`: what is at the bottom of the stacks; [`layer_needs`]: what their layers
//! require. [`sets`], [`prefixes`], `conflict`: which stacks can be up together. [`set_plan`],
//! `ground`: the steps of a set; [`kept`]: those that stay up for the next set; [`transitions`]:
//! those between states of an array; [`write_unit`]: loads that a stack would refuse;
//! `dedup_memory`: tables that would not fit. [`unwritten`], [`passes`], [`trial_room`]: how much
//! first writes, preconditioning and durability trials write.
#![forbid(unsafe_code)]

pub mod caches;
mod conflict;
mod dedup_memory;
pub mod foreign_image;
mod foreign_socket;
pub mod ground;
pub mod kept;
pub mod layer_needs;
pub mod passes;
pub mod prefixes;
pub mod ready;
pub mod set_plan;
pub mod sets;
pub mod survey;
pub mod transitions;
pub mod trial_room;
pub mod unwritten;
pub mod write_unit;

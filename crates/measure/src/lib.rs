//! Measures stacks: brings them up, prepares workers in their places, runs slices in random rounds
//! until the answer is sure, and removes everything. This crate writes the record and prints
//! nothing.
//!
//! Modules: [`ready`], [`survey`]: what is there and what is missing. [`sets`], `prefixes`,
//! `conflict`: which stacks can be up together; [`plan`]: their steps. [`session`]: a run;
//! [`rounds`]: the order of slices for one workload and one set; [`visit_workers`]: one slice of
//! one stack; [`interference`], [`matched_rate`], `together`, `lost_places`: its special cases.
//! [`places`], `guests`, `remote_places`, `remote_setup`: where load runs and steps are performed.
//! [`first_writes`], [`preconditioning`], `steady_rounds`: writes before measuring; `read_back`:
//! reads to verify them. [`states`]: arrays in states. [`durability`]: trials. [`limit_courses`]:
//! courses of load, for limits. `place_facts`: what is recorded of places; [`announced_once`]: each
//! warning once; [`resume_state`]: what earlier parts of a resumed run did. [`observer`]: receives
//! progress events.
#![forbid(unsafe_code)]

pub mod announced_once;
pub mod caches;
mod clusters;
mod conflict;
pub mod durability;
pub mod first_writes;
mod foreign_image;
mod foreign_socket;
mod guests;
pub mod interference;
pub mod limit_courses;
mod lost_places;
pub mod matched_rate;
pub mod network_peer;
pub mod noise;
pub mod observer;
pub mod operator;
mod place_facts;
pub mod places;
pub mod plan;
pub mod preconditioning;
mod prefixes;
mod read_back;
pub mod ready;
mod remote_places;
mod remote_setup;
pub mod resume_state;
pub mod rounds;
pub mod series;
mod serving;
pub mod session;
pub mod sets;
pub mod states;
mod steady_rounds;
pub mod survey;
mod suspend;
mod together;
mod traffic;
mod turns;
pub mod visit_workers;
pub mod write_unit;

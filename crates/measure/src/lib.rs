//! Measures stacks: brings them up, prepares workers in their places, runs slices in random rounds
//! until the answer is sure, and removes everything. This crate writes the record and prints
//! nothing.
//!
//! Modules: [`session`]: a run; [`rounds`]: the order of slices for one workload and one set;
//! [`visit_workers`]: the workers of a visit; `slice_runs`: one slice of one stack; [`series`]:
//! short slices; [`interference`], [`matched_rate`], `together`, `lost_places`: special cases.
//! [`places`], `guests`, `remote_places`, `remote_look`, `remote_setup`: where load runs and steps
//! are performed. [`first_writes`], [`preconditioning`], `steady_rounds`: writes before measuring;
//! `read_back`: reads to verify them. [`states`]: arrays in states. [`durability`]: trials.
//! [`limit_courses`]: courses of load, for limits. `place_facts`: what is recorded of places;
//! [`announced_once`]: each warning once; [`resume_state`]: what earlier parts of a resumed run
//! did. [`observer`]: receives progress events. What a run would do is the crate `plan`.
#![forbid(unsafe_code)]

pub mod announced_once;
mod clusters;
pub mod durability;
pub mod first_writes;
mod guests;
mod handed_disks;
pub mod interference;
pub mod limit_courses;
mod lost_places;
pub mod matched_rate;
pub mod network_peer;
pub mod observer;
pub mod operator;
mod place_facts;
pub mod places;
pub mod preconditioning;
pub mod progress;
mod read_back;
mod remote_look;
mod remote_places;
mod remote_setup;
pub mod resume_state;
pub mod rounds;
pub mod series;
mod serving;
pub mod session;
mod session_run;
mod set_up;
mod slice_outcome;
mod slice_runs;
pub mod states;
mod steady_rounds;
mod suspend;
mod together;
mod trace;
mod traffic;
mod turns;
pub mod under_load;
pub mod visit_workers;
mod visits;

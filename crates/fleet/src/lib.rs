//! The same scenario on each host of a fleet. iotax brings no scheduler: OpenSSH, Slurm or
//! Kubernetes carries a task to each host, and the task's folder there decides what has happened.
#![forbid(unsafe_code)]

pub mod committed;
pub mod consent;
pub mod drive;
pub mod emit;
pub mod engine;
pub mod host_look;
pub mod host_state;
pub mod inventory;
pub mod outcome;
pub mod perform;
pub mod plan;
pub mod task;
pub mod together;

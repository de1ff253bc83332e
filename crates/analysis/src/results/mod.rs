//! Other results of a run: sweeps, service levels, durability, limits, verification, published
//! and imported figures, and the warnings.

pub(crate) mod article;
pub(crate) mod claims;
pub(crate) mod course;
pub(crate) mod crowd;
pub(crate) mod drives;
pub mod durability;
pub(crate) mod identity;
pub(crate) mod imported;
pub(crate) mod knee;
pub mod limits;
pub(crate) mod over_time;
pub(crate) mod published;
pub(crate) mod ratios;
pub mod slo;
pub(crate) mod sweep;
pub(crate) mod trace;
pub(crate) mod verification;
pub(crate) mod warnings;

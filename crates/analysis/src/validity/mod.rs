//! Causes that make a comparison unfair or a figure misleading, each with its evidence.

pub(crate) mod arc;
pub(crate) mod caveats;
pub(crate) mod confounders;
pub(crate) mod conservation;
pub(crate) mod doubts;
pub(crate) mod found_data;
pub(crate) mod generator;
pub(crate) mod machines;
pub(crate) mod neighbours;
pub(crate) mod resized;

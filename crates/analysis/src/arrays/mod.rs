//! Arrays and clusters in the states in which they were measured.

pub(crate) mod clusters;
pub(crate) mod rebuild;
pub(crate) mod states;

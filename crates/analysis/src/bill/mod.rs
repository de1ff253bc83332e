//! The bill of a stack: its prefixes, each against the one below, and what its layers report.

pub(crate) mod layers;
pub(crate) mod lines;

//! placeholder

use crate::Definition;

/// All of them.
pub const ALL: &[&Definition] = &[];

//! iotax's own probes: resident threads, each on a processor of its own, that do units of work for a slice.

use crate::Definition;

/// All of them.
pub const ALL: &[&Definition] = &[];

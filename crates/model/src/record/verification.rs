//! What a stack gave back of what a load with `verify` wrote to it, as it is recorded.

use iotax_facts::place::Place;
use iotax_load::Verified;
use serde::{Deserialize, Serialize};

/// Of one stack, visit and load, in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// The visit.
    pub visit: u32,
    /// The set.
    pub set: u32,
    /// Name of the workload.
    pub workload: String,
    /// Name of the stack.
    pub stack: String,
    /// Where the load ran.
    pub place: Place,
    /// What was found.
    pub found: Verified,
}

//! Record of reading back what a load with `verify` wrote to a stack.

use iotax_facts::place::Place;
use iotax_load::VerifiedWorker;
use serde::{Deserialize, Serialize};

/// Verification of one stack, visit and load, in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    pub visit: u32,
    pub set: u32,
    /// Name of the workload.
    pub workload: String,
    /// Name of the stack.
    pub stack: String,
    /// Place in which the load ran.
    pub place: Place,
    pub found: VerifiedWorker,
}

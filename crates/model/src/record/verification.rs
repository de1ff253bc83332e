//! Record of reading back what a load with `verify` wrote to a stack.

use iotax_facts::place::Place;
use iotax_load::VerifiedWorker;
use serde::{Deserialize, Serialize};

/// Verification of one stack, visit and load, in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    pub visit: u32,
    pub set: u32,
    pub workload: String,
    pub stack: String,
    pub place: Place,
    pub found: VerifiedWorker,
}

//! A step of a plan: an operation in a place.

use crate::op::Op;
use iotax_drivers::path_ref::StepId;
use iotax_facts::place::Place;
use serde::{Deserialize, Serialize};

/// Operation to perform in a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Position in the plan.
    pub id: StepId,
    pub place: Place,
    /// Purpose of the step, as a clause that completes `cannot ...`.
    pub why: String,
    pub op: Op,
}

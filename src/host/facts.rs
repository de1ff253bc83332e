//! Facts of a place, recorded with every run.

use serde::{Deserialize, Serialize};

/// What a place is. Unknown is `None`, never an empty word.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Name of the machine.
    pub hostname: Option<String>,
}

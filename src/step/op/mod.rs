//! ops
use serde::{Deserialize, Serialize};

/// One typed change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// Nothing.
    Nothing,
}

//! State of an array or another volume of several members, as the program that made it reports it,
//! for the record of a run.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ArrayState {
    Healthy,
    /// Members are missing, and no replacement is being filled.
    Degraded {
        missing: u32,
    },
    /// Members are to leave: their data moves to other members, and they serve it meanwhile.
    Out {
        members: u32,
    },
    /// Missing data is computed from the other members and written to the replacements.
    Rebuilding {
        /// Number of members that are not complete yet.
        missing: u32,
        /// Fraction that is done, 0 to 1.
        done: f64,
    },
    /// All members are there, and parity or copies are being computed or compared: the first sync,
    /// or a check.
    Syncing {
        /// Fraction that is done, 0 to 1.
        done: f64,
    },
    /// The array serves no data.
    Down {
        word: String,
    },
}

impl ArrayState {
    /// Returns the fraction of a rebuild that is done, 0 to 1, or `None` if no rebuild is running.
    pub fn rebuilt_fraction(&self) -> Option<f64> {
        match self {
            ArrayState::Rebuilding { done, .. } => Some(*done),
            _ => None,
        }
    }
}

impl std::fmt::Display for ArrayState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ArrayState::Healthy => write!(f, "healthy"),
            ArrayState::Degraded { missing } => write!(f, "degraded, {missing} missing"),
            ArrayState::Out { members } => write!(f, "{members} out"),
            ArrayState::Rebuilding { done, .. } => {
                write!(f, "rebuilding, {:.0} % done", done * 100.0)
            }
            ArrayState::Syncing { done } => write!(f, "syncing, {:.0} % done", done * 100.0),
            ArrayState::Down { word } => write!(f, "down ({word})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_told_and_kept_in_few_words() {
        let rebuilding = ArrayState::Rebuilding { missing: 1, done: 0.626 };
        assert_eq!(rebuilding.to_string(), "rebuilding, 63 % done");
        let kept = serde_json::to_string(&rebuilding).unwrap();
        assert_eq!(kept, r#"{"state":"rebuilding","missing":1,"done":0.626}"#);
        assert_eq!(serde_json::from_str::<ArrayState>(&kept).unwrap(), rebuilding);
        assert_eq!(serde_json::to_string(&ArrayState::Healthy).unwrap(), r#"{"state":"healthy"}"#);
    }
}

//! States that a stack is measured in one after the other: an array that is whole, that lacks members, that is being rebuilt.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// All members are in it and in sync.
    Healthy,
    /// So many members have failed, and nothing takes their place.
    Failed(u32),
    /// Failed members are back, and what they lack is computed and written to them.
    Rebuilding,
}

impl State {
    /// As it is written: `healthy`, `failed(1)`, `rebuilding`.
    ///
    /// # Errors
    /// What is known, where it is none.
    pub fn parse(word: &str) -> Result<State, String> {
        let failed = word.strip_prefix("failed(").and_then(|rest| rest.strip_suffix(')'));
        match (word, failed.map(|count| count.trim().parse::<u32>())) {
            ("healthy", _) => Ok(State::Healthy),
            ("rebuilding", _) => Ok(State::Rebuilding),
            (_, Some(Ok(count @ 1..))) => Ok(State::Failed(count)),
            _ => Err(format!("\"{word}\" is no state; known are healthy, failed(1), failed(2), rebuilding")),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Healthy => write!(f, "healthy"),
            State::Failed(count) => write!(f, "failed({count})"),
            State::Rebuilding => write!(f, "rebuilding"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_read_as_they_are_written() {
        for state in [State::Healthy, State::Failed(1), State::Failed(2), State::Rebuilding] {
            assert_eq!(State::parse(&state.to_string()), Ok(state));
        }
        for word in ["failed", "failed(0)", "failed(x)", "degraded", ""] {
            assert!(State::parse(word).unwrap_err().contains("known are healthy"), "{word}");
        }
    }
}

//! States that an array is put into on purpose, one after the other, and the words for them:
//! `["healthy", "failed(1)", "rebuilding", "healthy"]`. The state that is reported during a
//! measurement is an [`ArrayState`].

use iotax_facts::array::ArrayState;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A state that a scenario asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AskedState {
    /// All members are in the array and in sync.
    Healthy,
    /// The given number of members have failed and are out of the array.
    Failed(u32),
    /// The given number of members are out: they still serve their data while others receive copies
    /// of them.
    Out(u32),
    /// The failed members are back and being rebuilt.
    Rebuilding,
}

impl AskedState {
    /// Returns true if the current state is the one that was asked for. A rebuild that was complete
    /// before anybody looked does not match.
    pub fn matches_state(self, now: &ArrayState) -> bool {
        match (self, now) {
            (AskedState::Healthy, ArrayState::Healthy) => true,
            (AskedState::Failed(failed), ArrayState::Degraded { missing }) => failed == *missing,
            (AskedState::Out(out), ArrayState::Out { members }) => out == *members,
            (AskedState::Rebuilding, ArrayState::Rebuilding { .. }) => true,
            _ => false,
        }
    }
}

impl fmt::Display for AskedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskedState::Healthy => write!(f, "healthy"),
            AskedState::Failed(members) => write!(f, "failed({members})"),
            AskedState::Out(members) => write!(f, "out({members})"),
            AskedState::Rebuilding => write!(f, "rebuilding"),
        }
    }
}

impl FromStr for AskedState {
    type Err = String;

    fn from_str(text: &str) -> Result<AskedState, String> {
        // The parser also accepts a number with a sign.
        let of = |word: &str| {
            let count = text
                .strip_prefix(word)?
                .strip_prefix('(')?
                .strip_suffix(')')?
                .trim()
                .parse()
                .ok()?;
            (count > 0 && !text.contains('+')).then_some(count)
        };
        match text {
            "healthy" => Ok(AskedState::Healthy),
            "rebuilding" => Ok(AskedState::Rebuilding),
            _ => of("failed").map(AskedState::Failed).or_else(|| of("out").map(AskedState::Out)).ok_or_else(
                || {
                    format!(
                        "\"{text}\" is not a state; hint: states are healthy, failed(1), out(1), rebuilding"
                    )
                },
            ),
        }
    }
}

impl TryFrom<String> for AskedState {
    type Error = String;

    fn try_from(text: String) -> Result<AskedState, String> {
        text.parse()
    }
}

impl From<AskedState> for String {
    fn from(state: AskedState) -> String {
        state.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_as_they_are_shown() {
        let words = ["healthy", "failed(1)", "failed(2)", "rebuilding", "out(1)", "healthy"];
        let states: Vec<AskedState> = words.iter().map(|word| word.parse().unwrap()).collect();
        assert_eq!(
            states[1..5],
            [
                AskedState::Failed(1),
                AskedState::Failed(2),
                AskedState::Rebuilding,
                AskedState::Out(1)
            ]
        );
        let shown: Vec<String> = states.iter().map(ToString::to_string).collect();
        assert_eq!(shown, words);
        let kept = serde_json::to_string(&states).unwrap();
        assert_eq!(serde_json::from_str::<Vec<AskedState>>(&kept).unwrap(), states);
        for wrong in [
            "",
            "Healthy",
            "failed",
            "failed()",
            "failed(0)",
            "failed(-1)",
            "failed(+1)",
            "failed(x)",
            "out",
            "out(0)",
            "degraded",
        ] {
            let error = wrong.parse::<AskedState>().unwrap_err();
            assert!(error.contains(&format!("\"{wrong}\" is not a state; hint: ")), "{error}");
        }
    }

    #[test]
    fn what_the_kernel_tells_is_what_was_asked_for_or_not() {
        let rebuilding = ArrayState::Rebuilding { missing: 1, done: 0.5 };
        assert!(
            AskedState::Healthy.matches_state(&ArrayState::Healthy)
                && AskedState::Rebuilding.matches_state(&rebuilding)
        );
        assert!(AskedState::Failed(2).matches_state(&ArrayState::Degraded { missing: 2 }));
        assert!(!AskedState::Failed(1).matches_state(&ArrayState::Degraded { missing: 2 }));
        let out = ArrayState::Out { members: 1 };
        assert!(
            AskedState::Out(1).matches_state(&out)
                && !AskedState::Out(2).matches_state(&out)
                && !AskedState::Failed(1).matches_state(&out)
        );
        assert!(
            !AskedState::Rebuilding.matches_state(&ArrayState::Healthy)
                && !AskedState::Healthy.matches_state(&rebuilding)
        );
        assert!(!AskedState::Healthy.matches_state(&ArrayState::Syncing { done: 0.1 }));
    }
}

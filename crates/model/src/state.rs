//! States that an array is put into on purpose, one after the other, and the words for them: `["healthy", "failed(1)",
//! "rebuilding", "healthy"]`. What state it is in while it is measured, the kernel tells ([`ArrayState`]).

use iotax_facts::array::ArrayState;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A state that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum State {
    /// All members are in it and in sync.
    Healthy,
    /// So many members have failed and are out of it.
    Failed(u32),
    /// So many members are out: they serve what they hold, and others are to hold it.
    Out(u32),
    /// Those that failed are back and being rebuilt.
    Rebuilding,
}

impl State {
    /// Whether that is what was asked for. A rebuild may be through before anybody looks.
    pub fn holds(self, now: &ArrayState) -> bool {
        match (self, now) {
            (State::Healthy, ArrayState::Healthy) => true,
            (State::Failed(failed), ArrayState::Degraded { missing }) => failed == *missing,
            (State::Out(out), ArrayState::Out { members }) => out == *members,
            (State::Rebuilding, ArrayState::Rebuilding { .. }) => true,
            _ => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Healthy => write!(f, "healthy"),
            State::Failed(members) => write!(f, "failed({members})"),
            State::Out(members) => write!(f, "out({members})"),
            State::Rebuilding => write!(f, "rebuilding"),
        }
    }
}

impl FromStr for State {
    type Err = String;

    fn from_str(text: &str) -> Result<State, String> {
        // Of a number with a sign the parser knows too.
        let of = |word: &str| {
            let count = text.strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')')?.trim().parse().ok()?;
            (count > 0 && !text.contains('+')).then_some(count)
        };
        match text {
            "healthy" => Ok(State::Healthy),
            "rebuilding" => Ok(State::Rebuilding),
            _ => of("failed").map(State::Failed).or_else(|| of("out").map(State::Out)).ok_or_else(|| {
                format!("\"{text}\" is not a state; hint: states are healthy, failed(1), out(1), rebuilding")
            }),
        }
    }
}

impl TryFrom<String> for State {
    type Error = String;

    fn try_from(text: String) -> Result<State, String> {
        text.parse()
    }
}

impl From<State> for String {
    fn from(state: State) -> String {
        state.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_as_they_are_shown() {
        let words = ["healthy", "failed(1)", "failed(2)", "rebuilding", "out(1)", "healthy"];
        let states: Vec<State> = words.iter().map(|word| word.parse().unwrap()).collect();
        assert_eq!(states[1..5], [State::Failed(1), State::Failed(2), State::Rebuilding, State::Out(1)]);
        let shown: Vec<String> = states.iter().map(ToString::to_string).collect();
        assert_eq!(shown, words);
        let kept = serde_json::to_string(&states).unwrap();
        assert_eq!(serde_json::from_str::<Vec<State>>(&kept).unwrap(), states);
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
            let error = wrong.parse::<State>().unwrap_err();
            assert!(error.contains(&format!("\"{wrong}\" is not a state; hint: ")), "{error}");
        }
    }

    #[test]
    fn what_the_kernel_tells_is_what_was_asked_for_or_not() {
        let rebuilding = ArrayState::Rebuilding { missing: 1, done: 0.5 };
        assert!(State::Healthy.holds(&ArrayState::Healthy) && State::Rebuilding.holds(&rebuilding));
        assert!(State::Failed(2).holds(&ArrayState::Degraded { missing: 2 }));
        assert!(!State::Failed(1).holds(&ArrayState::Degraded { missing: 2 }));
        let out = ArrayState::Out { members: 1 };
        assert!(State::Out(1).holds(&out) && !State::Out(2).holds(&out) && !State::Failed(1).holds(&out));
        assert!(!State::Rebuilding.holds(&ArrayState::Healthy) && !State::Healthy.holds(&rebuilding));
        assert!(!State::Healthy.holds(&ArrayState::Syncing { done: 0.1 }));
    }
}

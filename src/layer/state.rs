//! States that an array is put into on purpose, one after the other, and the words for them: `["healthy", "failed(1)",
//! "rebuilding", "healthy"]`. What state it is in while it is measured, the kernel tells ([`ArrayState`]).

use crate::layer::Layer;
use crate::layer::catalog::with_states;
use crate::scenario::LayerSpec;
use crate::step::PathRef;
use crate::step::op::Op;
use crate::step::state::ArrayState;
use anyhow::{Result, anyhow, ensure};
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
    /// Those that failed are back and being rebuilt.
    Rebuilding,
}

impl State {
    /// Whether that is what was asked for. A rebuild may be through before anybody looks.
    pub fn holds(self, now: &ArrayState) -> bool {
        match (self, now) {
            (State::Healthy, ArrayState::Healthy) => true,
            (State::Failed(failed), ArrayState::Degraded { missing }) => failed == *missing,
            (State::Rebuilding, ArrayState::Rebuilding { .. }) => true,
            _ => false,
        }
    }
}

/// One step on the way from one state to the next, of members counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A member fails.
    Fail(usize),
    /// One that failed is back, and is rebuilt.
    Return(usize),
    /// The rebuild is waited for.
    Await,
}

/// The way from one state to the next, of an array that keeps its data when up to `least` members fail.
///
/// # Errors
/// When there is none, in words.
fn way(from: State, to: State, least: u32, what: &str) -> Result<Vec<Move>, String> {
    let back = |failed: u32| (0..failed as usize).map(Move::Return);
    match (from, to) {
        (_, State::Failed(failed)) if failed > least => {
            Err(format!("{to}: {what} loses data when more than {least} fail"))
        }
        (State::Healthy, State::Failed(failed)) => Ok((0..failed as usize).map(Move::Fail).collect()),
        (State::Failed(already), State::Failed(failed)) if already < failed => {
            Ok((already as usize..failed as usize).map(Move::Fail).collect())
        }
        (State::Failed(failed), State::Rebuilding) => Ok(back(failed).collect()),
        (State::Failed(failed), State::Healthy) => Ok(back(failed).chain([Move::Await]).collect()),
        (State::Rebuilding, State::Healthy) => Ok(vec![Move::Await]),
        _ => Err(format!(
            "an array that is {from} cannot become {to} next; hint: healthy, failed(1), failed(2), rebuilding, healthy"
        )),
    }
}

impl Move {
    /// What it is for, among so many members.
    fn told(self, count: usize) -> String {
        match self {
            Move::Fail(member) => format!("fail member {} of {count}", member + 1),
            Move::Return(member) => format!("rebuild member {} of {count}", member + 1),
            Move::Await => "wait for the rebuild".to_owned(),
        }
    }
}

/// What brings an array that a layer `made` of its `members` from one state to the next: each with what it is for.
///
/// # Errors
/// When there is no such way: which, why, and what would do.
pub fn transition(
    layer: &dyn Layer,
    spec: &LayerSpec,
    (made, members): (&PathRef, &[PathRef]),
    from: State,
    to: State,
) -> Result<Vec<(String, Op)>> {
    let (origin, count) = (&spec.origin, members.len());
    ensure!(
        layer.help().states.is_some(),
        "{origin}: \"{}\" has no members that could fail, so it is never {to}; hint: states are those of {}",
        spec.name,
        with_states()
    );
    let what = format!("{} of {count} members", spec.text());
    let way = way(from, to, (layer.help().redundancy)(spec, count), &what)
        .map_err(|why| anyhow!("{origin}: {why}"))?;
    way.into_iter().map(|step| Ok((step.told(count), layer.moved(spec, made, members, step)?))).collect()
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Healthy => write!(f, "healthy"),
            State::Failed(members) => write!(f, "failed({members})"),
            State::Rebuilding => write!(f, "rebuilding"),
        }
    }
}

impl FromStr for State {
    type Err = String;

    fn from_str(text: &str) -> Result<State, String> {
        let failed = || text.strip_prefix("failed(")?.strip_suffix(')')?.trim().parse().ok();
        match text {
            "healthy" => Ok(State::Healthy),
            "rebuilding" => Ok(State::Rebuilding),
            // Of a number with a sign the parser knows too.
            _ => match failed().filter(|members| *members > 0 && !text.contains('+')) {
                Some(members) => Ok(State::Failed(members)),
                None => {
                    Err(format!("\"{text}\" is no state; hint: states are healthy, failed(1), rebuilding"))
                }
            },
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
        let words = ["healthy", "failed(1)", "failed(2)", "rebuilding", "healthy"];
        let states: Vec<State> = words.iter().map(|word| word.parse().unwrap()).collect();
        assert_eq!(states[1..4], [State::Failed(1), State::Failed(2), State::Rebuilding]);
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
            "degraded",
        ] {
            let error = wrong.parse::<State>().unwrap_err();
            assert!(error.contains(&format!("\"{wrong}\" is no state; hint: ")), "{error}");
        }
    }

    #[test]
    fn what_the_kernel_tells_is_what_was_asked_for_or_not() {
        let rebuilding = ArrayState::Rebuilding { missing: 1, done: 0.5 };
        assert!(State::Healthy.holds(&ArrayState::Healthy) && State::Rebuilding.holds(&rebuilding));
        assert!(State::Failed(2).holds(&ArrayState::Degraded { missing: 2 }));
        assert!(!State::Failed(1).holds(&ArrayState::Degraded { missing: 2 }));
        assert!(!State::Rebuilding.holds(&ArrayState::Healthy) && !State::Healthy.holds(&rebuilding));
        assert!(!State::Healthy.holds(&ArrayState::Syncing { done: 0.1 }));
    }
}

//! The way of an array from one state to the next.

use crate::Layer;
use anyhow::{Result, anyhow, ensure};
use iotax_model::layer::with_states;
use iotax_model::scenario::LayerSpec;
pub use iotax_model::state::State;
use iotax_steps::PathRef;
use iotax_steps::op::Op;

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
        spec.help().is_some_and(|help| help.states.is_some()),
        "{origin}: \"{}\" has no members that could fail, so it is never {to}; hint: states are those of {}",
        spec.name,
        with_states()
    );
    let what = format!("{} of {count} members", spec.text());
    let way = way(from, to, spec.redundancy(count), &what).map_err(|why| anyhow!("{origin}: {why}"))?;
    way.into_iter().map(|step| Ok((step.told(count), layer.moved(spec, made, members, step)?))).collect()
}

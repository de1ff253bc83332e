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

/// A step of any array, or one of those whose members can be out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Move(Move),
    /// That member is out.
    Out(usize),
    /// It is in again.
    In(usize),
}

impl From<Move> for Change {
    fn from(step: Move) -> Change {
        Change::Move(step)
    }
}

/// The way from one state to the next, of an array that keeps its data when up to `least` members fail.
///
/// # Errors
/// When there is none, in words.
fn way(from: State, to: State, least: u32, what: &str) -> Result<Vec<Change>, String> {
    let moves = |steps: &mut dyn Iterator<Item = Move>| Ok(steps.map(Change::Move).collect());
    let back = |failed: u32| (0..failed as usize).map(Move::Return);
    match (from, to) {
        (_, State::Failed(failed) | State::Out(failed)) if failed > least => {
            Err(format!("{to}: {what} loses data when more than {least} fail"))
        }
        (State::Healthy, State::Failed(failed)) => moves(&mut (0..failed as usize).map(Move::Fail)),
        (State::Failed(already), State::Failed(failed)) if already < failed => {
            moves(&mut (already as usize..failed as usize).map(Move::Fail))
        }
        (State::Failed(failed), State::Rebuilding) => moves(&mut back(failed)),
        (State::Failed(failed), State::Healthy) => moves(&mut back(failed).chain([Move::Await])),
        (State::Rebuilding, State::Healthy) => moves(&mut [Move::Await].into_iter()),
        (State::Healthy, State::Out(out)) => Ok((0..out as usize).map(Change::Out).collect()),
        (State::Out(already), State::Out(out)) if already < out => {
            Ok((already as usize..out as usize).map(Change::Out).collect())
        }
        (State::Out(out), State::Healthy) => {
            Ok((0..out as usize).map(Change::In).chain([Move::Await.into()]).collect())
        }
        _ => Err(format!(
            "an array that is {from} cannot become {to} next; hint: healthy, failed(1), failed(2), rebuilding, healthy"
        )),
    }
}

impl Change {
    /// What it is for, among so many members.
    fn told(self, count: usize) -> String {
        match self {
            Change::Move(Move::Fail(member)) => format!("fail member {} of {count}", member + 1),
            Change::Move(Move::Return(member)) => format!("rebuild member {} of {count}", member + 1),
            Change::Move(Move::Await) => "wait for the rebuild".to_owned(),
            Change::Out(member) => format!("mark member {} of {count} out", member + 1),
            Change::In(member) => format!("mark member {} of {count} in again", member + 1),
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
    let op = |change| match change {
        Change::Move(step) => layer.moved(spec, made, members, step),
        Change::Out(at) => layer.put_out(spec, made, at, true),
        Change::In(at) => layer.put_out(spec, made, at, false),
    };
    way.into_iter().map(|change| Ok((change.told(count), op(change)?))).collect()
}

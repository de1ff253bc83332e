//! Plans the steps of an array from one state to the next.

use crate::Layer;
use anyhow::{Result, anyhow, ensure};
use iotax_drivers::path_ref::PathRef;
use iotax_model::layer::with_states;
use iotax_model::stack::LayerSpec;
pub use iotax_model::state::AskedState;
use iotax_steps::op::Op;

/// One step on the way from one state to the next; the number is the index of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateMove {
    Fail(usize),
    /// A failed member is back, and is rebuilt.
    Return(usize),
    /// Wait until the rebuild has ended.
    Await,
}

/// A step for any array, or (`Out`, `In`) for an array whose members can be marked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArrayStep {
    Move(StateMove),
    Out(usize),
    In(usize),
}

impl From<StateMove> for ArrayStep {
    fn from(step: StateMove) -> ArrayStep {
        ArrayStep::Move(step)
    }
}

/// Returns the steps from one state to the next, for an array that keeps its data when up to
/// `least` members fail. `what` names the array in errors.
///
/// # Errors
/// Says why there are no such steps.
fn steps_between(
    from: AskedState,
    to: AskedState,
    least: u32,
    what: &str,
) -> Result<Vec<ArrayStep>, String> {
    let moves =
        |steps: &mut dyn Iterator<Item = StateMove>| Ok(steps.map(ArrayStep::Move).collect());
    let back = |failed: u32| (0..failed as usize).map(StateMove::Return);
    match (from, to) {
        (_, AskedState::Failed(failed) | AskedState::Out(failed)) if failed > least => {
            Err(format!("{to}: {what} loses data when more than {least} fail"))
        }
        (AskedState::Healthy, AskedState::Failed(failed)) => {
            moves(&mut (0..failed as usize).map(StateMove::Fail))
        }
        (AskedState::Failed(already), AskedState::Failed(failed)) if already < failed => {
            moves(&mut (already as usize..failed as usize).map(StateMove::Fail))
        }
        (AskedState::Failed(failed), AskedState::Rebuilding) => moves(&mut back(failed)),
        (AskedState::Failed(failed), AskedState::Healthy) => {
            moves(&mut back(failed).chain([StateMove::Await]))
        }
        (AskedState::Rebuilding, AskedState::Healthy) => moves(&mut [StateMove::Await].into_iter()),
        (AskedState::Healthy, AskedState::Out(out)) => {
            Ok((0..out as usize).map(ArrayStep::Out).collect())
        }
        (AskedState::Out(already), AskedState::Out(out)) if already < out => {
            Ok((already as usize..out as usize).map(ArrayStep::Out).collect())
        }
        (AskedState::Out(out), AskedState::Healthy) => {
            Ok((0..out as usize).map(ArrayStep::In).chain([StateMove::Await.into()]).collect())
        }
        _ => Err(format!(
            "an array that is {from} cannot become {to} next; hint: healthy, failed(1), failed(2), rebuilding, healthy"
        )),
    }
}

impl ArrayStep {
    fn purpose_words(self, count: usize) -> String {
        match self {
            ArrayStep::Move(StateMove::Fail(member)) => {
                format!("fail member {} of {count}", member + 1)
            }
            ArrayStep::Move(StateMove::Return(member)) => {
                format!("rebuild member {} of {count}", member + 1)
            }
            ArrayStep::Move(StateMove::Await) => "wait for the rebuild".to_owned(),
            ArrayStep::Out(member) => format!("mark member {} of {count} out", member + 1),
            ArrayStep::In(member) => format!("mark member {} of {count} in again", member + 1),
        }
    }
}

/// Returns the operations that bring an array that a layer `made` of its `members` from one state
/// to the next, each with its purpose.
///
/// # Errors
/// Says which steps do not exist, why, and what would work.
pub fn transition(
    layer: &dyn Layer,
    spec: &LayerSpec,
    made: &PathRef,
    members: &[PathRef],
    from: AskedState,
    to: AskedState,
) -> Result<Vec<(String, Op)>> {
    let (origin, count) = (&spec.origin, members.len());
    ensure!(
        spec.catalog_entry().is_some_and(|help| help.states.is_some()),
        "{origin}: \"{}\" has no members that could fail, so it is never {to}; hint: states are those of {}",
        spec.name,
        with_states()
    );
    let what = format!("{} of {count} members", spec.layer_text());
    let way = steps_between(from, to, spec.survivable_failures(count), &what)
        .map_err(|why| anyhow!("{origin}: {why}"))?;
    let op = |change| match change {
        ArrayStep::Move(step) => layer.state_move_op(spec, made, members, step),
        ArrayStep::Out(at) => layer.put_out(spec, made, at, true),
        ArrayStep::In(at) => layer.put_out(spec, made, at, false),
    };
    way.into_iter().map(|change| Ok((change.purpose_words(count), op(change)?))).collect()
}

//! Steps that bring arrays which are up from one state into the next.

use super::set_plan::SetPlan;
use anyhow::{Context, Result, ensure};
use iotax_drivers::path_ref::StepId;
use iotax_layers::state::{self, AskedState};
use iotax_layers::{Array, layer_of};
use iotax_model::scenario::Scenario;
use iotax_steps::op::Op;
use iotax_steps::step::Step;
use std::collections::BTreeSet;

/// Returns the state that an array has before it is brought into the state of a stack: that of the
/// entry before it, or healthy. Fails for a stack without a state.
pub fn state_before(scenario: &Scenario, index: usize) -> Result<AskedState> {
    let at = scenario.stacks[index].state.as_ref().context("a stack without a state")?;
    let before = scenario.stacks.iter().filter_map(|stack| stack.state.as_ref());
    let mut before = before.filter(|other| other.of == at.of && other.position + 1 == at.position);
    Ok(before.next().map_or(AskedState::Healthy, |other| other.state))
}

/// Returns the steps that bring the stacks of a set from the previous state into their own, on the
/// layers that are up, each with the stack's index. Of several stacks on one array, the first
/// determines the steps.
///
/// # Errors
/// When a stack has no state or no array, or a layer has no steps between these states.
pub fn steps_into(
    scenario: &Scenario,
    up: &SetPlan,
    stacks: &[usize],
) -> Result<Vec<(usize, Vec<Step>)>> {
    let (mut arrays, mut all) = (BTreeSet::new(), Vec::new());
    for index in stacks {
        let at = scenario.stacks[*index].state.as_ref().context("a stack without a state")?;
        for (nth, array) in arrays_of(up, at.of)?.iter().enumerate() {
            if arrays.insert(array.step) {
                let from = state_before(scenario, *index)?;
                all.push((*index, transition(array, from, at.state, step_ids(up, *index, nth))?));
            }
        }
    }
    Ok(all)
}

/// Returns the id of the first step that changes the nth array of a stack. It is larger than the
/// ids of the steps that set the set up.
pub fn step_ids(up: &SetPlan, index: usize, nth: usize) -> StepId {
    up.steps.len() as StepId + 10_000 * (index as StepId + 1) + 100 * nth as StepId
}

pub fn transition(
    array: &Array,
    from: AskedState,
    to: AskedState,
    first: StepId,
) -> Result<Vec<Step>> {
    let layer = layer_of(&array.spec).context("a layer that nobody knows")?;
    let changes = state::transition(layer, &array.spec, &array.made, &array.members, from, to)?;
    let step = |(at, (why, op)): (usize, (String, Op))| Step {
        id: first + at as StepId,
        place: array.place.clone(),
        why,
        op: op.of_members(array.in_use),
    };
    Ok(changes.into_iter().enumerate().map(step).collect())
}

/// Returns the arrays of a stack.
///
/// # Errors
/// The stack has no array, or is not among the set's targets.
pub fn arrays_of(up: &SetPlan, stack: usize) -> Result<Vec<Array>> {
    let target = up.targets.iter().find(|(index, _)| *index == stack);
    let arrays = target.map(|(_, exposed)| exposed.arrays.clone()).unwrap_or_default();
    ensure!(!arrays.is_empty(), "a stack that has states and no array");
    Ok(arrays)
}

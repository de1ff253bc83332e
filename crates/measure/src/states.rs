//! Measures stacks in states: brings an array from one state into the next, and makes sure that it
//! stays there. The state is read before and after every slice. A slice in which the array left its
//! state counts nowhere, and is run again.

use super::observer::RunEvent;
use super::places::Places;
use super::session::{PlannedVisit, Session};
use super::under_load::StackUnderLoad;
use anyhow::{Context, Result};
use iotax_drivers::ceph::Cluster;
use iotax_drivers::path_ref::StepId;
use iotax_facts::array::ArrayState;
use iotax_facts::cluster::ClusterStatus;
use iotax_layers::state::AskedState;
use iotax_plan::set_plan::SetPlan;
use iotax_plan::sets::SetLayout;
use iotax_plan::transitions::{arrays_of, state_before, step_ids, steps_into, transition};
use iotax_steps::executor::Executor;
use iotax_steps::step::Step;
use iotax_units::exit::Failed;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Most times that an array that left its state is brought back for one slice. A rebuild that ends
/// within every slice cannot be measured.
pub const TRIES: u32 = 5;

/// Arrays of a stack, whose state is watched while the stack is measured.
struct WatchedArrays {
    state: AskedState,
    arrays: Vec<WatchedOne>,
}

struct WatchedOne {
    step: StepId,
    /// Configuration file of a cluster, whose whole reading is recorded. `None` for other arrays.
    cluster: Option<PathBuf>,
    /// Steps that bring the array back into its state, if that is one that ends by itself; else
    /// empty.
    again: Vec<Step>,
}

pub struct AfterSlice {
    pub state: ArrayState,
    /// True if that is the expected state.
    pub is_kept: bool,
    /// Configuration file and whole reading of a cluster; `None` for other arrays.
    pub cluster: Option<(PathBuf, ClusterStatus)>,
}

/// Keeps stacks in the states that they are measured in.
pub struct StateKeeper<'a> {
    executor: &'a mut Executor,
    watched: BTreeMap<usize, WatchedArrays>,
}

impl StateKeeper<'_> {
    /// Returns true if no stack has a state that it must keep.
    pub fn watches_none(&self) -> bool {
        self.watched.is_empty()
    }

    /// Brings a stack back into its state, if it has one and left it. Returns the number of bytes
    /// that this writes.
    ///
    /// # Errors
    /// When the state cannot be read or the stack cannot be brought back.
    pub fn before_slice(&mut self, stack: usize) -> Result<u64> {
        let Some(WatchedArrays { state, arrays }) = self.watched.get(&stack) else { return Ok(0) };
        let mut written = 0;
        for array in arrays {
            let (now, _) = array.current_state(self.executor)?;
            if state.matches_state(&now) {
                continue;
            }
            array.again.iter().try_for_each(|step| self.executor.perform_step(step).map(drop))?;
            let (then, _) = array.current_state(self.executor)?;
            if array.again.is_empty() || !state.matches_state(&then) {
                return Err(left_state_error(*state, &then).into());
            }
            written += array.again.iter().map(|step| step.op.bytes_below()).sum::<u64>();
        }
        Ok(written)
    }

    /// Returns the state of a stack after a slice; `None` if no state is expected. With several
    /// arrays, it is the state of the first that left its state, or else of the first.
    ///
    /// # Errors
    /// When the state of an array cannot be read.
    pub fn after_slice(&mut self, stack: usize) -> Result<Option<AfterSlice>> {
        let Some(WatchedArrays { state, arrays }) = self.watched.get(&stack) else {
            return Ok(None);
        };
        let mut first = None;
        for array in arrays {
            let (now, status) = array.current_state(self.executor)?;
            let is_kept = state.matches_state(&now);
            let after =
                AfterSlice { state: now, is_kept, cluster: array.cluster.clone().zip(status) };
            if !is_kept {
                return Ok(Some(after));
            }
            first.get_or_insert(after);
        }
        Ok(first)
    }
}

impl WatchedOne {
    /// Returns the state of the array, and for a cluster the whole reading.
    fn current_state(
        &self,
        executor: &mut Executor,
    ) -> Result<(ArrayState, Option<ClusterStatus>)> {
        let Some(conf) = &self.cluster else {
            return Ok((executor.state_of(self.step)?.context("an array without a state")?, None));
        };
        let status = Cluster { conf }.status()?;
        Ok((status.overall_state(), Some(status)))
    }
}

fn left_state_error(state: AskedState, now: &ArrayState) -> Failed {
    Failed::measurement(format!(
        "the array was to be {state} and is {now}; hint: look at the kernel's log of its place for a member that failed by itself"
    ))
}

impl Session<'_> {
    /// Brings the stacks of the next set of a chain into its state, on the layers that are up, and
    /// returns these stacks. `ready` has the stacks that the states are of.
    pub(super) fn in_next_state(
        &mut self,
        layout: &SetLayout,
        places: &Places,
        planned: PlannedVisit,
        up: &SetPlan,
        ready: &[StackUnderLoad],
    ) -> Result<Vec<StackUnderLoad>> {
        let stacks = &layout.sets[planned.set].stacks;
        for (index, steps) in steps_into(self.scenario, up, stacks)? {
            let stack = &self.scenario.stacks[index];
            let to = stack.state.as_ref().context("a stack without a state")?.state;
            let from = state_before(self.scenario, index)?;
            self.observer
                .notify(RunEvent::Phase { what: format!("{}: from {from} to {to}", stack.name) });
            self.perform_all(&steps)?;
        }
        let mut next = Vec::new();
        for index in stacks {
            let stack = &self.scenario.stacks[*index];
            let at = stack.state.as_ref().context("a stack without a state")?;
            let base = ready
                .iter()
                .find(|ready| ready.index == at.of)
                .context("a stack that is not up")?;
            // An array that is rebuilt has one more thread.
            let serving = self.threads_serving(places, up, at.of)?;
            next.push(StackUnderLoad {
                index: *index,
                stack: stack.name.clone(),
                serving,
                ..base.clone()
            });
        }
        Ok(next)
    }

    pub(super) fn watched_arrays(
        &self,
        up: &SetPlan,
        ready: &[StackUnderLoad],
    ) -> Result<BTreeMap<usize, WatchedArray>> {
        let mut watched = BTreeMap::new();
        for ready in ready {
            let Some(at) = &self.scenario.stacks[ready.index].state else { continue };
            let mut arrays = Vec::new();
            for (nth, array) in arrays_of(up, at.of)?.iter().enumerate() {
                let ids = step_ids(up, ready.index, nth);
                // A rebuild ends by itself: the same member fails again, and comes back.
                let again = match at.state {
                    AskedState::Rebuilding => {
                        let failed = state_before(self.scenario, ready.index)?;
                        let mut steps = transition(array, AskedState::Healthy, failed, ids)?;
                        steps.extend(transition(array, failed, AskedState::Rebuilding, ids)?);
                        steps
                    }
                    _ => Vec::new(),
                };
                let step = up.steps.iter().find(|step| step.id == array.step);
                let cluster = step.and_then(|step| step.op.operation().cluster_conf());
                arrays.push(WatchedOne { step: array.step, cluster, again });
            }
            watched.insert(ready.index, WatchedArray(WatchedArrays { state: at.state, arrays }));
        }
        Ok(watched)
    }
}

/// Arrays of one stack to be watched, until [`keeper`] makes a [`StateKeeper`] of them.
pub(super) struct WatchedArray(WatchedArrays);

pub(super) fn keeper(
    executor: &mut Executor,
    watched: BTreeMap<usize, WatchedArray>,
) -> StateKeeper<'_> {
    let watched = watched.into_iter().map(|(stack, array)| (stack, array.0)).collect();
    StateKeeper { executor, watched }
}

//! Back ends that stay up between visits. A volume that must be written before it is measured is
//! written once for the visits that follow each other on it, however it is exported in them.

use super::set_plan::{PlanGround, SetPlan};
use super::sets::StackSet;
use anyhow::Result;
use iotax_layers::layer_of;
use iotax_model::stack::{LayerRole, LayerSpec};

impl PlanGround<'_> {
    /// Returns the number of steps that make the back end of both sets, if that is written first;
    /// 0 if nothing stays up for `next`. All layers below the export, or whatever else is made
    /// anew, must be the same in both.
    pub fn kept_steps(&self, up: &SetPlan, next: &SetPlan) -> usize {
        let steps = up.back_end.as_ref().filter(|top| top.unwritten).map_or(0, |top| top.steps);
        let is_same =
            up.back_end == next.back_end && up.steps.get(..steps) == next.steps.get(..steps);
        if is_same { steps } else { 0 }
    }

    /// Returns a group number for each set. Sets of one group share a back end and are visited one
    /// after the other.
    ///
    /// # Errors
    /// As [`PlanGround::plan_set`].
    pub fn followers(&self) -> Result<Vec<usize>> {
        let sets = &self.layout.sets;
        let plans = sets.iter().map(|set| self.plan_set(set, 0)).collect::<Result<Vec<_>>>()?;
        let first = |at: usize| {
            (0..at).find(|other| self.kept_steps(&plans[*other], &plans[at]) > 0).unwrap_or(at)
        };
        Ok((0..sets.len()).map(first).collect())
    }

    /// Returns true if what is at the bottom of a set may stay up for another: it is one stack that
    /// changes no state, no person acts before it, and it is no durability trial.
    pub(super) fn may_stay_up(&self, set: &StackSet) -> bool {
        let scenario = self.scenario;
        let [index] = set.stacks[..] else { return false };
        let stack = &scenario.stacks[index];
        scenario.durability.is_none()
            && set.after.is_none()
            && stack.state.is_none()
            && scenario.operator_of(stack).is_none()
            && !scenario.trims()
            && stack.layers.iter().any(leads_away)
            && self.layout.sibling[index].is_none()
            && stack
                .layers
                .iter()
                .skip_while(|layer| !leads_away(layer))
                .all(|layer| layer_of(layer).is_some_and(|above| !above.writes_below(layer)))
    }
}

/// Returns true for a layer that is made anew for each visit: an export, a guest, or a cache, with
/// which a visit begins cold.
pub(super) fn leads_away(layer: &LayerSpec) -> bool {
    layer.catalog_entry().is_some_and(|help| help.fabric)
        || layer.has_role(LayerRole::Guest)
        || layer_of(layer).is_some_and(|known| known.begins_cold(layer))
}

//! Memory for the tables of ZFS pools with deduplication, where it is known before the run.

use super::set_plan::PlanGround;
use anyhow::Result;
use iotax_drivers::zfs;
use iotax_facts::place::Place;
use iotax_steps::op::Op;
use iotax_steps::step::Step;

impl PlanGround<'_> {
    /// Returns a sentence for each pool whose table does not fit into the ARC of its place.
    ///
    /// # Errors
    /// As [`PlanGround::plan_set`].
    pub fn dedup_obstacles(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for set in &self.layout.sets {
            let steps = self.plan_set(set, 0)?.steps;
            all.extend(steps.iter().filter_map(|step| self.dedup_obstacle(step, &steps)));
        }
        all.sort();
        all.dedup();
        Ok(all)
    }

    fn dedup_obstacle(&self, step: &Step, steps: &[Step]) -> Option<String> {
        let Op::MakeZpool(pool) = &step.op else { return None };
        let set_limit = steps.iter().find_map(|other| match &other.op {
            Op::LimitArc(limit) if other.place == step.place => Some(limit.bytes),
            _ => None,
        });
        let lab = self.scenario.labs.get(&step.place);
        let usual = match lab {
            Some(lab) => zfs::usual_limit(lab.memory),
            None if step.place == Place::Host => zfs::arc_limit_here(),
            None => return None,
        };
        let limit = set_limit.unwrap_or(usual);
        let error = zfs::check_dedup_table(pool.dedup_bytes?, pool.block(), limit).err()?;
        Some(format!("{}: {error:#}", step.place))
    }
}

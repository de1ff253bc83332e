//! Room for durability trials: how many there are, and how much each may write.

use super::set_plan::PlanGround;
use anyhow::Result;
use iotax_engines::durability::stamp::BLOCK;
use iotax_layers::guest::GuestPlan;
use iotax_model::scenario::{DurabilitySpec, Kill};
use iotax_units::exit::Failed;
use iotax_units::show_bytes;

/// Least number of blocks on the disk. With fewer, nearly all would be written in every trial.
const LEAST_BLOCKS: u64 = 1024;
/// Refuses trials that have no room: the disk is too small, or too little may be written.
///
/// # Errors
/// Bad input, with a hint at what to change.
pub fn check_room(
    spec: &DurabilitySpec,
    ground: &PlanGround,
    region: u64,
    left_to_write: Option<u64>,
) -> Result<()> {
    let least = LEAST_BLOCKS * BLOCK as u64;
    if region < least {
        return Err(Failed::input(format!(
            "durability trials write to {} at least, and the smallest stack offers {}; hint: a larger file",
            show_bytes(least),
            show_bytes(region)
        ))
        .into());
    }
    let trials = number_of_trials(spec, ground)?;
    if most_batches(spec, left_to_write, trials) == 0 {
        return Err(Failed::input(format!(
            "max_written leaves less than a batch for each of {trials} trials; hint: fewer trials, or a larger max_written"
        ))
        .into());
    }
    Ok(())
}

pub fn number_of_trials(spec: &DurabilitySpec, ground: &PlanGround) -> Result<u64> {
    let mut trials = 0;
    for set in &ground.layout.sets {
        let plan = ground.plan_set(set, 0)?;
        trials += plan.guests.iter().map(|guest| kills_of(spec, guest).len() as u64).sum::<u64>();
    }
    Ok(trials * u64::from(spec.trials))
}

/// Returns the number of batches that each trial may write; unlimited without `left_to_write`. The
/// bytes that are left are shared out in advance, since it is not known what a killed writer wrote
/// beyond its last acknowledgement.
pub fn most_batches(spec: &DurabilitySpec, left_to_write: Option<u64>, trials: u64) -> u64 {
    let batch = u64::from(spec.batch) * BLOCK as u64;
    left_to_write.map_or(u64::MAX, |left| left / trials.max(1) / batch)
}
/// Returns the kills for a guest: those that were asked for, or else all that the guest has.
pub fn kills_of(spec: &DurabilitySpec, guest: &GuestPlan) -> Vec<Kill> {
    let has = |kill: &Kill| *kill != Kill::Daemon || !guest.daemons.is_empty();
    match spec.kills.is_empty() {
        true => Kill::ALL.into_iter().filter(has).collect(),
        false => spec.kills.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_qemu::command_line::Memory;

    #[test]
    fn a_guest_is_killed_in_every_way_that_it_has_unless_some_are_named() {
        let spec = DurabilitySpec::default();
        let guest = GuestPlan::made_up("vm0", Memory::plain_memory(1 << 28));
        assert_eq!(kills_of(&spec, &guest), [Kill::Guest, Kill::Qemu]);
        let named = DurabilitySpec { kills: vec![Kill::Qemu], ..spec };
        assert_eq!(kills_of(&named, &guest), [Kill::Qemu]);
    }
}

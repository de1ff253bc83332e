//! Checks loads on stacks that take only writes of whole multiples of a write unit, as those on
//! SPDK's raid5f do: raid5f never reads the blocks that it would need for the parity of less than a
//! stripe. Loads that would only meet errors there are refused before anything is made.

use super::unwritten::BLOCK;
use anyhow::{Result, bail};
use iotax_layers::ExposedDevice;
use iotax_model::scenario::Scenario;
use iotax_model::stack::{LayerSpec, Stack};
use iotax_units::exit::Failed;
use iotax_units::show_bytes;

/// Refuses a layer that writes blocks of its own above a device with a write unit; `writes` is true
/// if it does.
///
/// # Errors
/// The layer writes, and the device below has a write unit.
pub fn check_above(spec: &LayerSpec, writes: bool, below: &ExposedDevice) -> Result<()> {
    let Some(unit) = below.write_unit.filter(|_| writes) else { return Ok(()) };
    bail!(
        "{}: {} writes blocks of its own, and what is below takes writes of whole multiples of {} only; hint: raid1, or raid0",
        spec.origin,
        spec.name,
        show_bytes(unit)
    )
}

/// Checks that the scenario writes only whole multiples of the stack's write unit.
///
/// # Errors
/// Bad input naming the unit, and the job if it is about one.
pub fn check_write_unit(scenario: &Scenario, stack: &Stack, exposed: &ExposedDevice) -> Result<()> {
    let Some(unit) = exposed.write_unit else { return Ok(()) };
    let refuse = |what: String, hint: String| {
        let unit = show_bytes(unit);
        Err(Failed::input(format!(
            "{}: {what}, and it takes writes of whole multiples of {unit} only, a full stripe, and fails all others; hint: {hint}",
            stack.text
        ))
        .into())
    };
    if scenario.durability.is_some() {
        return refuse(
            "durability trials write blocks of their own".into(),
            "raid1, or raid0".into(),
        );
    }
    if exposed.unwritten.is_some() && BLOCK % unit != 0 {
        return refuse(
            format!("what was never written is written first, {} at a time", show_bytes(BLOCK)),
            "another number of members, so that a full stripe is a power of two".into(),
        );
    }
    let jobs = scenario.workloads.iter().flat_map(|workload| &workload.jobs);
    for job in jobs.filter(|job| job.rw.writes()) {
        if [job.bs, job.offset, job.offset_increment].iter().any(|bytes| bytes % unit != 0) {
            let offset = if job.offset == 0 {
                String::new()
            } else {
                format!(" from {} on", show_bytes(job.offset))
            };
            return refuse(
                format!("job \"{}\" writes blocks of {}{offset}", job.name, show_bytes(job.bs)),
                format!("bs={}, or a smaller strip-size", unit),
            );
        }
    }
    Ok(())
}

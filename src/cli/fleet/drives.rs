//! `iotax fleet drives`: the drives of each host, as a table for --consent.

use super::super::output::{say, say_aside};
use super::super::stop;
use super::hosts::HostsArgs;
use super::run::temporary_fleet;
use anyhow::Result;
use iotax_fleet::consent::row_of_drives;
use iotax_fleet::drive::look_at_hosts;
use iotax_fleet::engine::{FleetRun, engine_of};
use iotax_fleet::host_look::LookPurpose;
use iotax_fleet::plan::{FleetFolder, FleetPlan, PlannedHost};
use iotax_units::exit::{DONE, Failed, MEASUREMENT_FAILED};
use std::path::Path;
use std::time::Duration;

pub const EXAMPLES: &str = "Examples:
  iotax fleet drives --hosts hosts.txt > drives.toml
      then uncomment drives: iotax fleet run writes.toml --hosts hosts.txt --consent drives.toml";

const HEADING: &str = "\
# To let iotax write a drive, remove the # before its line below `destroy`. All data on it will be
# lost. If the scenario has [device.NAME], also remove the # before the drive's line below `device`,
# and write NAME for drive1.
";

/// Prints the table. Returns the exit code, 4 if a host did not answer.
///
/// # Errors
/// Bad input in the hosts.
pub fn run(args: &HostsArgs, fleets: &Path) -> Result<u8> {
    let (hosts, engine) = args.chosen()?;
    let hosts = hosts
        .into_iter()
        .map(|host| PlannedHost { host, scenario: 0, consent: Vec::new() })
        .collect();
    let plan = FleetPlan { hosts, ..FleetPlan::new(&args.hosts, engine, args.parallel) };
    let temporary = temporary_fleet(fleets)?;
    let folder = FleetFolder::create(temporary.path(), &plan).map_err(Failed::from)?;
    let (engine, stop) = (engine_of(&plan)?, stop::flag()?);
    let fleet = FleetRun {
        plan: &plan,
        folder: &folder,
        stop: &stop,
        consent_renewed: false,
        patience: Duration::ZERO,
    };
    let chosen: Vec<&PlannedHost> = plan.hosts.iter().collect();
    let looks = look_at_hosts(&fleet, engine.as_ref(), &chosen, LookPurpose::Drives)?;
    let mut code = DONE;
    say(HEADING)?;
    for (planned, look) in chosen.iter().zip(&looks) {
        let name = &planned.host.name;
        match look {
            Ok(look) => say(&format!("\n{}", row_of_drives(name, &look.drives)))?,
            Err(report) => {
                let why = report.why.as_deref().unwrap_or_default();
                say(&format!("\n[{name}]  # {why}\n"))?;
                say_aside(&format!("{name}: {why}"));
                code = MEASUREMENT_FAILED;
            }
        }
    }
    Ok(code)
}

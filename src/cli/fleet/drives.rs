//! `iotax fleet drives`: the drives of each host, as a table for --consent.

use super::super::output::{say, say_aside};
use super::super::stop;
use super::hosts::HostsArgs;
use super::run::temporary_fleet;
use anyhow::Result;
use iotax_fleet::consent::row_of_drives;
use iotax_fleet::drive::look_at_hosts;
use iotax_fleet::engine::{FleetRun, engine_of};
use iotax_fleet::plan::{FleetFolder, FleetPlan, PlannedHost};
use iotax_units::exit::{DONE, Failed, MEASUREMENT_FAILED};
use std::path::Path;
use std::time::Duration;

const HEADING: &str = "\
# To let iotax write a drive, remove the first # of its line below `destroy`: all data on it is lost.
# `device` gives the [device.NAME] of a scenario their paths on each host: remove the first #, too.
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
    let looks = look_at_hosts(&fleet, engine.as_ref(), &chosen, false)?;
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

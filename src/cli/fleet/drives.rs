//! `iotax fleet drives`: the drives of each host, as a table for --consent.

use super::super::output::{say, say_aside};
use super::super::stop;
use super::hosts::HostsArgs;
use super::run::temporary_fleet;
use anyhow::Result;
use iotax_fleet::drive::look_at_hosts;
use iotax_fleet::engine::{FleetRun, engine_of};
use iotax_fleet::plan::{FleetFolder, FleetPlan, PlannedHost};
use iotax_units::exit::{DONE, Failed, MEASUREMENT_FAILED};
use iotax_units::show_bytes;
use std::path::Path;
use std::time::Duration;

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
    say("# Remove the first # of each drive that iotax may write: all data on it is lost.\n")?;
    for (planned, look) in chosen.iter().zip(&looks) {
        say(&format!("\n[{}]\ndestroy = [\n", planned.host.name))?;
        match look {
            Ok(look) => {
                for drive in &look.drives {
                    let is_shared =
                        look.drives.iter().filter(|other| other.serial == drive.serial).count() > 1;
                    let own = drive.serial.as_deref().filter(|_| !is_shared || drive.wwn.is_none());
                    let serial = own.or(drive.wwn.as_deref()).unwrap_or_default();
                    let model = drive.model.as_deref().unwrap_or("unknown model");
                    let in_use = drive.in_use.as_ref().map(|why| format!(", IN USE: {why}"));
                    let in_use = in_use.unwrap_or_default();
                    let about =
                        format!("{}, {model}, {}{in_use}", drive.path, show_bytes(drive.bytes));
                    say(&format!("  # {:?},  # {about}\n", format!("serial={serial}")))?;
                }
            }
            Err(report) => {
                let why = report.why.as_deref().unwrap_or_default();
                say(&format!("  # {why}\n"))?;
                say_aside(&format!("{}: {why}", planned.host.name));
                code = MEASUREMENT_FAILED;
            }
        }
        say("]\n")?;
    }
    Ok(code)
}

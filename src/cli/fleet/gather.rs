//! `iotax fleet gather`: takes results that are there.

use super::super::output::say;
use super::host_lines::{state_lines, typed_fleet};
use super::input::folder_input;
use super::run::OpenFleet;
use anyhow::Result;
use iotax_fleet::host_state::{HostReport, HostState};
use iotax_fleet::plan::{EngineChoice, PLAN, PlannedHost, find_fleet};
use iotax_units::exit::{DONE, MEASUREMENT_FAILED};
use iotax_units::shell;
use std::path::Path;

#[derive(clap::Args)]
pub struct GatherArgs {
    /// The fleet: its id or a part of it, its folder, `last`, or a folder of packed runs
    /// (HOST.iotax)
    fleet: String,
}

/// Gathers the results of a fleet.
///
/// # Errors
/// Bad input.
pub fn run(args: &GatherArgs, fleets: &Path) -> Result<u8> {
    let folder = find_fleet(fleets, &args.fleet)?;
    if !folder.join(PLAN).exists() {
        return gather_packed(&folder);
    }
    let opened = OpenFleet::find(fleets, &args.fleet)?;
    let reports = match opened.plan.engine {
        EngineChoice::Emitted => {
            opened.plan.hosts.iter().map(|planned| whole_report(&opened, planned)).collect()
        }
        _ => opened.ask_all()?,
    };
    say(&state_lines(&opened.names(), &reports, opened.folder.path(), usize::MAX))?;
    let all_done = reports.iter().all(|report| report.state == HostState::Done);
    Ok(if all_done { DONE } else { MEASUREMENT_FAILED })
}

/// Checks the packed runs in a folder, whoever made them.
fn gather_packed(folder: &Path) -> Result<u8> {
    let input = folder_input(folder)?;
    let broken: Vec<_> = input.hosts.iter().filter(|host| host.figures.is_none()).collect();
    let done = input.hosts.len() - broken.len();
    say(&format!("{done} of {} hosts done\n", input.hosts.len()))?;
    for host in &broken {
        say(&format!("  {}: {}\n", host.host, host.why.as_deref().unwrap_or_default()))?;
    }
    say(&format!("to see which host differs: iotax fleet report {}\n", shell::path(folder)))?;
    Ok(if broken.is_empty() { DONE } else { MEASUREMENT_FAILED })
}

/// Returns the report of a host whose files somebody else has put there: they must be whole.
fn whole_report(opened: &OpenFleet, planned: &PlannedHost) -> HostReport {
    let broken = |why: String| {
        HostReport::new(
            HostState::Unknown,
            why,
            format!("fetch its files again, then: {}", typed_fleet("gather", opened.folder.path())),
        )
    };
    let folder = match opened.folder.host(&planned.host.name) {
        Ok(folder) => folder,
        Err(error) => return broken(error.to_string()),
    };
    match folder.newest_outcome() {
        Ok(Some((attempt, outcome))) => match outcome.check_files(&attempt) {
            Ok(()) => HostReport::from_outcome(&outcome),
            Err(why) => broken(why),
        },
        Ok(None) => HostReport::new(
            HostState::Unknown,
            "there is no result: its task has not ended, or its files were not fetched",
            "see whether its task runs, and fetch its files",
        ),
        Err(error) => broken(error.to_string()),
    }
}

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
    let reports = opened.current_reports()?;
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

impl OpenFleet {
    /// Returns the states of all hosts now: asks each, or reads what another tool has put there.
    ///
    /// # Errors
    /// The engine cannot be used.
    pub fn current_reports(&self) -> Result<Vec<HostReport>> {
        match self.plan.engine {
            EngineChoice::Emitted => {
                Ok(self.plan.hosts.iter().map(|planned| self.emitted_report(planned)).collect())
            }
            _ => self.ask_all(),
        }
    }

    /// Returns the report of a host whose files another tool puts there: they must be whole.
    fn emitted_report(&self, planned: &PlannedHost) -> HostReport {
        let gather = typed_fleet("gather", self.folder.path());
        let broken = |why: String| {
            let next = format!("fetch its files again, then: {gather}");
            HostReport::new(HostState::Unknown, why, next)
        };
        let folder = match self.folder.host(&planned.host.name) {
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
                "there is no result yet; another tool runs this fleet",
                format!(
                    "when its task has ended, fetch attempt-1 into {}, then: {gather}",
                    shell::path(folder.path())
                ),
            ),
            Err(error) => broken(error.to_string()),
        }
    }
}

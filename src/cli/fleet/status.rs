//! `iotax fleet status`, `cancel` and `clean`.

use super::super::output::{say, say_aside};
use super::super::stop;
use super::host_lines::{state_lines, typed_fleet};
use super::hosts::PatienceArgs;
use super::run::OpenFleet;
use anyhow::Result;
use iotax_fleet::drive::{cancel_hosts, clean_hosts};
use iotax_fleet::engine::engine_of;
use iotax_fleet::host_state::{HostReport, count_hosts};
use iotax_fleet::plan::{EngineChoice, FleetFolder, FleetPlan, PlannedHost, list_fleets};
use iotax_units::exit::{DONE, Failed, UNDO_INCOMPLETE};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

#[derive(clap::Args)]
pub struct StatusArgs {
    /// The fleet: its id or a part of it, its folder, or `last` [default: list the fleets]
    fleet: Option<String>,
    /// Print a JSON array with an object for each host
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct ChosenArgs {
    /// The fleet: its id or a part of it, its folder, or `last`
    fleet: String,
    /// Choose hosts and groups: "rack1,db*"; "!node7" leaves out
    #[arg(long, value_name = "PATTERN,...")]
    limit: Option<String>,
}

#[derive(clap::Args)]
pub struct CancelArgs {
    #[command(flatten)]
    chosen: ChosenArgs,
    #[command(flatten)]
    patience: PatienceArgs,
}

/// State of a host for programs. Within a version, fields are only added.
#[derive(Serialize)]
struct ListedHost<'a> {
    host: &'a str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<&'a str>,
}

impl<'a> ListedHost<'a> {
    fn new((host, report): (&&'a str, &'a HostReport)) -> ListedHost<'a> {
        let state = report.state.word();
        ListedHost { host, state, why: report.why.as_deref(), next: report.next.as_deref() }
    }
}

/// Prints the state of each host, or the list of fleets.
///
/// # Errors
/// Bad input: there is no such fleet.
pub fn run(args: &StatusArgs, fleets: &Path) -> Result<u8> {
    let Some(word) = &args.fleet else { return list(fleets) };
    let opened = OpenFleet::find(fleets, word)?;
    let reports = opened.current_reports()?;
    let names = opened.names();
    if args.json {
        let listed: Vec<ListedHost> = names.iter().zip(&reports).map(ListedHost::new).collect();
        say(&iotax_report::json::document_text(&listed))?;
        return Ok(DONE);
    }
    let is_open = reports.iter().any(|report| !report.state.is_final());
    let is_driven = opened.folder.lock().map_err(Failed::from)?.is_none();
    if is_open && !is_driven && opened.plan.engine != EngineChoice::Emitted {
        let resume = typed_fleet("resume", opened.folder.path());
        say_aside(&format!("no iotax drives this fleet now; to go on: {resume}"));
    }
    say(&format!(
        "fleet {}: {}",
        opened.plan.id,
        state_lines(&names, &reports, opened.folder.path(), usize::MAX)
    ))?;
    Ok(DONE)
}

fn list(fleets: &Path) -> Result<u8> {
    let ids = list_fleets(fleets);
    if ids.is_empty() {
        say(&format!(
            "no fleets in {}\nto make one: iotax fleet run SCENARIO --hosts FILE\n",
            fleets.display()
        ))?;
    }
    for id in ids {
        let line = match FleetFolder::open(&fleets.join(&id)) {
            Ok((folder, plan)) => {
                let reports = folder.reports(&plan).map_err(Failed::from)?;
                format!(
                    "{id}  {}  ({})",
                    count_hosts(reports.iter().map(|report| report.state)),
                    plan.source
                )
            }
            Err(error) => format!("{id}  {error}"),
        };
        say(&(line + "\n"))?;
    }
    Ok(DONE)
}

/// Returns the hosts of the plan that fit.
///
/// # Errors
/// Bad input: a pattern matches nothing.
fn limited<'a>(plan: &'a FleetPlan, limit: Option<&str>) -> Result<Vec<&'a PlannedHost>> {
    let Some(patterns) = limit else { return Ok(plan.hosts.iter().collect()) };
    let hosts = plan.hosts.iter().map(|planned| planned.host.clone()).collect();
    let kept = iotax_fleet::inventory::limit_hosts(hosts, patterns)?;
    Ok(plan.hosts.iter().filter(|planned| kept.contains(&planned.host)).collect())
}

/// Cancels the tasks of a fleet, and gathers what they measured.
///
/// # Errors
/// Bad input.
pub fn cancel(args: &CancelArgs, fleets: &Path) -> Result<u8> {
    let opened = OpenFleet::find(fleets, &args.chosen.fleet)?;
    let (engine, stop) = (engine_of(&opened.plan)?, stop::flag()?);
    let fleet = opened.fleet_run(&stop, args.patience.patience);
    let chosen = limited(&opened.plan, args.chosen.limit.as_deref())?;
    let is_driven = opened.folder.lock().map_err(Failed::from)?.is_none();
    if is_driven && args.chosen.limit.is_none() {
        // It cancels its hosts itself, and starts no further ones.
        opened.folder.request_stop().map_err(Failed::from)?;
    }
    let untold = cancel_hosts(&fleet, engine.as_ref(), &chosen);
    for (planned, report) in chosen.iter().zip(&untold) {
        if let Some(report) = report {
            say(&state_lines(
                &[&planned.host.name],
                std::slice::from_ref(report),
                opened.folder.path(),
                1,
            ))?;
        }
    }
    if is_driven {
        let status = typed_fleet("status", opened.folder.path());
        say(&format!(
            "the running `iotax fleet run` stops the tasks and gathers what was measured; to look: {status}\n"
        ))?;
        return Ok(DONE);
    }
    let begun: Vec<&PlannedHost> = chosen
        .iter()
        .zip(&untold)
        .filter(|(planned, untold)| untold.is_none() && opened.is_under_way(planned))
        .map(|(planned, _)| *planned)
        .collect();
    opened.carry_out(engine.as_ref(), &begun, false, args.patience.patience, fleets)
}

/// Cleans the hosts of a fleet. Returns the exit code, 5 if something is left.
///
/// # Errors
/// Bad input.
pub fn clean(args: &ChosenArgs, fleets: &Path) -> Result<u8> {
    let opened = OpenFleet::find(fleets, &args.fleet)?;
    let (engine, stop) = (engine_of(&opened.plan)?, stop::flag()?);
    let fleet = opened.fleet_run(&stop, Duration::ZERO);
    let chosen = limited(&opened.plan, args.limit.as_deref())?;
    let cleaned = clean_hosts(&fleet, engine.as_ref(), &chosen);
    let clean = cleaned.iter().filter(|one| one.is_ok()).count();
    say(&format!("{clean} of {} hosts clean\n", cleaned.len()))?;
    for (planned, result) in chosen.iter().zip(&cleaned) {
        if let Err(why) = result {
            say(&format!("  {}: {why}\n", planned.host.name))?;
        }
    }
    Ok(if clean == cleaned.len() { DONE } else { UNDO_INCOMPLETE })
}

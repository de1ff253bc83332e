//! `iotax fleet plan`: what `run` would do, and whether each host is ready for it.

use super::super::output::{columns, hanging_paragraph, say};
use super::super::plan::run_words;
use super::super::stop;
use super::run::{FleetRequest, OpenFleet, temporary_fleet};
use anyhow::Result;
use iotax_fleet::drive::look_at_hosts;
use iotax_fleet::engine::engine_of;
use iotax_fleet::host_look::{HostLook, LookPurpose};
use iotax_fleet::host_state::HostReport;
use iotax_fleet::inventory::first_names;
use iotax_fleet::plan::{EngineChoice, FleetFolder, FleetPlan, PlannedHost};
use iotax_units::count_noun;
use iotax_units::exit::{DONE, Failed, UNMET_NEED};
use iotax_units::harmless::lines;
use std::path::Path;
use std::time::Duration;

#[derive(clap::Args)]
pub struct PlanArgs {
    #[command(flatten)]
    request: FleetRequest,
}

/// Prints what `run` would do. Each host looks at its drives, and plans its task.
///
/// # Errors
/// Bad input, as of `run`.
pub fn run(args: &PlanArgs, fleets: &Path) -> Result<u8> {
    let plan = args.request.plan()?;
    let temporary = temporary_fleet(fleets)?;
    let folder = FleetFolder::create(temporary.path(), &plan).map_err(Failed::from)?;
    let engine = engine_of(&plan)?;
    let opened = OpenFleet { plan, folder };
    let stop = stop::flag()?;
    let chosen: Vec<&PlannedHost> = opened.plan.hosts.iter().collect();
    let fleet = opened.fleet_run(&stop, Duration::ZERO);
    say(&effort_line(&opened.plan))?;
    let purpose = LookPurpose::Plan(columns());
    let looks = look_at_hosts(&fleet, engine.as_ref(), &chosen, purpose)?;
    let first = chosen.iter().zip(&looks).find_map(|(planned, look)| {
        let plan = look.as_ref().ok()?.plan.as_ref()?;
        (!plan.text.is_empty()).then_some((&planned.host.name, &plan.text))
    });
    if let Some((name, text)) = first {
        say(&format!("\non {name}:\n{}", lines(text)))?;
    }
    say("\n")?;
    let mut ready = 0;
    let mut outlooks: Vec<(String, Vec<&str>)> = Vec::new();
    for (planned, look) in chosen.iter().zip(&looks) {
        let fault = not_ready(planned, look, opened.plan.engine == EngineChoice::Here);
        ready += usize::from(fault.is_none());
        let words = fault.unwrap_or_else(|| ready_words(planned));
        let name = planned.host.name.as_str();
        match outlooks.iter_mut().find(|(other, _)| *other == words) {
            Some((_, names)) => names.push(name),
            None => outlooks.push((words, vec![name])),
        }
    }
    for (words, names) in outlooks {
        let first = format!("{}: ", first_names(names));
        say(&hanging_paragraph(&first, &words, columns()))?;
    }
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let next = run_words(words.collect());
    let then = if ready == chosen.len() { "to start" } else { "when all are" };
    say(&format!("\n{ready} of {} hosts are ready; {then}: {next}\n", chosen.len()))?;
    Ok(if ready == chosen.len() { DONE } else { UNMET_NEED })
}

fn ready_words(planned: &PlannedHost) -> String {
    let serials = planned.consent.iter().map(|consent| consent.serial.as_str());
    let serials = serials.collect::<Vec<_>>().join(", ");
    match serials.is_empty() {
        true => "ready".to_owned(),
        false => format!("ready; all data on {serials} may be lost"),
    }
}

/// Returns why a host cannot carry its task out; `None` if nothing is known against it. A group's
/// drives are those of other hosts.
fn not_ready(
    planned: &PlannedHost,
    look: &Result<HostLook, HostReport>,
    is_group: bool,
) -> Option<String> {
    let look = match look {
        Ok(look) => look,
        Err(report) => {
            let why = report.why.as_deref().unwrap_or_default();
            return Some(format!("{}: {why}", report.state.word()));
        }
    };
    let missing = look.missing_drives(&planned.consent).join(", ");
    if !missing.is_empty() && !is_group {
        let hint = "hint: correct its row (iotax fleet drives lists the drives)";
        return Some(format!("it has no drive {missing}; {hint}"));
    }
    look.plan.as_ref()?.why.clone()
}

/// Returns the number of hosts, what carries the tasks, and in how many turns.
fn effort_line(plan: &FleetPlan) -> String {
    let hosts = match plan.engine {
        EngineChoice::Here => count_noun(plan.hosts.len() as u64, "group", "groups"),
        _ => count_noun(plan.hosts.len() as u64, "host", "hosts"),
    };
    let parallel = plan.parallel.min(plan.hosts.len());
    let turns = count_noun(plan.hosts.len().div_ceil(plan.parallel) as u64, "turn", "turns");
    format!("{hosts} by {}, {parallel} at a time: {turns}\n", plan.engine.word())
}

//! `iotax fleet run` and `resume`.

use super::super::asked::MeasureArgs;
use super::super::output::{say, say_aside};
use super::super::stop;
use super::host_lines::{HostPrinter, state_lines, typed_fleet};
use super::hosts::{HostsArgs, PatienceArgs};
use super::report::print_answer;
use anyhow::Result;
use iotax_fleet::committed::make_folder;
use iotax_fleet::consent::ConsentTable;
use iotax_fleet::drive::{ask_hosts, carry_out};
use iotax_fleet::engine::{FleetEngine, FleetRun, engine_of};
use iotax_fleet::host_state::{HostReport, HostState};
use iotax_fleet::inventory::FleetHost;
use iotax_fleet::plan::{EngineChoice, FleetFolder, FleetPlan, PlannedHost, Ticket, find_fleet};
use iotax_fleet::together::{check_apart, groups_of_hosts, scenario_of_group};
use iotax_model::scenario::Scenario;
use iotax_model::scenario::check::parse_consent;
use iotax_units::count_noun;
use iotax_units::exit::{DONE, FINDING, Failed, MEASUREMENT_FAILED, UNDO_INCOMPLETE};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

pub const EXAMPLES: &str = "Examples:
  iotax fleet run scenario.toml --hosts hosts.txt
  iotax fleet run /dev/nvme1n1 --rw randread --iodepth 32 --hosts inventory.ini --limit rack1
  iotax fleet run writes.toml --hosts hosts.txt --consent drives.toml
      each host writes only the drives in its row of drives.toml (iotax fleet drives makes one)";

/// Most hosts without a result that the end of a fleet lists.
const MOST_HOSTS: usize = 8;

/// What to run on which hosts.
#[derive(clap::Args)]
pub struct FleetRequest {
    #[command(flatten, next_help_heading = "Hosts")]
    pub hosts: HostsArgs,
    /// Load the hosts of each of these groups together, as one run (`all`: every host), instead of
    /// each on its own. Only by ssh
    #[arg(long, value_name = "GROUP,...", help_heading = "Hosts")]
    pub together: Option<String>,
    /// Table of what each host may write: [HOST] with destroy = ["serial=S"], and device =
    /// ["NAME=MEDIUM"]
    #[arg(long, value_name = "FILE", help_heading = "What may be written")]
    pub consent: Option<PathBuf>,
    #[command(flatten)]
    pub asked: MeasureArgs,
}

#[derive(clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    request: FleetRequest,
    #[command(flatten, next_help_heading = "Hosts")]
    patience: PatienceArgs,
}

#[derive(clap::Args)]
pub struct ResumeArgs {
    /// The fleet: its id or a part of it, its folder, or `last`
    fleet: String,
    /// The table of the first run again: lets hosts that are not done write their drives once more
    #[arg(long, value_name = "FILE")]
    consent: Option<PathBuf>,
    #[command(flatten)]
    patience: PatienceArgs,
}

impl FleetRequest {
    /// Returns the plan of the fleet.
    ///
    /// # Errors
    /// Bad input in the hosts, the scenario or the consents.
    pub fn plan(&self) -> Result<FleetPlan> {
        if !self.asked.destroy.is_empty() {
            let why = "--destroy does not say on which host; hint: --consent FILE, a table with a row for each host (iotax fleet \
                       drives makes one)";
            return Err(Failed::input(why).into());
        }
        let (hosts, engine) = self.hosts.chosen()?;
        let table = self.consent.as_deref().map(ConsentTable::read).transpose()?;
        if let Some(table) = &table {
            table.check_hosts(hosts.iter().map(|host| host.name.as_str()))?;
        }
        let mut scenarios: Vec<Scenario> = Vec::new();
        let mut planned = Vec::new();
        for host in hosts {
            let row = table
                .as_ref()
                .and_then(|table| table.rows.get(&host.name))
                .cloned()
                .unwrap_or_default();
            // A scenario that is wrong is so for every host.
            let named = |error: anyhow::Error| match row.device.is_empty() {
                true => error,
                false => error.context(format!("host {}, its row of the consents", host.name)),
            };
            let scenario = self.asked.scenario_of_host(&row.device, &row.destroy).map_err(named)?;
            check_fit(&scenario, row.destroy.len())?;
            let consent = scenario.consent.clone();
            let common = Scenario { consent: Vec::new(), ..scenario };
            let at = scenarios.iter().position(|one| *one == common).unwrap_or_else(|| {
                scenarios.push(common);
                scenarios.len() - 1
            });
            planned.push(PlannedHost { host, scenario: at, consent });
        }
        let empty = FleetPlan::new(&self.hosts.hosts, engine, self.hosts.parallel);
        let plan = FleetPlan { scenarios, hosts: planned, ..empty };
        match &self.together {
            Some(groups) => Ok(plan_of_groups(&plan, groups)?),
            None => Ok(plan),
        }
    }
}

/// Returns the plan whose hosts are groups of the hosts of a plan.
fn plan_of_groups(plan: &FleetPlan, names: &str) -> Result<FleetPlan, Failed> {
    if plan.engine != EngineChoice::Ssh {
        let why = "--together is for hosts that ssh reaches; hint: --hosts with a list";
        return Err(Failed::input(why));
    }
    let groups = groups_of_hosts(&plan.hosts, names)?;
    if plan.parallel > 1 {
        check_apart(&groups)?;
    }
    let mut grouped = FleetPlan {
        parallel: plan.parallel,
        ..FleetPlan::new(&plan.source, EngineChoice::Here, NonZeroUsize::MIN)
    };
    for (name, members) in groups {
        let whole = scenario_of_group(&members, &plan.scenarios)?;
        let mut host = FleetHost::new(&name).map_err(Failed::input)?;
        host.groups = members.iter().map(|member| member.host.name.clone()).collect();
        let (consent, scenario) = (whole.consent.clone(), grouped.scenarios.len());
        grouped.hosts.push(PlannedHost { host, scenario, consent });
        grouped.scenarios.push(Scenario { consent: Vec::new(), ..whole });
    }
    Ok(grouped)
}

/// Refuses a scenario that a task cannot carry out alone.
fn check_fit(scenario: &Scenario, consents: usize) -> Result<(), Failed> {
    if !scenario.operators.is_empty() {
        let why = "the scenario needs a person (`operator`), which a fleet does not support";
        return Err(Failed::input(why));
    }
    if scenario.consent.len() != consents {
        let why = "`destroy` in the scenario does not say on which host; hint: move it to --consent FILE, a table with a row \
                   for each host";
        return Err(Failed::input(why));
    }
    if !scenario.changes.is_empty() {
        let why = "a fleet cannot change virtual machines (`change`); hint: run that scenario with iotax run";
        return Err(Failed::input(why));
    }
    Ok(())
}

/// Runs the fleet, and prints its report. Returns the exit code: 4 if a host is not done.
///
/// # Errors
/// Bad input; then nothing was started.
pub fn run(args: &RunArgs, fleets: &Path) -> Result<u8> {
    let plan = args.request.plan()?;
    let engine = engine_of(&plan)?;
    let folder = FleetFolder::create(fleets, &plan).map_err(Failed::from)?;
    let opened = OpenFleet { plan, folder };
    let chosen: Vec<&PlannedHost> = opened.plan.hosts.iter().collect();
    opened.carry_out(engine.as_ref(), &chosen, false, args.patience.patience, fleets)
}

/// Continues a fleet with the hosts that are not done.
///
/// # Errors
/// Bad input: there is no such fleet, or the consents are not those of its plan.
pub fn resume(args: &ResumeArgs, fleets: &Path) -> Result<u8> {
    let opened = OpenFleet::find(fleets, &args.fleet)?;
    let engine = engine_of(&opened.plan)?;
    let renewed = args.consent.as_deref().map(ConsentTable::read).transpose()?;
    if let Some(table) = &renewed {
        check_same_consents(&opened.plan, table)?;
    }
    let before = opened.folder.reports(&opened.plan).map_err(Failed::from)?;
    let mut chosen: Vec<&PlannedHost> = Vec::new();
    for (planned, report) in opened.plan.hosts.iter().zip(&before) {
        let is_chosen = match report.state {
            // Something of iotax may be left there.
            HostState::Done => report.why.is_some(),
            _ => prepare_again(&opened.folder, planned, report, renewed.is_some())?,
        };
        if is_chosen {
            chosen.push(planned);
        }
    }
    opened.carry_out(engine.as_ref(), &chosen, renewed.is_some(), args.patience.patience, fleets)
}

/// Makes a folder for a fleet that is only looked at, where all hosts of the engine see it.
///
/// # Errors
/// It cannot be made.
pub fn temporary_fleet(fleets: &Path) -> Result<TempDir> {
    let hint = "hint: name another folder with --fleets or $IOTAX_FLEETS";
    let made = make_folder(fleets)
        .map_err(anyhow::Error::from)
        .and_then(|()| Ok(tempfile::Builder::new().prefix(".look-").tempdir_in(fleets)?));
    made.map_err(|error| Failed::input(format!("{error:#}; {hint}")).into())
}

/// A fleet on disk that a command acts on.
pub struct OpenFleet {
    pub plan: FleetPlan,
    pub folder: FleetFolder,
}

impl OpenFleet {
    /// Opens the fleet that a word means.
    ///
    /// # Errors
    /// Bad input: there is none, or another user could have written it.
    pub fn find(fleets: &Path, word: &str) -> Result<OpenFleet> {
        let found = find_fleet(fleets, word)?;
        let (folder, plan) = FleetFolder::open(&found).map_err(Failed::from)?;
        Ok(OpenFleet { plan, folder })
    }

    pub fn fleet_run<'a>(&'a self, stop: &'a AtomicBool, patience: Duration) -> FleetRun<'a> {
        FleetRun { plan: &self.plan, folder: &self.folder, stop, consent_renewed: false, patience }
    }

    /// Asks all hosts for their states, and gathers the results that are there.
    ///
    /// # Errors
    /// The engine cannot be used.
    pub fn ask_all(&self) -> Result<Vec<HostReport>> {
        let (engine, stop) = (engine_of(&self.plan)?, stop::flag()?);
        let all: Vec<&PlannedHost> = self.plan.hosts.iter().collect();
        Ok(ask_hosts(&self.fleet_run(&stop, Duration::ZERO), engine.as_ref(), &all))
    }

    /// Carries the fleet out on these hosts and prints how all hosts ended.
    ///
    /// # Errors
    /// Bad input: another process drives the fleet, or the hosts are refused.
    pub fn carry_out(
        &self,
        engine: &dyn FleetEngine,
        chosen: &[&PlannedHost],
        consent_renewed: bool,
        patience: Duration,
        fleets: &Path,
    ) -> Result<u8> {
        let Some(_lock) = self.folder.lock().map_err(Failed::from)? else {
            let status = typed_fleet("status", self.folder.path());
            let why = format!(
                "another iotax process is running the fleet {}; hint: {status}",
                self.plan.id
            );
            return Err(Failed::input(why).into());
        };
        self.folder.clear_stop();
        let stop = stop::flag()?;
        let fleet = FleetRun { consent_renewed, ..self.fleet_run(&stop, patience) };
        let states = self.folder.reports(&self.plan).map_err(Failed::from)?;
        let printer = HostPrinter::new(self.names().into_iter().zip(&states));
        let hosts = count_noun(chosen.len() as u64, "host", "hosts");
        say_aside(&format!("fleet {}: looking at {hosts}", self.plan.id));
        carry_out(&fleet, engine, chosen, &|name, report| printer.take(name, report))?;
        self.print_end(fleets)
    }

    /// Prints the state of all hosts, and the answer. Returns the exit code: 4 if a host is not
    /// done, 5 if something is left on one, 1 for a finding.
    fn print_end(&self, fleets: &Path) -> Result<u8> {
        let reports = self.folder.reports(&self.plan).map_err(Failed::from)?;
        let done = reports.iter().filter(|report| report.state == HostState::Done).count();
        let all_done = done == reports.len();
        if reports.iter().any(|report| report.why.is_some()) {
            say(&state_lines(&self.names(), &reports, self.folder.path(), MOST_HOSTS))?;
            say(if done > 0 { "\n" } else { "" })?;
        }
        if done > 0 {
            print_answer(self, fleets)?;
        }
        let is_left =
            reports.iter().any(|report| report.state == HostState::Done && report.why.is_some());
        Ok(match (all_done, is_left) {
            (false, _) => MEASUREMENT_FAILED,
            (true, true) => UNDO_INCOMPLETE,
            (true, false) if self.has_finding()? => FINDING,
            (true, false) => DONE,
        })
    }

    /// Returns true if the run of a host ended with a finding, such as a broken service level.
    fn has_finding(&self) -> Result<bool> {
        for name in self.names() {
            let folder = self.folder.host(name).map_err(Failed::from)?;
            let outcome = folder.newest_outcome().map_err(Failed::from)?;
            if outcome.is_some_and(|(_, outcome)| outcome.code == FINDING) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if the host's task may be running.
    pub fn is_under_way(&self, planned: &PlannedHost) -> bool {
        let report = self.folder.host(&planned.host.name).and_then(|folder| folder.report());
        report.is_ok_and(|one| matches!(one.state, HostState::Running | HostState::Unknown))
    }

    /// Returns the names of all hosts.
    pub fn names(&self) -> Vec<&str> {
        self.plan.hosts.iter().map(|planned| planned.host.name.as_str()).collect()
    }
}

/// Prepares a further attempt of a host whose last one has an outcome. Returns false if the host
/// may not begin again: it has written, and its consent is spent.
fn prepare_again(
    fleet: &FleetFolder,
    planned: &PlannedHost,
    report: &HostReport,
    consent_renewed: bool,
) -> Result<bool> {
    let folder = fleet.host(&planned.host.name).map_err(Failed::from)?;
    let outcome = folder.newest_outcome().map_err(Failed::from)?;
    let Some((_, outcome)) = outcome else { return Ok(true) };
    let ticket = folder.ticket().map_err(Failed::from)?;
    if ticket.as_ref().is_some_and(|ticket| ticket.attempt > outcome.attempt) {
        return Ok(true);
    }
    let has_written = !planned.consent.is_empty() && !outcome.refused;
    if has_written && !consent_renewed {
        let why = report.why.as_deref().unwrap_or_default();
        say_aside(&format!(
            "{}: {}: {why}; it may have written, so it is not started again; to allow it, add --consent FILE",
            planned.host.name,
            report.state.word()
        ));
        return Ok(false);
    }
    let leaves = ticket.is_some_and(|ticket| ticket.leaves);
    let further = Ticket { leaves, ..Ticket::new(outcome.attempt + 1) };
    folder.write_ticket(&further).map_err(Failed::from)?;
    Ok(true)
}

/// Checks that a table gives the consents of the plan again.
fn check_same_consents(plan: &FleetPlan, table: &ConsentTable) -> Result<(), Failed> {
    table.check_hosts(plan.hosts.iter().map(|planned| planned.host.name.as_str()))?;
    for planned in &plan.hosts {
        let row = table.rows.get(&planned.host.name).cloned().unwrap_or_default();
        let given =
            row.destroy.iter().map(|text| parse_consent(text)).collect::<Result<Vec<_>, _>>();
        if given.is_ok_and(|given| given == planned.consent) {
            continue;
        }
        return Err(Failed::input(format!(
            "the consents of {} are not those of the fleet; hint: give the same table, or start a new fleet",
            planned.host.name
        )));
    }
    Ok(())
}

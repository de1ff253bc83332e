//! A fleet on disk, where it is driven from: `fleet.json` with hosts and scenarios, and for each
//! host a folder with its ticket and the results of its attempts.

use crate::committed::{self, make_folder};
use crate::host_state::{HostReport, HostState};
use crate::inventory::FleetHost;
use crate::outcome::Outcome;
use crate::task::{FORMAT, TASK, Task, newest_attempt, scenario_sum};
use iotax_model::scenario::{Consent, Scenario};
use iotax_store::{RunLock, StoreError, check_own_folder, default_runs_dir, is_new_id, new_id};
use iotax_units::exit::Failed;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// File in the folder of a fleet that says what it is.
pub const PLAN: &str = "fleet.json";
const TICKET: &str = "ticket.json";
const HOSTS: &str = "hosts";
/// Its presence asks the process that drives the fleet to stop.
const STOP: &str = "stop.json";

/// A fleet as it was planned. It does not change afterwards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetPlan {
    pub format: u32,
    pub id: String,
    pub made_at: String,
    pub iotax: String,
    /// Where the hosts are from, as the user wrote it.
    pub source: String,
    pub engine: EngineChoice,
    /// Most hosts that work at the same time.
    pub parallel: usize,
    /// Different scenarios of the hosts; one unless devices differ.
    pub scenarios: Vec<Scenario>,
    pub hosts: Vec<PlannedHost>,
}

/// What carries tasks to the hosts, with its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    Ssh,
    Slurm {
        partition: String,
        /// Further options of sbatch, such as `--account=x`.
        #[serde(default)]
        options: Vec<String>,
    },
    Kubernetes(PodSettings),
    /// This host drives a run for each group of hosts.
    Here,
    /// Somebody else runs the tasks; iotax gathers their results.
    Emitted,
}

/// Where the pods of a fleet on Kubernetes are, and what they run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodSettings {
    pub namespace: String,
    pub image: String,
    /// `IfNotPresent`, `Always` or `Never`.
    pub pull_policy: String,
}

impl EngineChoice {
    pub fn word(&self) -> &'static str {
        match self {
            EngineChoice::Ssh => "ssh",
            EngineChoice::Slurm { .. } => "Slurm",
            EngineChoice::Kubernetes(_) => "Kubernetes",
            EngineChoice::Here => "this host",
            EngineChoice::Emitted => "others",
        }
    }
}

/// A host of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedHost {
    #[serde(flatten)]
    pub host: FleetHost,
    /// Index of its scenario.
    pub scenario: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consent: Vec<Consent>,
}

impl FleetPlan {
    /// Returns a new fleet with an id of its own. `source` is where its hosts are from.
    pub fn new(source: &str, engine: EngineChoice, parallel: NonZeroUsize) -> FleetPlan {
        FleetPlan {
            format: FORMAT,
            id: new_id(),
            made_at: crate::perform::now(),
            iotax: env!("CARGO_PKG_VERSION").to_owned(),
            source: source.to_owned(),
            engine,
            parallel: parallel.get(),
            scenarios: Vec::new(),
            hosts: Vec::new(),
        }
    }

    /// Returns the task of a host.
    pub fn task(&self, planned: &PlannedHost, attempt: u32) -> Task {
        let scenario = self.scenarios.get(planned.scenario).cloned().unwrap_or_default();
        Task {
            format: FORMAT,
            fleet: self.id.clone(),
            host: planned.host.name.clone(),
            attempt,
            iotax: self.iotax.clone(),
            made_at: self.made_at.clone(),
            scenario_sha256: scenario_sum(&scenario),
            scenario: Scenario { consent: planned.consent.clone(), ..scenario },
            runs: None,
        }
    }
}

/// Folder of a fleet.
#[derive(Clone, Debug)]
pub struct FleetFolder(PathBuf);

impl FleetFolder {
    /// Stores a plan below `fleets` under its id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn create(fleets: &Path, plan: &FleetPlan) -> Result<FleetFolder, StoreError> {
        FleetFolder::create_at(&fleets.join(&plan.id), plan)
    }

    /// Stores a plan in this folder, which it makes.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn create_at(folder: &Path, plan: &FleetPlan) -> Result<FleetFolder, StoreError> {
        make_folder(folder)?;
        let folder = check_own_folder(folder)?;
        make_folder(&folder.join(HOSTS))?;
        committed::write_json(&folder, PLAN, plan)?;
        Ok(FleetFolder(folder))
    }

    /// Opens a fleet, to act on what its files say.
    ///
    /// # Errors
    /// [`StoreError::Unsafe`] if another user could have written them, and other [`StoreError`]s.
    pub fn open(folder: &Path) -> Result<(FleetFolder, FleetPlan), StoreError> {
        let folder = check_own_folder(folder)?;
        let plan: Option<FleetPlan> = committed::read_json(&folder, PLAN)?;
        let plan = plan.ok_or_else(|| no_fleet(&folder))?;
        if plan.format > FORMAT {
            return Err(StoreError::Newer { path: folder.join(PLAN), theirs: plan.format });
        }
        Ok((FleetFolder(folder), plan))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the folder of a host, which it makes if needed.
    ///
    /// # Errors
    /// [`StoreError::System`].
    pub fn host(&self, name: &str) -> Result<HostFolder, StoreError> {
        let folder = self.0.join(HOSTS).join(name);
        make_folder(&folder)?;
        Ok(HostFolder(folder))
    }

    /// Takes the lock of who drives the fleet; `None` if another process does.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn lock(&self) -> Result<Option<RunLock>, StoreError> {
        RunLock::take(&self.0)
    }

    /// Asks the process that drives the fleet to stop.
    ///
    /// # Errors
    /// [`StoreError::System`].
    pub fn request_stop(&self) -> Result<(), StoreError> {
        committed::write_json(&self.0, STOP, &crate::perform::now())
    }

    pub fn is_stop_requested(&self) -> bool {
        self.0.join(STOP).exists()
    }

    /// Forgets a request to stop: the fleet goes on.
    pub fn clear_stop(&self) {
        // Nearly always there is none.
        let _ = std::fs::remove_file(self.0.join(STOP));
    }

    /// Returns the state of each host of the plan, by its files alone.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn reports(&self, plan: &FleetPlan) -> Result<Vec<HostReport>, StoreError> {
        plan.hosts.iter().map(|planned| self.host(&planned.host.name)?.report()).collect()
    }
}

/// Where the attempt of a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TicketPhase {
    /// Nothing was sent to the host yet.
    Prepared,
    /// The task was sent, and may have begun.
    Sent,
    /// The host's part is over; `report` says how.
    Over,
}

/// What is known of the newest attempt of a host, beside its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    pub attempt: u32,
    pub phase: TicketPhase,
    /// Job of the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<HostReport>,
    /// Seconds by which the clock of the host is ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ahead_s: Option<i64>,
    /// True if something of iotax may be left on the host.
    #[serde(default)]
    pub leaves: bool,
    /// True once a task was sent that may write: it never begins again without its consent given
    /// anew, also after the host was cleaned.
    #[serde(default)]
    pub spent: bool,
}

impl Ticket {
    pub fn new(attempt: u32) -> Ticket {
        Ticket {
            attempt,
            phase: TicketPhase::Prepared,
            job: None,
            report: None,
            clock_ahead_s: None,
            leaves: false,
            spent: false,
        }
    }
}

/// Folder of a host where the fleet is driven from.
#[derive(Clone, Debug)]
pub struct HostFolder(PathBuf);

impl HostFolder {
    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn attempt(&self, attempt: u32) -> PathBuf {
        self.0.join(format!("attempt-{attempt}"))
    }

    /// Reads the ticket; `None` if the host's turn has not come.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn ticket(&self) -> Result<Option<Ticket>, StoreError> {
        committed::read_json(&self.0, TICKET)
    }

    /// Stores the ticket.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn write_ticket(&self, ticket: &Ticket) -> Result<(), StoreError> {
        committed::write_json(&self.0, TICKET, ticket)
    }

    /// Returns the newest outcome with its folder; `None` if no attempt has one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn newest_outcome(&self) -> Result<Option<(PathBuf, Outcome)>, StoreError> {
        for attempt in (1..=newest_attempt(&self.0)).rev() {
            let folder = self.attempt(attempt);
            if let Some(outcome) = Outcome::read(&folder)? {
                return Ok(Some((folder, outcome)));
            }
        }
        Ok(None)
    }

    /// Returns the state of the host by its files.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn report(&self) -> Result<HostReport, StoreError> {
        let ticket = self.ticket()?;
        let attempt = ticket.as_ref().map_or(0, |ticket| ticket.attempt);
        if let Some((_, outcome)) =
            self.newest_outcome()?.filter(|(_, outcome)| outcome.attempt >= attempt)
        {
            let report = HostReport::from_outcome(&outcome);
            // While the fleet is driven, the driver removes it; from a folder that the hosts share,
            // the task itself does.
            let fleet = self.0.ancestors().nth(2).unwrap_or(&self.0);
            let is_abandoned = || !RunLock::is_held(fleet) && !self.0.join(TASK).exists();
            let is_over =
                |one: &&Ticket| one.leaves && (one.phase == TicketPhase::Over || is_abandoned());
            return Ok(match ticket.as_ref().filter(is_over) {
                Some(_) if outcome.is_done() => HostReport {
                    why: Some("its result is here, but something is left on the host".to_owned()),
                    next: Some(format!("iotax fleet clean {}", outcome.fleet)),
                    ..report
                },
                _ => report,
            });
        }
        Ok(match ticket {
            None => HostReport::plain(HostState::Waiting),
            Some(Ticket { report: Some(report), .. }) => report,
            Some(Ticket { phase: TicketPhase::Prepared, .. }) => {
                HostReport::plain(HostState::Waiting)
            }
            Some(_) => HostReport::plain(HostState::Running),
        })
    }
}

/// Returns the folder of fleets: $IOTAX_FLEETS, else `fleets` beside the folder of runs.
///
/// # Errors
/// As [`default_runs_dir`].
pub fn default_fleets_dir() -> Result<PathBuf, StoreError> {
    match std::env::var_os("IOTAX_FLEETS").filter(|value| !value.is_empty()) {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Ok(default_runs_dir()?.with_file_name("fleets")),
    }
}

/// Returns the ids of the fleets in a folder, the oldest first.
pub fn list_fleets(fleets: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(fleets).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut ids: Vec<String> = names.filter(|name| is_new_id(name)).collect();
    ids.sort();
    ids
}

/// Returns the folder of the fleet that a word means: a folder, an id or a part of one, or `last`.
///
/// # Errors
/// Bad input: there is none, or several fit.
pub fn find_fleet(fleets: &Path, word: &str) -> Result<PathBuf, Failed> {
    let folder = Path::new(word);
    if word.contains('/') || folder.join(PLAN).exists() || word.ends_with(".parquet") {
        return Ok(folder.to_owned());
    }
    let ids = list_fleets(fleets);
    let fits = |id: &&String| id.starts_with(word) || id.ends_with(word);
    let found: Vec<&String> = match word {
        "last" => ids.iter().rev().take(1).collect(),
        _ => ids.iter().filter(fits).collect(),
    };
    match found.as_slice() {
        [id] => Ok(fleets.join(id)),
        [] if folder.is_dir() => Ok(folder.to_owned()),
        [] if ids.is_empty() => Err(Failed::input(format!(
            "there is no fleet in {}; hint: iotax fleet run SCENARIO --hosts FILE",
            fleets.display()
        ))),
        [] => {
            let newest = ids.last().map_or("", String::as_str);
            Err(Failed::input(format!(
                "\"{}\" is not a fleet; the newest is {newest}; hint: iotax fleet status",
                word.escape_debug()
            )))
        }
        several => Err(Failed::input(format!(
            "\"{word}\" fits {} fleets; hint: write more of the id, or ./{word} for a folder",
            several.len()
        ))),
    }
}

fn no_fleet(folder: &Path) -> StoreError {
    StoreError::NoRun {
        what: folder.display().to_string(),
        why: Some("it has no fleet.json".into()),
    }
}

//! The work of one host: the scenario, what it may write, and the files of the task's folder on the
//! host. The folder decides what has happened: `started.json` is made once for each attempt, before
//! anything is written, and `outcome.json` is renamed last.

use crate::committed::{self, sum_of};
use crate::host_look::MachineIdentity;
use iotax_model::scenario::Scenario;
use iotax_store::{RunLock, StoreError, check_own_folder};
use iotax_units::exit::Failed;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Version of all files of a fleet. Later versions read earlier ones.
pub const FORMAT: u32 = 1;

pub const TASK: &str = "task.json";
const STARTED: &str = "started.json";
pub const OUTCOME: &str = "outcome.json";
/// The run, packed: `iotax report run.iotax` reads it.
pub const RUN: &str = "run.iotax";
/// Figures of the run with their standard errors.
pub const FIGURES: &str = "figures.json";
/// Standard output and standard error of the run on the host.
pub const OUT: &str = "out.txt";
pub const ERR: &str = "err.txt";
/// Messages of the task itself.
pub const LOG: &str = "task.log";
/// Files of an attempt that come with its outcome.
pub const FILES: [&str; 4] = [RUN, FIGURES, OUT, ERR];

/// Work for one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub format: u32,
    pub fleet: String,
    pub host: String,
    /// Number of the attempt, from 1. An attempt is never started twice.
    pub attempt: u32,
    /// Version of iotax that made the task and must carry it out.
    pub iotax: String,
    /// When the fleet was planned, by the clock of the machine that did so.
    pub made_at: String,
    /// SHA-256 of the scenario as JSON.
    pub scenario_sha256: String,
    /// Scenario with the consents and devices of this host.
    pub scenario: Scenario,
    /// Folder of the runs on the host, if the task's folder is not on a disk of the host; removed
    /// with the task's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<PathBuf>,
}

impl Task {
    /// Checks that this iotax can carry the task out, and that its scenario is the one that was
    /// planned.
    ///
    /// # Errors
    /// Bad input, with what to do.
    pub fn check(&self) -> Result<(), Failed> {
        let own = env!("CARGO_PKG_VERSION");
        if self.format > FORMAT || self.iotax != own {
            return Err(Failed::input(format!(
                "the fleet was planned by iotax {}, and this is iotax {own}; hint: resume it with iotax {}, or start a new fleet",
                self.iotax, self.iotax
            )));
        }
        if scenario_sum(&self.scenario) != self.scenario_sha256 {
            return Err(Failed::input(
                "the scenario of the task is not the one that was planned: its SHA-256 differs; hint: emit the task again",
            ));
        }
        Ok(())
    }
}

/// Returns the SHA-256 of a scenario as JSON, without its consents, which differ by host.
pub fn scenario_sum(scenario: &Scenario) -> String {
    let common = Scenario { consent: Vec::new(), ..scenario.clone() };
    sum_of(&serde_json::to_vec(&common).unwrap_or_default())
}

/// Returns a SHA-256 that runs of one scenario on several hosts have in common: without consents,
/// and without the paths and names of the media, which differ by host.
pub fn comparable_sum(scenario: &Scenario) -> String {
    let mut json = serde_json::to_value(scenario).unwrap_or_default();
    if let Some(parts) = json.as_object_mut() {
        parts.remove("consent");
        parts.remove("source");
    }
    for stack in json["stacks"].as_array_mut().into_iter().flatten() {
        stack["text"].take();
        drop_own_names(&mut stack["medium"]);
    }
    sum_of(json.to_string().as_bytes())
}

/// Removes what names a medium of one host.
fn drop_own_names(medium: &mut Value) {
    match medium {
        Value::Object(fields) => {
            fields.retain(|key, _| !["path", "host", "place", "conf"].contains(&key.as_str()));
            fields.values_mut().for_each(drop_own_names);
        }
        Value::Array(all) => all.iter_mut().for_each(drop_own_names),
        _ => {}
    }
}

/// Mark of an attempt that has begun: from here on its consent is spent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartMark {
    pub at: String,
    pub pid: u32,
    pub machine: MachineIdentity,
}

/// Folder of a task on its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFolder(PathBuf);

/// What has happened to the newest attempt in a task's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptState {
    /// It has not begun.
    New,
    Running,
    /// It has an outcome.
    Committed,
    /// It began, and its process is gone without an outcome.
    Gone,
}

impl TaskFolder {
    /// Opens a folder. It must belong to this user alone, as iotax executes what it contains.
    ///
    /// # Errors
    /// [`StoreError::Unsafe`], [`StoreError::System`].
    pub fn open(path: &Path) -> Result<TaskFolder, StoreError> {
        check_own_folder(path).map(TaskFolder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the folder of runs of a task's attempts.
    pub fn runs_of(&self, task: Option<&Task>) -> PathBuf {
        task.and_then(|task| task.runs.clone()).unwrap_or_else(|| self.0.join("runs"))
    }

    pub fn attempt(&self, attempt: u32) -> PathBuf {
        self.0.join(format!("attempt-{attempt}"))
    }

    /// Stores the task.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn write_task(&self, task: &Task) -> Result<(), StoreError> {
        committed::make_folder(&self.0)?;
        committed::write_json(&self.0, TASK, task)
    }

    /// Reads the task; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn task(&self) -> Result<Option<Task>, StoreError> {
        committed::read_json(&self.0, TASK)
    }

    /// Marks an attempt as begun. Returns false if it has begun before.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn begin(&self, attempt: u32, mark: &StartMark) -> Result<bool, StoreError> {
        committed::make_folder(&self.attempt(attempt))?;
        committed::create_json_once(&self.attempt(attempt), STARTED, mark)
    }

    /// Returns how an attempt began; `None` if it has not.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn start_mark(&self, attempt: u32) -> Result<Option<StartMark>, StoreError> {
        match self.attempt(attempt).exists() {
            true => committed::read_json(&self.attempt(attempt), STARTED),
            false => Ok(None),
        }
    }

    /// Returns the number of the newest attempt; 0 if there is none.
    pub fn newest_attempt(&self) -> u32 {
        newest_attempt(&self.0)
    }

    /// Takes the lock of the task, which its process holds while it lives; `None` if it is held.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn lock(&self) -> Result<Option<RunLock>, StoreError> {
        RunLock::take(&self.0)
    }

    /// Returns true if an attempt has ended.
    pub fn has_outcome(&self, attempt: u32) -> bool {
        self.attempt(attempt).join(OUTCOME).exists()
    }

    /// Returns what has happened to an attempt, for a process that does not hold the lock.
    pub fn state_of(&self, attempt: u32) -> AttemptState {
        let folder = self.attempt(attempt);
        match (self.has_outcome(attempt), folder.join(STARTED).exists()) {
            (true, _) => AttemptState::Committed,
            (false, _) if RunLock::is_held(&self.0) => AttemptState::Running,
            (false, true) => AttemptState::Gone,
            (false, false) => AttemptState::New,
        }
    }
}

/// Returns the largest N of the folders `attempt-N` in a folder; 0 if there is none.
pub fn newest_attempt(folder: &Path) -> u32 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |name: std::ffi::OsString| name.to_str()?.strip_prefix("attempt-")?.parse().ok();
    entries.filter_map(|entry| number(entry.file_name())).max().unwrap_or(0)
}

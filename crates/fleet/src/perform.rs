//! Carries a task out, on its host. Everything that could refuse comes before the attempt is marked
//! as begun, which spends its consent.

use crate::host_look::HostLook;
use crate::outcome::Outcome;
use crate::task::{FORMAT, RUN, StartMark, Task, TaskFolder};
use iotax_facts::place::Place;
use iotax_model::stack::Stack;
use iotax_store::{self as store, StoreError};
use iotax_units::exit::{Failed, MEASUREMENT_FAILED, UNMET_NEED};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How a run is made and read; the command line supplies it.
pub trait TaskRunner {
    /// Measures the task's scenario with runs in `runs`, and its output in files of `attempt`.
    /// Returns the exit code.
    fn measure(&mut self, task: &Task, runs: &Path, attempt: &Path) -> u8;

    /// Writes the figures of a run to `attempt`.
    ///
    /// # Errors
    /// The run cannot be read.
    fn write_figures(&mut self, run: &Path, attempt: &Path) -> anyhow::Result<()>;

    /// Removes a folder of runs, unless one of them has left something on the host.
    fn remove_runs(&mut self, runs: &Path);
}

/// Carries out the task in `folder` and stores its outcome.
///
/// # Errors
/// Bad input: there is no task, it is being carried out, or this attempt has begun before; then
/// nothing is changed. Or the outcome cannot be stored.
pub fn perform_task(folder: &TaskFolder, runner: &mut dyn TaskRunner) -> Result<Outcome, Failed> {
    let task = folder.task()?.ok_or_else(|| no_task(folder.path()))?;
    let Some(_lock) = folder.lock()? else {
        return Err(Failed::input("the task of this host is being carried out already"));
    };
    if folder.has_outcome(task.attempt) {
        return Err(begun_before(&task, "has ended"));
    }
    if folder.start_mark(task.attempt)?.is_some() {
        return Err(begun_before(&task, "began before, and did not end"));
    }
    let attempt = folder.attempt(task.attempt);
    crate::committed::make_folder(&attempt)?;
    let reserve = SpaceReserve::take(&attempt)?;
    let look = HostLook::of_this_machine(folder.path().parent().unwrap_or(folder.path()));
    let mut outcome = Outcome {
        format: FORMAT,
        fleet: task.fleet.clone(),
        host: task.host.clone(),
        attempt: task.attempt,
        iotax: env!("CARGO_PKG_VERSION").to_owned(),
        scenario_sha256: task.scenario_sha256.clone(),
        code: 0,
        refused: false,
        writes: !task.scenario.consent.is_empty(),
        why: None,
        began_at: now(),
        ended_at: String::new(),
        machine: look.machine.clone(),
        files: Vec::new(),
    };
    if let Err(refusal) = task.check().and_then(|()| check_drives(&task, &look)) {
        outcome.code = refusal.code;
        outcome.why = Some(refusal.message);
        outcome.refused = true;
        outcome.ended_at = now();
        drop(reserve);
        return Ok(outcome.commit(&attempt)?);
    }
    let mark = StartMark { at: now(), pid: std::process::id(), machine: look.machine };
    if !folder.begin(task.attempt, &mark)? {
        return Err(begun_before(&task, "began before"));
    }
    let runs = folder.runs_of(Some(&task));
    crate::committed::make_folder(&runs)?;
    outcome.code = runner.measure(&task, &runs, &attempt);
    outcome.why = match pack_newest(&runs, &attempt, runner) {
        Ok(()) if outcome.is_done() => None,
        Ok(()) => last_error(&attempt),
        Err(why) if outcome.is_done() => {
            outcome.code = MEASUREMENT_FAILED;
            Some(why)
        }
        Err(why) => Some(last_error(&attempt).unwrap_or(why)),
    };
    outcome.ended_at = now();
    drop(reserve);
    let outcome = outcome.commit(&attempt)?;
    if task.runs.is_some() {
        runner.remove_runs(&runs);
    }
    Ok(outcome)
}

/// Space that is kept free on the disk of a task, so that its outcome can be stored there although
/// the disk has filled up.
struct SpaceReserve(PathBuf);

impl SpaceReserve {
    const BYTES: u64 = 256 << 10;

    fn take(attempt: &Path) -> Result<SpaceReserve, StoreError> {
        let reserve = SpaceReserve(attempt.join("reserve"));
        // Bytes of the program, as a file system that compresses stores no zeros.
        let written = File::create(&reserve.0).and_then(|mut file| {
            let mut program = File::open("/proc/self/exe")?.take(SpaceReserve::BYTES);
            std::io::copy(&mut program, &mut file)?;
            file.sync_all()
        });
        match written {
            Ok(()) => Ok(reserve),
            Err(error) => Err(StoreError::system("write", &reserve.0, error)),
        }
    }
}

impl Drop for SpaceReserve {
    fn drop(&mut self) {
        // If it cannot be removed, the outcome may still fit.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Checks that every drive that may be written is a drive of this host.
fn check_drives(task: &Task, look: &HostLook) -> Result<(), Failed> {
    let is_here = |stack: &Stack| !stack.medium.places().iter().any(Place::is_ssh);
    let missing = look.missing_drives(&task.scenario.consent);
    // Agents check the drives of other hosts.
    if missing.is_empty() || !task.scenario.stacks.iter().any(is_here) {
        return Ok(());
    }
    Err(Failed {
        code: UNMET_NEED,
        message: format!(
            "{} has no drive with serial or WWN {}, which --consent names; nothing was written; hint: correct the row \
             of {} (iotax fleet drives lists the drives), then start a new fleet: iotax fleet run",
            task.host,
            missing.join(", "),
            task.host
        ),
    })
}

/// Packs the newest run and writes its figures.
///
/// # Errors
/// Says why there is no run, or why it cannot be packed.
fn pack_newest(runs: &Path, attempt: &Path, runner: &mut dyn TaskRunner) -> Result<(), String> {
    let folder = store::find_newest(runs, "last").map_err(|error| error.to_string())?;
    let path: PathBuf = attempt.join(RUN);
    let packed = File::create(&path).and_then(|mut file| {
        store::pack_run(&folder, &mut file)?;
        file.sync_all()
    });
    packed.map_err(|error| {
        // A part of it is no result.
        let _ = std::fs::remove_file(&path);
        format!("cannot pack the run: {error}")
    })?;
    runner
        .write_figures(&folder, attempt)
        .map_err(|error| format!("cannot read the run: {error:#}"))
}

/// Returns the last error that the run printed.
fn last_error(attempt: &Path) -> Option<String> {
    let text = iotax_sys::regular::tail(&attempt.join(crate::task::ERR), 64 << 10);
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let from = lines.iter().rposition(|line| line.starts_with("iotax: "))?;
    let words =
        lines[from..].iter().take(MOST_LINES).map(|line| line.trim_start_matches("iotax: ").trim());
    Some(words.collect::<Vec<_>>().join(" "))
}

/// Number of lines of an error that an outcome keeps.
const MOST_LINES: usize = 6;

fn no_task(folder: &Path) -> Failed {
    Failed::input(format!("{} has no task", folder.display()))
}

fn begun_before(task: &Task, what: &str) -> Failed {
    Failed::input(format!(
        "attempt {} of {} in the fleet {} {what}, and an attempt is never started twice; hint: iotax fleet resume {}",
        task.attempt, task.host, task.fleet, task.fleet
    ))
}

/// Returns the time now, as it is recorded.
pub fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Second).unwrap_or(now).to_string()
}

#[cfg(test)]
#[path = "perform_tests.rs"]
mod tests;

//! The real machine, as operations change it. Tests use a simulated one to check undo after every
//! prefix of a plan.

use super::leftover::{begin_run, leftover_of};
use super::process::{carries, process_id, runs};
use crate::process::ProcessId;
use crate::refusal::NotOurs;
use crate::run_tag::RunTag;
use crate::wait::wait_until;
use anyhow::{Context, Result, bail};
use iotax_host::probe::Probe;
use iotax_sys::child;
use iotax_sys::regular::{LAST_WORDS, tail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Callback that gets the share of a long operation that is done, 0 to 1, and may end it by
/// `Break`.
pub type ProgressFn<'a> = &'a mut dyn FnMut(f64) -> ControlFlow<()>;

/// Time to wait for leftover programs: the longest time that a system tool was seen to take (zpool
/// create on many disks).
const LEFTOVER_LIMIT: Duration = Duration::from_secs(120);
const REPORTED_AFTER: Duration = Duration::from_secs(2);
const STOPPED_WITHIN: Duration = Duration::from_secs(10);
const LOOKS_EVERY: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepProgress {
    /// Bytes of a file that are filled.
    Filled(u64),
    /// Share of a sync that is done, 0 to 1.
    Synced(f64),
    /// Wait for a condition, in words with the longest wait: `waiting until ... (at most 120 s)`.
    Waits(String),
}

pub type Watcher = dyn FnMut(StepProgress) -> ControlFlow<()> + Send;

#[derive(Default)]
pub struct RealSystem {
    children: Vec<Child>,
    /// Files under test, locked against other runs until they are removed or the run ends.
    held: BTreeMap<PathBuf, File>,
    /// Called while a file is filled, a sync runs or something is waited for; `Break` stops with an
    /// error.
    watcher: Option<Box<Watcher>>,
    notes: Vec<String>,
    /// True if no program of an earlier iotax or of a failed step can be running; `None` if no step
    /// was performed or undone yet.
    is_settled: Option<bool>,
    waits_since: Option<Instant>,
}

impl RealSystem {
    /// Creates a machine that reports the progress of fills, syncs and waits to `watcher`, which
    /// can stop them by `Break`.
    pub fn watched(
        watcher: impl FnMut(StepProgress) -> ControlFlow<()> + Send + 'static,
    ) -> RealSystem {
        RealSystem { watcher: Some(Box::new(watcher)), ..RealSystem::default() }
    }

    pub fn report_progress(&mut self, progress: StepProgress) -> ControlFlow<()> {
        self.watcher.as_mut().map_or(ControlFlow::Continue(()), |watcher| watcher(progress))
    }

    /// Returns a callback that reports what share of a sync is done.
    pub fn synced(&mut self) -> impl FnMut(f64) -> ControlFlow<()> {
        |share| self.report_progress(StepProgress::Synced(share))
    }

    /// Returns true if a wait that began at `start` has taken longer than `limit`, or longer than
    /// 10 s and the watcher says stop. Reports the wait for `what` to the watcher once it has taken
    /// 2 s.
    pub fn is_given_up(
        &mut self,
        start: Instant,
        limit: Duration,
        what: impl Fn() -> String,
    ) -> bool {
        let (waited, seconds) = (start.elapsed(), limit.as_secs());
        let is_due = waited > REPORTED_AFTER.min(limit);
        let text = || format!("waiting until {} (at most {seconds} s)", what());
        let stops = is_due
            && self.report_progress(StepProgress::Waits(text())).is_break()
            && waited > STOPPED_WITHIN;
        stops || waited > limit
    }

    pub fn watch(&mut self, watcher: impl FnMut(StepProgress) -> ControlFlow<()> + Send + 'static) {
        self.watcher = Some(Box::new(watcher));
    }

    /// Performs a change. If it fails, programs that it started may go on: [`RealSystem::settle`]
    /// waits for them.
    ///
    /// # Errors
    /// That of `change`.
    pub fn change<T>(
        &mut self,
        tag: &RunTag,
        change: impl FnOnce(&mut RealSystem) -> Result<T>,
    ) -> Result<T> {
        begin_run(&tag.run_id);
        let was_settled = self.is_settled.replace(false);
        let made = change(self)?;
        self.is_settled = was_settled.or(Some(true));
        Ok(made)
    }

    /// Waits, before anything is undone, until the programs of an earlier iotax or of a failed step
    /// have ended.
    pub fn settle(&mut self, tag: &RunTag) -> Result<()> {
        begin_run(&tag.run_id);
        if self.is_settled != Some(true) {
            self.await_leftovers(tag)?;
        }
        self.is_settled = Some(true);
        Ok(())
    }

    /// Waits for all programs of the run that are still running.
    ///
    /// # Errors
    /// [`NotOurs`] if one does not end within 2 minutes, or the wait is interrupted. Fails too if
    /// /proc cannot be read.
    pub fn await_leftovers(&mut self, tag: &RunTag) -> Result<()> {
        let start = *self.waits_since.get_or_insert_with(Instant::now);
        while let Some((process, name)) = leftover_of(&tag.run_id)? {
            let pid = process.pid;
            if self.is_given_up(start, LEFTOVER_LIMIT, || {
                format!("process {pid} ({name}) of the run ends")
            }) {
                let why = format!(
                    "process {pid} ({name}), which the run started, still runs, so this is left alone"
                );
                bail!(NotOurs(format!(
                    "{why}; hint: clean again when it has ended, or end it; a tool whose make starts a daemon needs daemon = true"
                )));
            }
            std::thread::sleep(LOOKS_EVERY);
        }
        self.waits_since = None;
        Ok(())
    }

    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Makes the next wait for leftover programs count as 20 s old, so that a watcher can stop it
    /// at once.
    #[cfg(any(test, feature = "testing"))]
    pub fn give_up_soon(&mut self) {
        self.waits_since = Instant::now().checked_sub(STOPPED_WITHIN * 2);
    }

    /// Returns the notes that were taken since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Keeps `lock`, a lock on the file at `path`, until [`RealSystem::release`] or the end of the
    /// run.
    pub fn hold(&mut self, path: &Path, lock: File) {
        self.held.insert(path.to_owned(), lock);
    }

    pub fn release(&mut self, path: &Path) {
        self.held.remove(path);
    }

    pub fn spawn(&mut self, argv: &[String], log: &Path) -> Result<ProcessId> {
        let out = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = child::inherits_nothing(&mut Command::new(&argv[0]))
            .args(&argv[1..])
            // Ceph's programs, and QEMU where it uses its library, read options from there.
            .env_remove("CEPH_ARGS")
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            // A process group of its own: Ctrl-C is for iotax, which takes the guest down in order.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", argv[0]))?;
        let process = process_id(child.id()).context("the process ended at once")?;
        self.children.push(child);
        Ok(process)
    }

    /// Waits until the process has made its socket.
    ///
    /// # Errors
    /// If it ends first, or makes none within 20 s: with the last lines of its `log`.
    pub fn await_socket(&mut self, socket: &Path, process: &ProcessId, log: &Path) -> Result<()> {
        // If the process has ended, its own words are the reason.
        drop(wait_until(Duration::from_secs(20), || socket.exists() || !self.alive(process)));
        if socket.exists() {
            return Ok(());
        }
        let words = tail(log, LAST_WORDS);
        let how = if self.alive(process) { "made no socket within 20 s" } else { "ended at once" };
        bail!("the process that should listen on {} {how}: {}", socket.display(), words.trim())
    }

    /// Ends the process, if it still runs, by SIGTERM and then SIGKILL.
    ///
    /// # Errors
    /// [`NotOurs`] if its command line does not have `tag` as a word. Fails too if it does not end.
    pub fn end_process(&mut self, process: &ProcessId, tag: &str) -> Result<()> {
        // A process that was started a moment ago may not show its command line yet.
        let carries = || wait_until(Duration::from_secs(2), || carries(process, tag)).is_ok();
        if self.alive(process) && !carries() && self.alive(process) {
            let pid = process.pid;
            return Err(NotOurs(format!(
                "process {pid} is not the run's (no word of it is {tag}): not ended"
            ))
            .into());
        }
        for signal in [rustix::process::Signal::TERM, rustix::process::Signal::KILL] {
            if !self.alive(process) {
                return Ok(());
            }
            if let Some(pid) = rustix::process::Pid::from_raw(process.pid as i32) {
                // It may have ended in between: the check below finds out.
                let _ = rustix::process::kill_process(pid, signal);
            }
            if wait_until(Duration::from_secs(5), || !self.alive(process)).is_ok() {
                return Ok(());
            }
        }
        bail!("process {} does not end, even by SIGKILL", process.pid)
    }

    /// Returns true if this process still runs. Waits for children that have ended, so that none
    /// stays a zombie.
    fn alive(&mut self, process: &ProcessId) -> bool {
        self.children.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
        runs(process)
    }
}

pub fn host_probe() -> Probe {
    Probe::of_files(Path::new("/"))
}

/// Reads the kernel's random id of this boot.
///
/// # Errors
/// When /proc is not there.
pub fn boot_id() -> Result<String> {
    let text =
        fs::read_to_string("/proc/sys/kernel/random/boot_id").context("cannot read the boot id")?;
    Ok(text.trim().to_owned())
}

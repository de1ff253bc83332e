//! This machine, as operations change it. Its simulated twin is used to test undo from every prefix
//! of a plan.

use super::ceph::Before;
use super::hypervisor;
use super::leftover::{begin_run, leftover_of};
use super::loops::FileId;
use super::op::{Act, ExportSpdkNvmf, Op};
use super::place_executor::{Lacking, PlaceExecutor, SharedWatcher, tell};
use super::process::{carries, process_id, runs};
use super::queue::{self, QueueSettings};
use super::settings::ThingSettings;
use super::state::ArrayState;
use super::threads::ServingThread;
use super::tool::{checked_output, output, typed};
use super::zfs::ArcLimit;
use super::{ProcessId, RunTag, StepOutput, spdk};
use crate::guest::disk::{self, DiskKey};
use anyhow::{Context, Result, bail};
use iotax_facts::vm::Vm;
use iotax_host::block::Identity;
use iotax_host::guard::inspect::identity_of;
use iotax_host::guard::marker;
use iotax_host::needs::AskedNeed;
use iotax_host::probe::{GuestProbe, Probe};
use iotax_sys::child;
use iotax_sys::regular::{LAST_WORDS, tail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A resource that was created belongs to somebody else now, or a program that still runs is using
/// it. It was left alone, and the user is not asked to remove it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotOurs(pub String);

/// The context of a failure before anything was changed: nothing is undone, as what would be found
/// is somebody else's.
#[derive(Debug, thiserror::Error)]
#[error("nothing was changed")]
pub struct NothingMade;

/// Questions that operations ask of a machine before they change it.
pub trait Observer {
    /// Returns the identity of a device, where it can be found out.
    fn identity(&self, path: &Path) -> Option<Identity>;
    /// Returns the file that a path leads to.
    fn file_id(&self, path: &Path) -> Option<FileId>;
    /// Reads the settings of the queue of a disk that a person could have made.
    fn queue_settings(&self, disk: &Path) -> QueueSettings;
    /// Reads how much ZFS's cache may hold.
    fn arc(&self) -> ArcLimit;
    /// Returns true if an SPDK target has the transport already, where it says so.
    fn has_spdk_transport(&self, export: &ExportSpdkNvmf) -> Option<bool>;
    /// Reads the settings of a virtual machine with that disk for its next start, as its manager
    /// reports them.
    fn machine(&self, vm: &Vm, disk: &str) -> Option<String>;
    /// Returns which cluster an image of Ceph's is in, and where it is mapped already; `None`: the
    /// cluster does not answer.
    fn image_before(&self, conf: &Path, pool: &str, image: &str) -> Option<Before>;
}

/// Time to wait for leftover programs: the longest time that a system tool was seen to take (zpool
/// create on many disks).
const LEFTOVER_LIMIT: Duration = Duration::from_secs(120);
/// Time after which a wait is reported to the user.
const TOLD_AFTER: Duration = Duration::from_secs(2);
/// Longest wait in total after Ctrl-C.
const STOPPED_WITHIN: Duration = Duration::from_secs(10);
/// Interval between two checks for something that ends by itself.
const LOOKS_EVERY: Duration = Duration::from_millis(100);

/// Progress of something long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepProgress {
    /// Bytes of a file that are filled.
    Filled(u64),
    /// Share of a sync that is done, 0 to 1.
    Synced(f64),
    /// Condition that is waited for, in words, and the longest wait: the thing was undone, and is
    /// still there.
    Waits(String),
}

/// Receives the progress of something, and may stop it.
pub type Watcher = dyn FnMut(StepProgress) -> ControlFlow<()> + Send;

#[derive(Default)]
pub struct RealSystem {
    children: Vec<Child>,
    /// Files under test, locked against other runs until they are removed or the run ends.
    held: BTreeMap<PathBuf, File>,
    /// Called while a file is filled or a sync waited for; `Break` stops with an error.
    watcher: Option<Box<Watcher>>,
    notes: Vec<String>,
    /// True if no program of an earlier iotax or of a failed step can be running; `None` if no step
    /// was performed or undone yet.
    is_settled: Option<bool>,
    /// Time at which the wait for such programs began.
    waits_since: Option<Instant>,
}

impl Observer for RealSystem {
    fn identity(&self, path: &Path) -> Option<Identity> {
        identity_of(path).ok()
    }

    fn file_id(&self, path: &Path) -> Option<FileId> {
        let meta = fs::metadata(path).ok()?;
        Some(FileId { device: meta.dev(), inode: meta.ino() })
    }

    fn queue_settings(&self, disk: &Path) -> QueueSettings {
        let real = disk.canonicalize().ok();
        let name = real.as_ref().and_then(|disk| disk.file_name()?.to_str());
        name.map(|name| queue::settings(&host_probe(), name)).unwrap_or_default()
    }

    fn arc(&self) -> ArcLimit {
        ArcLimit::current_limit()
    }

    fn has_spdk_transport(&self, export: &ExportSpdkNvmf) -> Option<bool> {
        // A target that does not answer refuses what follows in its own words.
        spdk::nvmf::has_transport(export).ok()
    }

    fn machine(&self, vm: &Vm, disk: &str) -> Option<String> {
        // For a manager that cannot be asked, the change itself is refused.
        hypervisor::hypervisor_of(vm.manager)
            .saved(vm, disk, &|words, input| hypervisor::asked(vm, words, input))
            .ok()
    }

    fn image_before(&self, conf: &Path, pool: &str, image: &str) -> Option<Before> {
        Before::look_up(conf, pool, image).ok()
    }
}

impl PlaceExecutor for RealSystem {
    fn boot_id(&mut self) -> Result<String> {
        boot_id()
    }

    fn locate(&mut self, key: &DiskKey) -> Result<PathBuf> {
        disk::find_soon(key)
    }

    fn observed(&mut self, op: Op) -> Result<Op> {
        Ok(op.observed(self))
    }

    fn perform(&mut self, op: &Op, tag: &RunTag) -> Result<StepOutput> {
        begin_run(&tag.run_id);
        let was_settled = self.is_settled.replace(false);
        let made = match op.act() {
            Act::Make(resource) => {
                let made = resource.make(self, tag)?;
                self.notes.extend(resource.notes(&made));
                made
            }
            Act::Change(change) => change.make(self).map(|()| StepOutput::default())?,
        };
        self.is_settled = was_settled.or(Some(true));
        Ok(made)
    }

    fn find(&mut self, op: &Op, tag: &RunTag, others: &[StepOutput]) -> Result<Option<StepOutput>> {
        self.settle(tag)?;
        match op.act() {
            Act::Make(resource) => resource.find(tag, others),
            Act::Change(_) => Ok(None),
        }
    }

    fn undo(&mut self, op: &Op, tag: &RunTag, made: &StepOutput) -> Result<()> {
        self.settle(tag)?;
        match op.act() {
            Act::Make(resource) if !resource.stays(made) => resource.unmake(self, tag, made),
            _ => Ok(()),
        }
    }

    fn state(&mut self, op: &Op, made: &StepOutput) -> Result<Option<ArrayState>> {
        match op.act() {
            Act::Make(resource) => resource.state(made),
            Act::Change(_) => Ok(None),
        }
    }

    fn settings(&mut self, op: &Op, made: &StepOutput) -> Result<ThingSettings> {
        match op.act() {
            Act::Make(resource) => resource.settings(made),
            Act::Change(_) => Ok(ThingSettings::new()),
        }
    }

    fn threads(&mut self, op: &Op, made: &StepOutput) -> Result<Vec<ServingThread>> {
        match op.act() {
            Act::Make(resource) => resource.threads(made),
            Act::Change(_) => Ok(Vec::new()),
        }
    }

    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn lacking(&mut self, asked: &[AskedNeed]) -> Result<Lacking> {
        Ok(Lacking::on(&Probe::this_machine(Path::new("/"), GuestProbe::NOT_ASKED), asked))
    }

    fn watched_by(&mut self, watcher: SharedWatcher) {
        self.watcher = Some(Box::new(move |progress| tell(&watcher, progress)));
    }
}

impl RealSystem {
    /// Makes a machine whose fills and syncs report their progress and can be stopped.
    pub fn watched(
        watcher: impl FnMut(StepProgress) -> ControlFlow<()> + Send + 'static,
    ) -> RealSystem {
        RealSystem { watcher: Some(Box::new(watcher)), ..RealSystem::default() }
    }

    /// Reports the progress of something; whoever watches may end it.
    pub fn tell(&mut self, progress: StepProgress) -> ControlFlow<()> {
        self.watcher.as_mut().map_or(ControlFlow::Continue(()), |watcher| watcher(progress))
    }

    /// Reports what share of a sync is done.
    pub fn synced(&mut self) -> impl FnMut(f64) -> ControlFlow<()> {
        |share| self.tell(StepProgress::Synced(share))
    }

    /// Reports that iotax is waiting for something, and returns whether to stop waiting: it took
    /// too long, or the user has interrupted the wait.
    pub fn is_given_up(
        &mut self,
        start: Instant,
        limit: Duration,
        what: impl Fn() -> String,
    ) -> bool {
        let (waited, seconds) = (start.elapsed(), limit.as_secs());
        let tells = waited > TOLD_AFTER.min(limit);
        let text = || format!("waiting until {} (at most {seconds} s)", what());
        let stops =
            tells && self.tell(StepProgress::Waits(text())).is_break() && waited > STOPPED_WITHIN;
        stops || waited > limit
    }

    /// Makes sure, before anything is undone, that programs of an earlier iotax or of a failed step
    /// have ended.
    fn settle(&mut self, tag: &RunTag) -> Result<()> {
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
    /// [`NotOurs`] if one does not end.
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

    /// Notes a remark that is no failure.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Keeps a lock on a file until it is released or the run ends.
    pub fn hold(&mut self, path: &Path, lock: File) {
        self.held.insert(path.to_owned(), lock);
    }

    pub fn release(&mut self, path: &Path) {
        self.held.remove(path);
    }

    /// Starts a process, output into `log`.
    ///
    /// # Errors
    /// When it cannot be started.
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
    /// When it ends, or has made none after a while.
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

    /// Ends the process, if it is still that process and its command line carries `tag`.
    ///
    /// # Errors
    /// [`NotOurs`] where its command line does not; when it does not end.
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

    /// Returns true if that very process runs; an ended child of ours is reaped on the way.
    fn alive(&mut self, process: &ProcessId) -> bool {
        self.children.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
        runs(process)
    }
}

/// Returns the files of this machine.
pub(super) fn host_probe() -> Probe {
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

/// Writes a plain file of the run's folder.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// Removes a plain file; one that is gone is fine.
///
/// # Errors
/// When it is still there.
pub(super) fn remove_file(path: &Path) -> Result<()> {
    gone_is_fine(fs::remove_file(path)).with_context(|| format!("cannot remove {}", path.display()))
}

/// Runs a command to its end and returns its standard output.
///
/// # Errors
/// When it cannot be run, does not end, or fails: its words.
pub(super) fn run(command: &mut Command) -> Result<String> {
    checked_output(&typed(command), output(command)?)
}

/// Writes a word to a file of the kernel's.
///
/// # Errors
/// When it does not take it.
pub(super) fn tell_kernel(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text)
        .with_context(|| format!("cannot write \"{}\" to {}", text.trim(), file.display()))
}

pub(super) fn gone_is_fine(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if marker::means_absent(&error) => Ok(()),
        other => other,
    }
}

/// Waits until something is so.
///
/// # Errors
/// When it is not within that time.
pub(crate) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> Result<()> {
    let start = Instant::now();
    while !done() {
        if start.elapsed() > limit {
            bail!("waited {} s", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leftover::input_of;
    use crate::op::MakeDirectory;

    #[test]
    fn what_is_whole_is_not_undone_while_a_program_of_a_killed_undo_goes_on() {
        let run_id = format!("undo-{}", std::process::id());
        let tag = RunTag { run_id: run_id.clone(), run_dir: PathBuf::new() };
        let mut left = Command::new("sleep");
        let mut left =
            left.arg("60").process_group(0).stdin(input_of(&run_id, "").unwrap()).spawn().unwrap();
        let waits = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = std::sync::Arc::clone(&waits);
        let mut system = RealSystem::watched(move |progress| {
            seen.lock().unwrap().push(progress);
            ControlFlow::Break(())
        });
        system.waits_since = Instant::now().checked_sub(STOPPED_WITHIN * 2);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made");
        fs::create_dir(&path).unwrap();
        let (op, made) =
            (Op::MakeDirectory(MakeDirectory { path: path.clone() }), StepOutput::found_at(&path));
        let error = system.undo(&op, &tag, &made).unwrap_err();
        assert!(error.is::<NotOurs>() && path.exists(), "nobody is told to undo it by hand");
        let process = format!("process {} (sleep)", left.id());
        let why = format!(
            "{process}, which the run started, still runs, so this is left alone; hint: clean again"
        );
        assert!(error.to_string().starts_with(&why), "{error}");
        let wait = format!("waiting until {process} of the run ends (at most 120 s)");
        assert_eq!(*waits.lock().unwrap(), [StepProgress::Waits(wait)]);
        left.kill().unwrap();
        left.wait().unwrap();
        system.undo(&op, &tag, &made).unwrap();
        assert!(!path.exists());
    }
}

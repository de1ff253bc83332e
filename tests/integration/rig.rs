//! What the tests share: the program with a folder of runs of its own, and what this machine
//! offers.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

/// A folder on a disk with O_DIRECT (not tmpfs), removed afterwards, with room for runs and files.
pub struct Rig {
    folder: tempfile::TempDir,
}

impl Rig {
    pub fn new() -> Rig {
        Rig { folder: tempfile::Builder::new().prefix("iotax-it-").tempdir_in("/var/tmp").unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn runs(&self) -> PathBuf {
        self.path("runs")
    }

    /// `file:...,size=NMiB` in the rig's folder.
    pub fn file(&self, name: &str, mib: u64) -> String {
        format!("file:{},size={mib}MiB", self.path(name).display())
    }

    /// A file with a loop device and a file system on it, where the machine can make them.
    pub fn loop_and_xfs(&self) -> Option<String> {
        let stack = || format!("{} | loop | fs(xfs)", self.file("x.img", 512));
        (can_loop() && can_run(&["mkfs.xfs"])).then(stack)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.arg("--runs").arg(self.runs()).args(args).current_dir(self.folder.path());
        // Signs in ASCII, which the tests look for.
        command.env("LC_ALL", "C");
        command
    }

    /// Started, with all that it says in pipes.
    pub fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs it with that on its standard input.
    pub fn piped(&self, args: &[&str], text: &[u8]) -> Output {
        let mut command = self.command(args);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Runs it until it is killed at a record of its journal: `3:after`.
    pub fn killed_at(&self, record: &str, args: &[&str]) {
        let output = self.command(args).env("IOTAX_CRASH_AT", record).output().unwrap();
        assert_eq!(output.status.code(), None, "{}", words(&output));
    }

    pub fn iotax(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs it, checks the exit code, gives standard output.
    pub fn expect(&self, code: i32, args: &[&str]) -> String {
        let output = self.iotax(args);
        assert_eq!(output.status.code(), Some(code), "iotax {args:?}\n{}", words(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs it and reads its report of version 1.
    pub fn json(&self, args: &[&str]) -> Value {
        self.json_of(0, args)
    }

    /// The same of a run that ends with that code.
    pub fn json_of(&self, code: i32, args: &[&str]) -> Value {
        let text = self.expect(code, &[args, &["--format", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// What the newest run has recorded under a name.
    pub fn records(&self, kind: &str) -> Vec<Value> {
        let index = self.index();
        let parsed =
            index.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["rec"].clone());
        parsed.filter(|record| record["record"] == kind).collect()
    }

    /// Runs it to a failure with that code and gives standard error.
    pub fn complaint(&self, code: i32, args: &[&str]) -> String {
        let output = self.iotax(args);
        assert_eq!(output.status.code(), Some(code), "iotax {args:?}\n{}", words(&output));
        String::from_utf8(output.stderr).unwrap()
    }

    /// Runs it to a failure with that code whose words have all of these.
    pub fn complains(&self, code: i32, args: &[&str], parts: &[&str]) {
        let text = self.complaint(code, args);
        for part in parts {
            assert!(text.contains(part), "iotax {args:?} does not say {part:?}:\n{text}");
        }
    }

    /// The record of the newest run, as far as it is written; nothing before there is one.
    pub fn index(&self) -> String {
        let run = self.run_dirs().pop();
        run.and_then(|run| std::fs::read_to_string(run.join("index.jsonl")).ok())
            .unwrap_or_default()
    }

    /// Slices that the newest run has recorded by now.
    pub fn slices(&self) -> usize {
        self.index().matches(r#""record":"slice""#).count()
    }

    /// The id of the newest run.
    pub fn last_id(&self) -> String {
        self.run_dirs().pop().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// Folders of the runs, the newest last: ids of one second are in no order.
    pub fn run_dirs(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.runs()) else { return Vec::new() };
        let mut dirs: Vec<PathBuf> =
            entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
        dirs.sort_by_key(|dir| dir.metadata().and_then(|meta| meta.created()).unwrap());
        dirs
    }
}

/// For tests whose figures a busy machine would spoil, which `./check` runs by the `when_quiet` in
/// their names when all else is done, and for those that make it busy: guests in the translator
/// take every processor there is. One of them runs at a time.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    // One that failed has nothing that the next could find broken.
    MACHINE.write().unwrap_or_else(|poison| poison.into_inner())
}

/// For tests that make the machine busy and take no figures: several of them may run at a time.
pub fn beside() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(|poison| poison.into_inner())
}

static MACHINE: RwLock<()> = RwLock::new(());

/// Without the breaks of lines, which depend on how long names are.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn words(output: &Output) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The program without what a debugger needs, which is most of it, and beside it the agent that it
/// copies into guests and to hosts.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let whole = Path::new(env!("CARGO_BIN_EXE_iotax"));
        let agent = whole.with_file_name("iotax-agent");
        assert!(
            agent.is_file(),
            "{} is not built: cargo test --workspace builds it",
            agent.display()
        );
        stripped(&agent);
        stripped(whole)
    })
}

/// A copy that is made again when the program is newer; where there is no strip, the program
/// itself.
fn stripped(whole: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let name = whole.file_name().unwrap();
    let small = folder.join(name);
    let changed = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    if changed(&small) > changed(whole) {
        return small;
    }
    // Others may be running what is there.
    let fresh = folder.join(format!("{}.{}", name.to_string_lossy(), std::process::id()));
    let strip = Command::new("strip").args(["--strip-all", "-o"]).arg(&fresh).arg(whole).status();
    match strip.is_ok_and(|status| status.success()) {
        true => std::fs::rename(&fresh, &small).unwrap(),
        false => return whole.to_owned(),
    }
    small
}

/// Without the breaks of lines it says all of these.
pub fn says(text: &str, parts: &[&str]) {
    let text = flat(text);
    parts.iter().for_each(|part| assert!(text.contains(part), "no {part:?} in {text}"));
}

/// Loop devices on files that name the folder, each with its file.
pub fn loops(folder: &Path) -> Vec<String> {
    let needle = folder.to_str().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/sys/block").unwrap().flatten() {
        let backing =
            std::fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        if backing.contains(needle) {
            found.push(format!("{} on {}", entry.file_name().to_string_lossy(), backing.trim()));
        }
    }
    found
}

/// Bytes of a file that no block is behind.
pub fn holes(path: &Path) -> u64 {
    let meta = path.metadata().unwrap();
    meta.len().saturating_sub(meta.blocks() * 512)
}

/// The process of that program, if there is one, whose command line names that.
pub fn process_of(program: &str, needle: &str) -> Option<Pid> {
    let names = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    let mut pids = names.filter_map(|name| name.to_str()?.parse::<i32>().ok());
    let is_it = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.starts_with(program) && line.contains(needle)
    };
    Pid::from_raw(pids.find(is_it)?)
}

/// Sends a signal to a program that was started here.
pub fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// What is left of runs on this machine: loop devices, mounts and processes that name the folder.
pub fn traces(folder: &Path) -> Vec<String> {
    let needle = folder.to_str().unwrap();
    let mut found = loops(folder);
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    found.extend(mounts.lines().filter(|line| line.contains(needle)).map(str::to_owned));
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let is_process = entry
            .file_name()
            .to_string_lossy()
            .parse::<u32>()
            .is_ok_and(|pid| pid != std::process::id());
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if is_process && line.contains(needle) {
            found.push(line);
        }
    }
    found
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub fn has(program: &str) -> bool {
    let folders = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    folders.split(':').any(|folder| Path::new(folder).join(program).exists())
}

/// Says which of these programs is missing and gives false, or gives true.
pub fn can_run(programs: &[&str]) -> bool {
    programs.iter().all(|program| can(program, has(program)))
}

/// Whether guests can be booted here.
pub fn can_boot() -> bool {
    can_run(&["qemu-system-x86_64"])
}

/// Whether disks of guests can be served beside QEMU here.
pub fn can_serve() -> bool {
    can_run(&["qemu-system-x86_64", "qemu-storage-daemon"])
}

/// The disks of all guests of a report.
pub fn disks(report: &Value) -> Vec<Value> {
    let places = report["places"].as_array().unwrap();
    places.iter().filter_map(|place| place["disks"].as_array()).flatten().cloned().collect()
}

/// Whether loop devices can be made here.
pub fn can_loop() -> bool {
    can("root and loop devices", is_root() && Path::new("/dev/loop-control").exists())
}

/// Says what is missing and gives false, or gives true.
pub fn can(what: &str, available: bool) -> bool {
    if !available {
        eprintln!("skipped: needs {what}");
    }
    available
}

/// Waits for something that must come.
pub fn wait(done: impl Fn() -> bool, seconds: u64, what: &str) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(seconds), "{what} did not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

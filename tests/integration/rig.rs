//! What the tests share: the program with a folder of runs of its own, and what this machine offers.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
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
        let able = is_root() && Path::new("/dev/loop-control").exists() && has("mkfs.xfs");
        let stack = || format!("{} | loop | fs(xfs)", self.file("x.img", 512));
        can("root, loop devices and mkfs.xfs", able).then(stack)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.arg("--runs").arg(self.runs()).args(args).current_dir(self.folder.path());
        command
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
        let text = self.expect(0, &[args, &["--format", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// What the newest run has recorded under a name.
    pub fn records(&self, kind: &str) -> Vec<Value> {
        let index = std::fs::read_to_string(self.run_dirs().pop().unwrap().join("index.jsonl")).unwrap();
        let parsed = index.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["rec"].clone());
        parsed.filter(|record| record["record"] == kind).collect()
    }

    /// Runs it to a failure with that code and gives standard error.
    pub fn complaint(&self, code: i32, args: &[&str]) -> String {
        let output = self.iotax(args);
        assert_eq!(output.status.code(), Some(code), "iotax {args:?}\n{}", words(&output));
        String::from_utf8(output.stderr).unwrap()
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

/// For tests whose figures a busy machine would spoil, and for those that make it busy: guests in the translator take every
/// processor there is. One of them runs at a time.
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
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The program without what a debugger needs, which is most of it: guests read it at every start, and it is copied over ssh.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| stripped(Path::new(env!("CARGO_BIN_EXE_iotax"))))
}

/// A copy that is made anew when the program is newer; where there is no strip, the program itself.
fn stripped(whole: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let small = folder.join("iotax");
    let changed = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    if changed(&small) > changed(whole) {
        return small;
    }
    // Others may be running what is there.
    let fresh = folder.join(format!("iotax.{}", std::process::id()));
    let strip = Command::new("strip").args(["--strip-all", "-o"]).arg(&fresh).arg(whole).status();
    match strip.is_ok_and(|status| status.success()) {
        true => std::fs::rename(&fresh, &small).unwrap(),
        false => return whole.to_owned(),
    }
    small
}

/// What is left of runs on this machine: loop devices, mounts and processes that name the folder.
pub fn traces(folder: &Path) -> Vec<String> {
    let needle = folder.to_str().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/sys/block").unwrap().flatten() {
        let backing = std::fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        if backing.contains(needle) {
            found.push(format!("{} on {}", entry.file_name().to_string_lossy(), backing.trim()));
        }
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    found.extend(mounts.lines().filter(|line| line.contains(needle)).map(str::to_owned));
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let is_process =
            entry.file_name().to_string_lossy().parse::<u32>().is_ok_and(|pid| pid != std::process::id());
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

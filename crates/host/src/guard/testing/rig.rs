//! Things that tests of the guard need of the machine: loop devices, a small tmpfs, commands. Each
//! says loudly what is missing, and is removed when dropped.

use iotax_facts::Consent;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Says that a test does not run.
pub fn skip(need: &str) {
    eprintln!("skipped: needs {need}");
}

/// Returns true if we are root; says so when not.
pub fn root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("root");
    }
    root
}

/// Parses consent from the words that a user writes: `serial=S1,wipe=gpt`.
pub fn consent(text: &str) -> Consent {
    let mut consent = Consent { serial: String::new(), wipe: Vec::new(), unseen: Vec::new() };
    for (key, value) in text.split(',').filter_map(|part| part.split_once('=')) {
        match key {
            "wipe" => consent.wipe.push(value.into()),
            "unseen" => consent.unseen.push(value.into()),
            _ => consent.serial = value.into(),
        }
    }
    consent
}

/// Runs a program to its end; `None`, said loudly, when it is missing or fails.
pub fn run(words: &[&str]) -> Option<String> {
    let program = crate::probe::program_path(words[0]).or_else(|| {
        skip(words[0]);
        None
    })?;
    let output = Command::new(program)
        .args(&words[1..])
        .stdin(Stdio::null())
        .output()
        .expect("start a program");
    if !output.status.success() {
        skip(&format!("{words:?} to work: {}", String::from_utf8_lossy(&output.stderr).trim()));
        return None;
    }
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A small tmpfs of its own.
pub struct Tmpfs(TempDir);

impl Tmpfs {
    /// Mounts one of this size.
    pub fn with_size(bytes: u64) -> Option<Tmpfs> {
        let folder = tempfile::tempdir().expect("temporary folder");
        if !root() {
            return None;
        }
        run(&[
            "mount",
            "-t",
            "tmpfs",
            "-o",
            // A folder of runs has this mode.
            &format!("size={bytes},mode=0700"),
            "iotax-test",
            folder.path().to_str()?,
        ])?;
        Some(Tmpfs(folder))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        run(&["umount", self.0.path().to_str().expect("utf-8")]);
    }
}

/// A loop device over a file of zeros.
pub struct Loop {
    pub path: PathBuf,
    pub file: PathBuf,
    folder: TempDir,
}

impl Loop {
    /// Makes a loop device of `bytes` bytes, with a partition scan.
    pub fn with_size(bytes: u64) -> Option<Loop> {
        let folder = tempfile::tempdir().expect("temporary folder");
        let file = folder.path().join("loop.img");
        std::fs::File::create(&file).and_then(|file| file.set_len(bytes)).expect("backing file");
        if !root() {
            return None;
        }
        let path = run(&["losetup", "--find", "--show", "--partscan", file.to_str()?])?;
        Some(Loop { path: path.into(), file, folder })
    }

    /// Returns its path as text.
    pub fn name(&self) -> &str {
        self.path.to_str().expect("utf-8")
    }

    /// Makes an empty folder beside its file, to mount it on.
    pub fn mount_point(&self) -> PathBuf {
        let point = self.folder.path().join("mnt");
        std::fs::create_dir_all(&point).expect("mount point");
        point
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run(&["losetup", "--detach", self.name()]);
    }
}

/// A child that is ended when dropped.
pub struct Child(std::process::Child);

impl Child {
    /// Starts a program, and waits until `ready` says so (10 s at most).
    pub fn start(words: &[&str], ready: impl Fn(u32) -> bool) -> Option<Child> {
        let Some(program) = crate::probe::program_path(words[0]) else {
            skip(words[0]);
            return None;
        };
        let mut command = Command::new(program);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = Child(command.spawn().expect("start a program"));
        for _ in 0..200 {
            if ready(child.0.id()) {
                return Some(child);
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        skip(&format!("{words:?} to come up"));
        None
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

//! Version and abilities of an installed QEMU, which is run to find out.

use crate::qmp::Qmp;
use iotax_sys::child::{ANSWERS_WITHIN, output_of};
use serde_json::json;
use std::ffi::OsStr;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Oldest supported QEMU. iotax was tested with 7.2; its options are documented since this version
/// (-blockdev without JSON, `server=on`, io_uring).
pub const OLDEST: Version = Version { major: 6, minor: 0, patch: 0 };

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Version {
    /// Parses the version in a text like `QEMU emulator version 7.2.22 (Debian ...)`.
    pub fn parse(text: &str) -> Option<Version> {
        let number = text.split("version ").nth(1)?.split_whitespace().next()?;
        let mut parts = number.split('.').map(|part| {
            let digits = part.find(|c: char| !c.is_ascii_digit()).map_or(part, |end| &part[..end]);
            digits.parse::<u32>().ok()
        });
        let (major, minor) = (parts.next()??, parts.next()??);
        Some(Version { major, minor, patch: parts.next().flatten().unwrap_or(0) })
    }
}

/// Returns the version of the installed QEMU or storage daemon (`program`).
///
/// # Errors
/// Says that it is not installed, too old, or prints no version.
pub fn installed_version(program: &OsStr) -> Result<Version, String> {
    let name = program.to_string_lossy();
    let Ok(output) = output_of(Command::new(program).arg("--version"), ANSWERS_WITHIN) else {
        return Err(format!("{name} ({OLDEST} or newer) is not installed"));
    };
    let text = String::from_utf8_lossy(&output.stdout);
    match Version::parse(&text) {
        Some(version) if version >= OLDEST => Ok(version),
        Some(version) => Err(format!("{name} is {version}, which is older than {OLDEST}")),
        None => Err(format!(
            "{name} reports no version that iotax can read (it printed \"{}\")",
            text.trim()
        )),
    }
}

/// Arguments that start QEMU without a guest, controlled by QMP on its standard input and output.
pub const EMPTY_QEMU: &[&str] =
    &["-machine", "none", "-nodefaults", "-no-user-config", "-display", "none", "-qmp", "stdio"];

/// Arguments that start QEMU's storage daemon without a disk, controlled by QMP on its standard
/// input and output.
pub const EMPTY_DAEMON: &[&str] =
    &["--chardev", "stdio,id=control", "--monitor", "chardev=control,mode=control"];

/// Checks that this program (QEMU, or its storage daemon) can open a file with aio=io_uring on this
/// kernel, by doing it. It may be built without io_uring, and kernel.io_uring_disabled or a seccomp
/// filter may forbid it. `empty`: the arguments that start it without a guest or disk.
///
/// # Errors
/// The program's own message, or why it could not be run.
pub fn io_uring_works(program: &OsStr, empty: &[&str]) -> Result<(), String> {
    let limit = Duration::from_secs(10);
    let file =
        tempfile::NamedTempFile::new().map_err(|error| format!("cannot create a file: {error}"))?;
    let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
    let input = theirs.try_clone().map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args(empty)
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(input)))
        .stdout(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot run {}: {error}", program.to_string_lossy()))?;
    let node =
        json!({"driver": "file", "node-name": "probe", "filename": file.path(), "aio": "io_uring"});
    let answer = Qmp::greet(ours, limit).and_then(|mut qmp| qmp.execute("blockdev-add", node));
    // It has no guest and no data; an error means that it has ended already.
    let _ = child.kill();
    let _ = child.wait();
    answer.map(drop).map_err(|error| error.to_string())
}

impl Version {
    /// Returns a release without a patch number: `Version::new(9, 0)` is 9.0.0.
    pub const fn new(major: u32, minor: u32) -> Version {
        Version { major, minor, patch: 0 }
    }
}

//! Programs of the system that steps run: explicit arguments, words that do not depend on the language, nothing to read from.

use super::process;
use super::system::{run, wait_until};
use crate::host::probe::program_path;
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The longest that a tool of the system was seen to take by itself: zpool create on many disks.
const ORPHAN_LIMIT: Duration = Duration::from_secs(120);

/// A program with its arguments, not run yet. Those of system administration are in folders that a user's `PATH` may lack.
pub(super) fn tool(program: &str, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let found = program_path(program).unwrap_or_else(|| PathBuf::from(program));
    let mut command = Command::new(found);
    command.args(arguments).env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// The same run to its end with a script on its standard input; gives its standard output.
///
/// # Errors
/// When it cannot be run or fails: its words.
pub(super) fn run_with(mut command: Command, script: &str) -> Result<String> {
    let shown = format!("{command:?}");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot run {shown}"))?;
    // One that ends without reading all of it has words of its own about that.
    let told = child.stdin.take().context("no standard input")?.write_all(script.as_bytes());
    let output = child.wait_with_output().with_context(|| format!("cannot run {shown}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("{shown} failed ({}): {}", output.status, words.trim());
    }
    told.with_context(|| format!("{shown} did not take its script"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Loads those of the modules that are not loaded. The kernel would ask for some of them itself, but not where its modprobe is
/// another than ours (a container). One that is built in need not be known.
///
/// # Errors
/// When there is none, or modprobe refuses.
pub(super) fn load_modules(modules: &[&str]) -> Result<()> {
    let is_loaded = |module: &&&str| Path::new("/sys/module").join(module.replace('-', "_")).exists();
    let lacking: Vec<&str> = modules.iter().filter(|module| !is_loaded(module)).copied().collect();
    match lacking.is_empty() {
        true => Ok(()),
        false => run(&mut tool("modprobe", ["-a"].into_iter().chain(lacking))).map(drop),
    }
}

/// Waits until udev has dealt with what was told of devices, where there is a udev: it opens what has changed, and what it has
/// open cannot be taken away.
pub(super) fn settle() {
    let _ = tool("udevadm", ["settle", "--timeout=30"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Waits for a program that whoever started it has left behind, killed: it goes on by itself, and what it makes is not seen before
/// it has ended. It is one of these programs, and its command line has one of these texts in it.
///
/// # Errors
/// It does not end.
pub(super) fn await_orphans(programs: &[&str], carried: &[&str]) -> Result<()> {
    for orphan in process::processes_carrying(programs, carried)? {
        wait_until(ORPHAN_LIMIT, || !process::runs(&orphan)).with_context(|| {
            let (pid, programs) = (orphan.pid, programs.join(" or "));
            format!("process {pid} ({programs}), which a killed run left behind, does not end")
        })?;
    }
    Ok(())
}

/// One word for sh, whatever is in it.
pub(crate) fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// 128 bits as 8-4-4-4-12 hexadecimal digits that are the same for the same text.
pub(crate) fn guid(text: &str) -> String {
    let word = |salt: u8| crc32fast::hash(format!("{salt} {text}").as_bytes());
    let (a, b, c, d) = (word(0), word(1), word(2), word(3));
    // Of version 4, as a random one is.
    let (b, c) = (b & 0xffff_0fff | 0x4000, c & 0x3fff_ffff | 0x8000_0000);
    format!("{a:08X}-{:04X}-{:04X}-{:04X}-{:04X}{d:08X}", b >> 16, b & 0xffff, c >> 16, c & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_and_what_fails_has_its_words() {
        assert_eq!(run_with(tool("cat", ["-"]), "label: gpt\n").unwrap(), "label: gpt\n");
        let error = run_with(tool("ls", ["/there is none"]), "").unwrap_err().to_string();
        assert!(error.contains("failed (exit status: 2)") && error.contains("No such file"), "{error}");
    }

    #[test]
    fn what_a_killed_run_left_behind_is_waited_for() {
        let tag = format!("iotax-orphan-{}", std::process::id());
        let there = || !process::processes_carrying(&["sh"], &[&tag]).unwrap().is_empty();
        let mut orphan = Command::new("sh").args(["-c", "sleep 0.5; true", &tag]).spawn().unwrap();
        wait_until(Duration::from_secs(5), there).unwrap();
        assert!(process::processes_carrying(&["lvm"], &[&tag]).unwrap().is_empty(), "another program");
        let reaped = std::thread::spawn(move || orphan.wait().unwrap());
        await_orphans(&["sh"], &["x", &tag]).unwrap();
        assert!(!there());
        reaped.join().unwrap();
    }

    #[test]
    fn a_guid_is_that_of_its_text() {
        let one = guid("20260101-120000-a1b2 part0");
        assert_eq!(one, guid("20260101-120000-a1b2 part0"));
        assert_ne!(one, guid("20260101-120000-a1b2 part1"));
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert!(one.split('-').nth(2).unwrap().starts_with('4'), "{one}");
    }
}

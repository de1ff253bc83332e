//! Finds, checks and ends processes. A process is identified by its pid and its start time, so that
//! a pid that is used again is never mistaken for it.

use crate::wait::wait_until;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// Process, identified by its start time too: a reused pid is never mistaken for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: u32,
    /// Field 22 of /proc/PID/stat, clock ticks since boot.
    pub start_time: u64,
}

/// Finds a process of this user, other than this one, whose command line has `tag` as a word.
/// Another user's process may have it, too, and is not returned.
///
/// # Errors
/// When /proc cannot be read.
pub fn process_of_tag(tag: &str) -> Result<Option<ProcessId>> {
    let all = processes(|words| words.contains(&tag))?;
    Ok(all.into_iter().find(|process| process.pid != std::process::id() && is_mine(process.pid)))
}

/// Returns true if this process still runs, is this user's, and has `tag` as a word of its command
/// line.
pub fn carries(process: &ProcessId, tag: &str) -> bool {
    is_mine(process.pid) && has_word(process.pid, tag) && runs(process)
}

fn has_word(pid: u32, tag: &str) -> bool {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    command.split(|byte| *byte == 0).any(|word| word == tag.as_bytes())
}

/// Returns true if a process has this user as its effective user. The owner of its folder in /proc
/// does not show that: it may be root, for a process that nobody may inspect.
pub(crate) fn is_mine(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let effective = users.and_then(|users| users.split_whitespace().nth(1)?.parse().ok());
    effective == Some(rustix::process::geteuid().as_raw())
}

/// Returns the running processes, of any user, for whose command line, split into words,
/// `is_wanted` is true.
///
/// # Errors
/// When /proc cannot be read.
pub fn processes(is_wanted: impl Fn(&[&str]) -> bool) -> Result<Vec<ProcessId>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").context("cannot read /proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(command) = fs::read(entry.path().join("cmdline")) else { continue };
        let command = String::from_utf8_lossy(&command);
        let words: Vec<&str> = command.trim_end_matches('\0').split('\0').collect();
        if is_wanted(&words) {
            found.extend(process_id(pid).filter(runs));
        }
    }
    Ok(found)
}

/// Finds a process as [`process_of_tag`] does, and waits up to 2 s for one that was just started:
/// the kernel fills in its command line a little after its starter goes on, which shows on a busy
/// machine.
///
/// # Errors
/// As [`process_of_tag`].
pub fn started_process(tag: &str) -> Result<Option<ProcessId>> {
    let start = Instant::now();
    loop {
        match process_of_tag(tag)? {
            None if start.elapsed() < Duration::from_secs(2) => {
                std::thread::sleep(Duration::from_millis(20))
            }
            found => return Ok(found),
        }
    }
}

/// Ends this process by SIGKILL, as a crash would, and waits until it is gone. Its starter then
/// cleans up as after any other end. Does nothing if it has ended already.
///
/// # Errors
/// When the kernel refuses, or it is still there after 10 s.
pub fn kill(process: &ProcessId) -> Result<()> {
    if let Some(pid) = rustix::process::Pid::from_raw(process.pid as i32).filter(|_| runs(process))
    {
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)
            .with_context(|| format!("cannot kill process {}", process.pid))?;
    }
    wait_until(Duration::from_secs(10), || !runs(process))
        .with_context(|| format!("process {} does not end by SIGKILL", process.pid))
}

pub fn process_id(pid: u32) -> Option<ProcessId> {
    stat(pid).map(|stat| ProcessId { pid, start_time: stat.start_time })
}

/// Returns true if this process exists and has not ended. A zombie counts as running while some of
/// its other threads are ending, as its files and sockets are still open.
pub fn runs(process: &ProcessId) -> bool {
    let lives = |stat: &Stat| !matches!(stat.state, 'Z' | 'X') || stat.threads > 1;
    stat(process.pid).is_some_and(|stat| stat.start_time == process.start_time && lives(&stat))
}

/// Describes how a child of ours ended that has not been waited for: `signal: 9 (SIGKILL)`, `exit
/// status: 1`. Gives one that is just ending half a second. Returns `None` if it runs, has been
/// waited for, or the kernel does not show its exit code.
pub fn end_of(process: &ProcessId) -> Option<String> {
    // A stream closes before its process is through.
    let _ = wait_until(ENDS_WITHIN, || !runs(process));
    let stat = stat(process.pid)
        .filter(|stat| stat.start_time == process.start_time && stat.state == 'Z')?;
    Some(ExitStatus::from_raw(stat.exit_code?).to_string())
}

const ENDS_WITHIN: Duration = Duration::from_millis(500);

pub(crate) struct Stat {
    state: char,
    pub(crate) group: u32,
    pub(crate) session: u32,
    threads: u64,
    start_time: u64,
    exit_code: Option<i32>,
}

/// Reads the stat file of a process; `None` if the process is gone. The name in it may have spaces
/// and parentheses, so the fields are counted from after it.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split_ascii_whitespace().collect();
    // Numbered from the third, as proc(5) counts them.
    let field = |number: usize| fields.get(number - 3);
    Some(Stat {
        state: field(3)?.chars().next()?,
        group: field(5)?.parse().ok()?,
        session: field(6)?.parse().ok()?,
        threads: field(20)?.parse().ok()?,
        start_time: field(22)?.parse().ok()?,
        exit_code: field(52).and_then(|code| code.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_known_by_its_start_too() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = process_id(child.id()).unwrap();
        assert!(runs(&process));
        let another = ProcessId { start_time: process.start_time + 1, ..process.clone() };
        assert!(!runs(&another));
        assert_eq!(end_of(&process), None);
        child.kill().unwrap();
        wait_until(Duration::from_secs(30), || !runs(&process)).expect("a zombie does not run");
        assert_eq!(end_of(&process).as_deref(), Some("signal: 9 (SIGKILL)"));
        assert_eq!(end_of(&another), None);
        child.wait().unwrap();
        assert!(process_id(process.pid).is_none());
    }
}

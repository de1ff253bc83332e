//! Finds programs that keep running after the iotax that started them was killed. What such a
//! program creates is known only after it has ended, and a device that it opens late may belong to
//! somebody else by then, so nothing is undone while one runs. A program is recognised by marks
//! that are set before it starts and that remain when iotax is killed. Its standard input is a file
//! in memory (memfd) with the run's id in its name, and commands of a `[tool.NAME]` have the id in
//! their environment, which every process that they start inherits. A process that drops both
//! marks, or that another service starts, is not found.

use super::process::{is_mine, process_id, runs, stat};
use crate::process::ProcessId;
use anyhow::{Context, Result};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

const RUN_VARIABLE: &str = "IOTAX_RUN";

/// Id of the run whose steps this process performs; empty before the first.
static CURRENT_RUN: Mutex<String> = Mutex::new(String::new());

/// Marks programs that are started from now on with this run's id.
pub(crate) fn begin_run(run_id: &str) {
    run_id.clone_into(&mut CURRENT_RUN.lock().unwrap_or_else(PoisonError::into_inner));
}

fn current_run() -> String {
    CURRENT_RUN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns a file with this text for the standard input of a program. Its name marks the program as
/// one of the current run.
///
/// # Errors
/// If the kernel cannot make a file in memory.
pub(crate) fn marked_input(text: &str) -> Result<File> {
    input_of(&current_run(), text).context("cannot make the standard input of a program")
}

pub fn input_of(run_id: &str, text: &str) -> std::io::Result<File> {
    let (name, flags) = (format!("iotax-{run_id}"), MemfdFlags::CLOEXEC);
    // Some systems require the seal, but kernels before 6.3 do not know it.
    let sealed = memfd_create(&name, flags | MemfdFlags::NOEXEC_SEAL);
    let mut input = File::from(sealed.or_else(|_| memfd_create(&name, flags))?);
    input.write_all(text.as_bytes())?;
    input.rewind()?;
    Ok(input)
}

/// Marks a command by a variable in its environment, which every process that it starts inherits.
pub fn mark_descendants(command: &mut Command) -> &mut Command {
    command.env(RUN_VARIABLE, current_run())
}

/// Returns a process of this user that the run started and that still runs, and its name.
///
/// # Errors
/// When /proc cannot be read.
pub(crate) fn leftover_of(run_id: &str) -> Result<Option<(ProcessId, String)>> {
    // A process that forks and exits during a scan may be missed, but the next scan finds its
    // child.
    Ok(find_leftover(run_id)?.or(find_leftover(run_id)?))
}

fn find_leftover(run_id: &str) -> Result<Option<(ProcessId, String)>> {
    for entry in fs::read_dir("/proc").context("cannot read /proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if pid == std::process::id() || !is_mine(pid) {
            continue;
        }
        let Some(process) = process_id(pid).filter(runs) else { continue };
        if is_started_for(&entry.path(), pid, run_id) {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            return Ok(Some((process, name.trim().to_owned())));
        }
    }
    Ok(None)
}

fn is_started_for(folder: &Path, pid: u32, run_id: &str) -> bool {
    let input = fs::read_link(folder.join("fd/0")).unwrap_or_default();
    let is_marked = input.as_os_str() == format!("/memfd:iotax-{run_id} (deleted)").as_str();
    // iotax starts a program in a new process group but not in a new session. A daemon that keeps
    // its input has its own session, or is in another process's group.
    let is_first = || stat(pid).is_some_and(|stat| stat.group == pid && stat.session != pid);
    let variable = format!("{RUN_VARIABLE}={run_id}");
    let carries = || {
        let environment = fs::read(folder.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|word| word == variable.as_bytes())
    };
    is_marked && is_first() || carries()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::wait_until;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Stdio};
    use std::time::Duration;

    /// Starts a program as iotax does, and waits until the program itself runs.
    fn start(run_id: &str, words: &[&str], is_of_tool: bool) -> Child {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).process_group(0).stdout(Stdio::null());
        command.stdin(input_of(run_id, "").unwrap());
        if is_of_tool {
            command.env(RUN_VARIABLE, run_id);
        }
        command.spawn().unwrap()
    }

    fn is_left(run_id: &str) -> bool {
        leftover_of(run_id).unwrap().is_some()
    }

    #[test]
    fn a_program_is_seen_whoever_interprets_it_until_all_that_it_started_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .unwrap();
            path.display().to_string()
        };
        let dash = script("dash", "#!/bin/sh -e\nsleep 1\n:\n");
        let split = script("split", "#!/usr/bin/env -S bash -e\nsleep 1\n:\n");
        let behind = script("behind", "#!/bin/sh\n(sleep 1; :) &\n");
        for (at, words) in [
            vec![dash.as_str()],
            vec!["env", "A=1", &dash],
            vec!["env", "-i", &dash],
            vec![&split],
            vec!["perl", "-e", "sleep 1"],
            vec![&behind],
            vec!["setsid", "--fork", &dash],
        ]
        .into_iter()
        .enumerate()
        {
            let run_id = format!("left-{}-{at}", std::process::id());
            let mut child = start(&run_id, &words, true);
            wait_until(Duration::from_secs(5), || is_left(&run_id)).unwrap();
            std::thread::sleep(Duration::from_millis(200));
            assert!(is_left(&run_id), "{words:?}");
            child.wait().unwrap();
            wait_until(Duration::from_secs(10), || !is_left(&run_id)).unwrap();
        }
    }

    #[test]
    fn a_program_of_the_system_is_seen_and_the_daemon_that_it_starts_is_not() {
        let run_id = format!("daemon-{}", std::process::id());
        let mut first = start(&run_id, &["sleep", "60"], false);
        assert!(is_left(&run_id) && !is_left("another"));
        let (_, name) = leftover_of(&run_id).unwrap().unwrap();
        assert!(["sleep", "iotax_drivers"].iter().any(|known| name.starts_with(known)), "{name}");
        first.kill().unwrap();
        first.wait().unwrap();
        let mut starter = start(&run_id, &["setsid", "--fork", "sleep", "1"], false);
        starter.wait().unwrap();
        assert!(!is_left(&run_id));
    }

    #[test]
    fn a_program_reads_its_text() {
        let mut command = Command::new("cat");
        let output = command.stdin(input_of("r", "label: gpt\n").unwrap()).output().unwrap();
        assert_eq!(output.stdout, b"label: gpt\n");
        let again = Command::new("cat")
            .arg("/dev/stdin")
            .stdin(input_of("r", "x").unwrap())
            .output()
            .unwrap();
        assert_eq!(again.stdout, b"x", "as virsh opens it");
    }
}

//! Runs programs that build. Each is in a process group of its own, and is ended with all that it
//! started when the user stops the build or this process ends. Their output goes to a log, whose
//! end is in the error.

use anyhow::{Context, Result};
use iotax_sys::child::{ended_within, ends_with_us, signal_all};
use iotax_sys::regular::{LAST_WORDS, LONGEST_TEXT, tail};
use iotax_units::exit::Failed;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time that a program gets to end after SIGINT: mmdebstrap unmounts what it mounted, and removes
/// its folder.
const PATIENCE: Duration = Duration::from_secs(30);

const LAST_LINES: usize = 12;

/// Runs a program to its end in a folder, with its output in `NAME.log` there.
///
/// # Errors
/// A failed measurement: the user stopped it. It cannot be started, or ended with an error (with
/// the last lines of its output).
pub fn run_to_end(
    name: &str,
    command: &mut Command,
    folder: &Path,
    stop: &AtomicBool,
) -> Result<()> {
    let path = log(folder, name);
    let words = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    command.current_dir(folder).env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
    command.stdin(Stdio::null()).stdout(words.try_clone()?).stderr(words).process_group(0);
    let mut child = ends_with_us(command)
        .spawn()
        .with_context(|| format!("cannot run {}", command.get_program().to_string_lossy()))?;
    let status = await_end(&mut child, stop)?;
    match status {
        None => Err(interrupted().into()),
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(anyhow::anyhow!("{name} ended with {status}{}", last_lines(&path))),
    }
}

fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.log"))
}

/// Returns the line of a program's log that best explains its failure: the first that says that it
/// is an error, or else the last.
pub fn cause(folder: &Path, name: &str) -> Option<String> {
    let text = tail(&log(folder, name), LONGEST_TEXT);
    let is_error = |line: &&str| line.starts_with("E: ") || line.contains("error: ");
    let line = text
        .lines()
        .find(is_error)
        .or_else(|| text.lines().rfind(|line| !line.trim().is_empty()))?;
    Some(line.trim().trim_start_matches("E: ").to_owned())
}

/// Returns the error of a build that the user stopped.
pub fn interrupted() -> Failed {
    Failed::measurement("interrupted: nothing of the image stays")
}

/// Waits for the end of a program; `None`: it was stopped.
fn await_end(child: &mut Child, stop: &AtomicBool) -> Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = ended_within(child, Duration::from_millis(50))? {
            // A signal from the terminal may have reached the program first.
            return Ok((!stop.load(Ordering::Relaxed)).then_some(status));
        }
        if stop.load(Ordering::Relaxed) {
            end_child(child)?;
            return Ok(None);
        }
    }
}

fn end_child(child: &mut Child) -> Result<()> {
    let group = Pid::from_child(child);
    signal_all(child, Signal::INT);
    ended_within(child, PATIENCE)?;
    // Programs that it started may outlive it. A group that is gone needs no signal.
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()?;
    Ok(())
}

fn last_lines(log: &Path) -> String {
    let text = tail(log, LAST_WORDS);
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..]
        .iter()
        .map(|line| format!("\n    {line}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn what_a_program_said_last_is_in_its_error() {
        let folder = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let shell = |script: &str| {
            run_to_end("sh", Command::new("sh").args(["-c", script]), folder.path(), &stop)
        };
        shell("pwd > here").unwrap();
        assert!(folder.path().join("here").exists(), "it runs in the folder");
        let error = shell("seq 1 40; echo no room >&2; exit 3").unwrap_err().to_string();
        assert!(error.starts_with("sh ended with exit status: 3\n    30\n"), "{error}");
        assert!(error.ends_with("    40\n    no room"), "{error}");
        let lacking = run_to_end("x", &mut Command::new("no-such-program"), folder.path(), &stop)
            .unwrap_err();
        assert_eq!(lacking.to_string(), "cannot run no-such-program");
    }

    #[test]
    fn the_cause_is_the_first_line_that_tells_of_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let cause_of = |text: &str| {
            std::fs::write(folder.path().join("zfs.log"), text).unwrap();
            cause(folder.path(), "zfs")
        };
        let apt = "I: begins\nE: Unable to locate package linux-headers-6.1.0-1-amd64\nE: setup failed\nI: ends\n";
        assert_eq!(
            cause_of(apt).as_deref(),
            Some("Unable to locate package linux-headers-6.1.0-1-amd64")
        );
        assert_eq!(
            cause_of("a\nzfs.c:3:1: error: no such\nb\n").as_deref(),
            Some("zfs.c:3:1: error: no such")
        );
        assert_eq!(cause_of("a\nno room\n\n").as_deref(), Some("no room"));
        assert_eq!(cause(folder.path(), "none"), None);
    }

    #[test]
    fn whoever_asks_for_it_ends_a_program_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let started = folder.path().join("started");
        let error = std::thread::scope(|scope| {
            let script = "sleep 600 & echo $! > pid; mv pid started; wait";
            let running = scope.spawn(|| {
                run_to_end("sh", Command::new("sh").args(["-c", script]), folder.path(), &stop)
            });
            while !started.exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
            running.join().unwrap().unwrap_err()
        });
        assert_eq!(iotax_units::exit::code_of(&error), iotax_units::exit::MEASUREMENT_FAILED);
        let sleep = std::fs::read_to_string(started).unwrap();
        let stat = Path::new("/proc").join(sleep.trim()).join("stat");
        let begin = Instant::now();
        // The program is a zombie until its new parent reaps it.
        let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        while lives() && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!lives());
    }
}

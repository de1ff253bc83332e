//! Measures on a host over ssh on which our binary does not run (Windows, another architecture,
//! nowhere to put a program): the fio that is installed there issues the load. This end answers the
//! wire's requests as an agent does, by commands over ssh, each of which ends when its connection
//! does. What cannot be asked this way (CPU time, dirty pages, the host's clock) is left out. What
//! cannot be inspected is written only if the user consents to leaving out that very check.

mod facts;
pub mod file;
mod handler;
mod posix;
mod site;
#[cfg(test)]
mod tests;
mod windows;

use crate::ssh::{self, SshOptions};
use anyhow::{Context, Result};
use iotax_engines::fio::Ioengines;
use iotax_engines::serving;
use iotax_facts::place::is_of_windows;
use iotax_host::facts::Facts;
use iotax_host::guard::found::Inspection;
use iotax_sys::child::{ChildEnd, ends_with_us, output_of, run_within};
use iotax_units::exit::Failed;
use iotax_wire::peer::Peer;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

/// Time limit of a command that only asks.
const QUICK: Duration = Duration::from_secs(60);

/// Prints the serials of all drives of a Linux host.
const SERIALS: &str = "head -c 4096 /sys/block/*/serial /sys/block/*/device/serial /sys/block/*/device/vpd_pg80 /sys/block/*/wwid \
                       /sys/block/*/device/wwid 2>/dev/null | tr -c '[:print:]\\n' ' '";

/// Time limit of a question to a host that may be off, which is shorter than that of a host under
/// test.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// Returns text that has the serials and WWNs of all drives of a host among other words; `None` if
/// ssh cannot be run or the host does not answer in time. Empty if the host has no sysfs.
pub fn serials_on(host: &str) -> Option<String> {
    let mut command = ssh::command(host, SERIALS, &SshOptions::from_env()).ok()?;
    let output = output_of(&mut command, ANSWERS_WITHIN).ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Command for the login shell of a host, run by ssh, and its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellRequest {
    /// Command for any login shell of its system. It contains nothing from the user.
    pub command: String,
    pub input: Vec<u8>,
    /// True if the input stays open while the command runs. The command ends when the input does,
    /// and so with the connection.
    pub held: bool,
}

/// Commands for an operating system, and parsers of their output.
pub trait Shell: Send + Sync {
    /// Returns the request for facts about the machine, its fio, and the devices at these paths.
    fn look_request(&self, paths: &[PathBuf]) -> ShellRequest;
    /// Reads the answer to [`Shell::look_request`].
    ///
    /// # Errors
    /// A clause that says what is wrong with the answer, as for all parsers here.
    fn parse_look(&self, said: &[u8], paths: &[PathBuf]) -> Result<SeenHost>;
    /// Returns the request for the state of a file or device, before anything is done to it.
    fn inspect_request(&self, path: &Path) -> ShellRequest;
    /// Reads the answer to [`Shell::inspect_request`]. Returns `None` if nothing is there.
    ///
    /// # Errors
    /// As for [`Shell::parse_look`].
    fn parse_inspection(&self, path: &Path, said: &[u8]) -> Result<Option<Inspection>>;
    /// Returns the request for the content of runs of 4 KiB blocks, each given by its first block
    /// and the number of blocks; `None` if the system cannot be asked for it.
    fn blocks_request(&self, path: &Path, runs: &[(u64, u64)]) -> Option<ShellRequest>;
    /// Returns the request that runs fio with these options and the job on its standard input.
    fn fio_request(&self, options: &[String], job_file: &str) -> ShellRequest;
    fn ioengines(&self) -> Ioengines;
    fn flush_request(&self, paths: &[&Path]) -> ShellRequest;
    /// Returns how long the flush took, in nanoseconds; `None` if the clock there is too coarse.
    ///
    /// # Errors
    /// As for [`Shell::parse_look`], or if it does not report that it flushed.
    fn flushed_ns(&self, said: &[u8]) -> Result<Option<u64>>;
    /// Returns the request that makes a new empty file, and never replaces one.
    fn create_request(&self, path: &Path) -> ShellRequest;
    /// Parses the answer to [`Shell::create_request`].
    ///
    /// # Errors
    /// As for [`Shell::parse_look`].
    fn parse_created(&self, said: &[u8]) -> Result<Created>;
    /// Returns the request that sets the size of the file to `bytes` and writes `marker` after
    /// them.
    fn mark_request(&self, path: &Path, bytes: u64, marker: &[u8]) -> ShellRequest;
    /// Returns the request that fills `bytes` of the file with data that do not compress.
    fn fill_request(&self, path: &Path, bytes: u64) -> ShellRequest;
    /// Returns the request that removes the file, if it still has that inode ([`Created::inode`]).
    fn remove_request(&self, path: &Path, inode: u64) -> ShellRequest;
    /// Checks the answer to a request that only does something, if the system gives one: a shell
    /// that is silent may have done nothing.
    ///
    /// # Errors
    /// As for [`Shell::parse_look`].
    fn check_done(&self, _said: &[u8]) -> Result<()> {
        Ok(())
    }
    /// Returns how to install fio on a system, whose name is `os` if it is known, for a hint.
    fn how_to_get_fio(&self, os: Option<&str>) -> String;
}

#[derive(Clone, Debug, PartialEq)]
pub struct SeenHost {
    pub facts: Facts,
    /// Version as `fio 3.33`; `None` if there is no fio.
    pub fio: Option<String>,
}

/// What a host reports of a file that it has just created: its inode, and the size and free space
/// of its file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    /// Number that distinguishes it from another file at that path: the inode, or the time of its
    /// creation.
    pub inode: u64,
    /// Size of its file system, in bytes.
    pub total: u64,
    pub free: u64,
}

/// Host without an agent, and the system for which its commands are.
#[derive(Clone)]
pub struct Host {
    name: String,
    options: SshOptions,
    shell: &'static dyn Shell,
}

impl Host {
    /// Creates the host from its name and any path on it, which shows whether it is Windows.
    pub fn new(name: &str, path: &Path, options: SshOptions) -> Host {
        let shell: &'static dyn Shell =
            if is_of_windows(path) { &windows::Windows } else { &posix::Posix };
        Host { name: name.to_owned(), options, shell }
    }

    fn run(&self, ask: &ShellRequest, limit: Duration) -> std::io::Result<ChildEnd> {
        let mut command = ssh::command(&self.name, &ask.command, &self.options)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = ends_with_us(&mut command).spawn()?;
        let mut input = child.stdin.take();
        if let Some(input) = &mut input {
            // A process that reads no input has ended, and says why.
            let _ = input.write_all(&ask.input).and_then(|()| input.flush());
        }
        let held = input.filter(|_| ask.held);
        let ended = run_within(child, limit);
        drop(held);
        ended
    }

    /// Runs a request and returns the standard output of its command. `what` completes `cannot ...`
    /// in errors.
    fn say(&self, what: &str, ask: &ShellRequest, limit: Duration) -> Result<Vec<u8>> {
        let failed =
            |why: String| Failed::measurement(format!("ssh:{}: cannot {what}: {why}", self.name));
        let ended =
            self.run(ask, limit).map_err(|error| failed(format!("cannot start ssh: {error}")))?;
        if matches!(ended, ChildEnd::Killed) {
            return Err(failed(format!("no answer within {limit:?}")).into());
        }
        let output =
            ended.output(limit).map_err(|why| failed(format!("the command there {why}")))?;
        match output.status.code() {
            Some(0) => Ok(output.stdout),
            // This code means that ssh itself failed.
            Some(255) => {
                let why =
                    ssh::without_connection(&self.name, &String::from_utf8_lossy(&output.stderr));
                Err(Failed::need(format!("ssh:{}: cannot {what}: {why}", self.name)).into())
            }
            _ => Err(failed(last_words(&output)).into()),
        }
    }

    fn understood<T>(&self, what: &str, answer: Result<T>) -> Result<T> {
        answer.with_context(|| {
            format!("ssh:{}: cannot {what}: its answer is not understood", self.name)
        })
    }

    fn act(&self, what: &str, ask: &ShellRequest, limit: Duration) -> Result<()> {
        let said = self.say(what, ask, limit)?;
        self.understood(what, self.shell.check_done(&said))
    }

    fn look_at_host(&self, paths: &[PathBuf]) -> Result<SeenHost> {
        let said = self.say("look at the machine", &self.shell.look_request(paths), QUICK)?;
        self.understood("look at the machine", self.shell.parse_look(&said, paths))
    }
}

fn last_words(output: &Output) -> String {
    let all =
        [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let lines = all.iter().flat_map(|text| text.lines()).map(str::trim);
    let lines: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with(ssh::MARK)).collect();
    let words = ssh::tail(&lines[lines.len().saturating_sub(5)..].join("; "));
    if words.is_empty() { format!("it ended with {}", output.status) } else { words }
}

/// Connects to a host without an agent, whose fio issues the load. `path`, any path there, shows
/// whether it is Windows; `socket` is for a shared connection.
///
/// # Errors
/// [`Failed`] for a host name that is not allowed, for what ssh reports, or if fio is lacking or
/// older than 3.0, with how to install it.
pub fn connect(host: &str, path: &Path, socket: &Path) -> Result<Peer> {
    ssh::check_host(host).map_err(Failed::from)?;
    let host = Host::new(host, path, SshOptions::from_env());
    let seen = host.look_at_host(&[])?;
    let how = host.shell.how_to_get_fio(seen.facts.os.as_deref());
    let lacking = match seen.fio.as_deref() {
        None => Some("there is no fio in the PATH there".to_owned()),
        // Latencies of these versions are in microseconds, under other names.
        Some(old) if old.starts_with("fio 2.") || old.starts_with("fio 1.") => {
            Some(format!("{old} is there, and fio 3.0 is the first whose report is understood"))
        }
        Some(_) => None,
    };
    if let Some(lacking) = lacking {
        return Err(Failed::need(format!("ssh:{}: {lacking}; hint: {how}", host.name)).into());
    }
    let name = format!("ssh:{}", host.name);
    let peer = serving::in_process(name, Box::new(handler::AgentlessHandler::new(host, socket)));
    peer.context("cannot start this end of a host without an agent")
}

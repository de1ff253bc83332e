//! Agents on hosts that the system's `ssh` reaches: this binary is copied into a fresh private
//! folder there and started. Host keys, users, ports and ProxyJump are left to ssh. The remote
//! shell sees fixed text with our run id in it and nothing of the user's. A destination that looks
//! like an option is refused.

mod shared;

pub use shared::SharedSsh;

use iotax_drivers::tool::nobody_else_can_write;
use iotax_drivers::wait::wait_until;
use iotax_journal::is_id;
use iotax_sys::child::{LONGEST_OUTPUT, ended_within};
use iotax_sys::regular::read_text;
use iotax_units::shell;
use iotax_wire::peer::{Peer, PeerLink, WireError, WireFault};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Time limit for a connection, including its password prompt, and for the copy.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(120);
const END_GRACE: Duration = Duration::from_secs(3);
const LAST_WORDS_BYTES: usize = 4096;
const ANSWER_BYTES: usize = 64 << 10;
/// Mark of iotax's own lines, which separates them from what a login profile prints.
pub const MARK: &str = "IOTAX-SSH";
const WITHOUT_AGENT: &str =
    "where fio is installed, ssh:HOST:/PATH,agent=fio measures without iotax there";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshOptions {
    /// Configuration file for `ssh -F`; `None` for ssh's own.
    pub config: Option<PathBuf>,
    /// Static binary to copy; `None` for this program.
    pub binary: Option<PathBuf>,
    pub limit: Duration,
    /// Socket of a [`SharedSsh`] connection, which is used if it exists.
    pub shared: Option<PathBuf>,
    /// Further arguments of ssh, before the host.
    pub arguments: Vec<String>,
    /// Arguments with which the copied binary is started.
    pub agent_words: &'static str,
}

impl Default for SshOptions {
    fn default() -> Self {
        let agent_words = "agent --stdio";
        let arguments = Vec::new();
        SshOptions {
            config: None,
            binary: None,
            limit: CONNECT_LIMIT,
            shared: None,
            arguments,
            agent_words,
        }
    }
}

impl SshOptions {
    /// Returns the default options with the configuration file that `IOTAX_SSH_CONFIG` names, if it
    /// is set.
    pub fn from_env() -> SshOptions {
        let config = std::env::var_os("IOTAX_SSH_CONFIG").filter(|value| !value.is_empty());
        SshOptions { config: config.map(PathBuf::from), ..SshOptions::default() }
    }
}

/// Copies the binary to `host`, starts it as agent and says hello. The peer is named `ssh:HOST`. If
/// the agent does not start, removes what was copied.
///
/// # Errors
/// Bad input for a host or run id that is not allowed. [`WireFault::Unreachable`],
/// [`WireFault::NotStarted`] or [`WireFault::Occupied`] if the agent is not started, with what ssh
/// reports; else the fault of its hello.
pub fn connect(host: &str, run_id: &str, options: &SshOptions) -> Result<Peer, WireError> {
    check_words(host, run_id)?;
    let place = install(host, run_id, options)?;
    let started = start(host, run_id, place, options).map_err(with_hint);
    if started.is_err() {
        // The first error is the one to show; `clean` finds what this leaves.
        let _ = remove_remote(host, run_id, options);
    }
    started
}

/// Connects as [`connect`] does to a host where an earlier agent of this run may be left. Waits for
/// one that still works, and removes its copy.
///
/// # Errors
/// As [`connect`] and [`await_agents`].
pub fn reconnect(host: &str, run_id: &str, options: &SshOptions) -> Result<Peer, WireError> {
    let agents = AWAIT.replace("iotax-RUN*", "iotax-RUN");
    await_by(host, run_id, &agents, options)?;
    remove_remote(host, run_id, options)?;
    connect(host, run_id, options)
}

/// Adds a hint if the host cannot run the copied binary, which then ends before it says hello.
fn with_hint(mut error: WireError) -> WireError {
    let words = error.last_words.to_ascii_lowercase();
    let refused =
        ["exec format", "cannot execute", "can't execute", "permission denied", "not permitted"];
    if refused.iter().any(|refusal| words.contains(refusal)) {
        error.last_words = format!("{}\nhint: {WITHOUT_AGENT}", error.last_words.trim_end());
    }
    error
}

/// Removes the copy that [`connect`] made, for a run whose agent was killed. Returns true if there
/// was one.
///
/// # Errors
/// Bad input for a host or run id that is not allowed. Fails too if the host cannot be reached or
/// the folder cannot be removed.
pub fn remove_remote(host: &str, run_id: &str, options: &SshOptions) -> Result<bool, WireError> {
    check_words(host, run_id)?;
    let script = REMOVE.replace("RUN", run_id);
    let said = run_script(host, &script, None, options)?;
    match said.verdict() {
        Some("clean") => Ok(said.marked_line("removed").is_some()),
        _ => Err(said.error(host, format!("cannot remove iotax-{run_id}"))),
    }
}

/// Waits until no agent of a killed run works on `host` any more. An agent in the middle of a step
/// goes on to its end, and what it makes until then must not be missed.
///
/// # Errors
/// Bad input for a host or run id that is not allowed. Fails too if the host cannot be reached, or
/// an agent does not end within 3 minutes.
pub fn await_agents(host: &str, run_id: &str, options: &SshOptions) -> Result<(), WireError> {
    await_by(host, run_id, AWAIT, options)
}

fn await_by(host: &str, run_id: &str, script: &str, options: &SshOptions) -> Result<(), WireError> {
    check_words(host, run_id)?;
    let script = script.replace("RUN", run_id).replace("SECONDS", &AWAIT_SECONDS.to_string());
    for _ in 0..AWAIT_TIMES {
        let said = run_script(host, &script, None, options)?;
        match said.verdict() {
            Some("quiet") => return Ok(()),
            Some("busy") => {}
            _ => {
                return Err(
                    said.error(host, format!("cannot see whether agents of {run_id} still work"))
                );
            }
        }
    }
    let why = format!(
        "an agent of the killed run still works there (a process of iotax-{run_id}); hint: clean again when it has ended, \
         or end it"
    );
    Err(unreachable(host, why, String::new()))
}

/// Returns the command by which a person removes this run's folder on the host, wherever iotax has
/// made it.
pub fn remove_by_hand(host: &str, run_id: &str) -> String {
    let (temporary, cached) = (format!("/tmp/iotax-{run_id}"), format!("iotax-{run_id}"));
    let command =
        format!("rm -rf {} ~/.cache/{}", shell::quote_word(&temporary), shell::quote_word(&cached));
    format!("ssh {} {}", shell::quote_word(host), shell::quote_word(&command))
}

/// Checks the host and the run id. ssh would take one like `-oProxyCommand=...` for an option.
fn check_words(host: &str, run_id: &str) -> Result<(), WireError> {
    check_host(host)?;
    if !is_id(run_id) {
        return Err(bad_input(
            host,
            format!("\"{}\" is no run id: letters, digits and dashes", run_id.escape_debug()),
        ));
    }
    Ok(())
}

fn bad_input(host: &str, message: String) -> WireError {
    let mut error = unreachable(host, message, String::new());
    error.code = iotax_units::exit::BAD_INPUT;
    error
}

/// Checks that the name of the host is a destination for ssh, and that the file in
/// `IOTAX_SSH_CONFIG`, if it is set, is a regular file that can be read.
///
/// # Errors
/// Bad input, if one of them is not.
pub fn check_host(host: &str) -> Result<(), WireError> {
    let config = SshOptions::from_env().config.filter(|path| path != Path::new("none"));
    if let Some(config) = config.filter(|path| path != Path::new("/dev/null")) {
        let cannot = |error: std::io::Error| {
            bad_input(host, format!("cannot read {} (IOTAX_SSH_CONFIG): {error}", config.display()))
        };
        read_text(&config).map_err(cannot)?;
    }
    if host.is_empty()
        || host.starts_with('-')
        || host.chars().any(|c| c.is_control() || c.is_whitespace())
    {
        let hint = "hint: write ssh:HOST or ssh:USER@HOST";
        return Err(bad_input(
            host,
            format!("\"{}\" is no ssh destination; {hint}", host.escape_debug()),
        ));
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Folder {
    Tmp,
    Cache,
}

// The scripts are one line each without a single quote or an exclamation mark, as csh and fish must
// pass them through '...' untouched.
const INSTALL: &str = concat!(
    "umask 077; m=$(uname -m); k=$(uname -s); if [ $k = Linux ]; then :; else m=\"$k $m\"; fi; ",
    "echo; echo IOTAX-SSH arch $m; ",
    "if [ \"$m\" = ARCH ]; then :; else echo IOTAX-SSH end arch; exit 0; fi; ",
    // What is not heard of at our end does nothing here: until then there is nothing that could be
    // left.
    "read g; if [ \"$g\" = go ]; then :; else exit 0; fi; ",
    "d=; for b in tmp cache; do ",
    "if [ $b = tmp ]; then p=/tmp; else p=$HOME/.cache; mkdir -p \"$p\"; fi; ",
    "if [ -e \"$p/iotax-RUN\" ] || [ -L \"$p/iotax-RUN\" ]; then echo IOTAX-SSH end exists; exit 0; fi; ",
    "if mkdir \"$p/iotax-RUN\"; then ",
    "printf \"#\\041/bin/sh\\n\" > \"$p/iotax-RUN/probe\"; chmod 700 \"$p/iotax-RUN/probe\"; ",
    "if \"$p/iotax-RUN/probe\"; then d=\"$p/iotax-RUN\"; fi; rm -f \"$p/iotax-RUN/probe\"; ",
    "if [ -n \"$d\" ]; then break; fi; rmdir \"$p/iotax-RUN\"; echo IOTAX-SSH noexec $p; fi; done; ",
    "if [ -z \"$d\" ]; then echo IOTAX-SSH end nowhere; exit 0; fi; ",
    "cat > \"$d/iotax\" && chmod 700 \"$d/iotax\" && echo IOTAX-SSH sum $(cksum < \"$d/iotax\"); ",
    "echo IOTAX-SSH end $b",
);
const REMOVE: &str = concat!(
    "echo; for p in /tmp \"$HOME/.cache\"; do d=\"$p/iotax-RUN\"; ",
    // In /tmp anybody can make a folder of that name.
    "if [ -L \"$d\" ]; then :; elif [ -d \"$d\" ] && [ -O \"$d\" ]; then ",
    "rm -f \"$d/iotax\" \"$d/probe\"; rmdir \"$d\" || exit 0; echo IOTAX-SSH removed; fi; done; ",
    "echo IOTAX-SSH end clean",
);
/// Waits until no copy of the run's agent runs any more, at most SECONDS. The link `exe` of a
/// process shows the path of the copy, even after the file is removed. A copy that is stopped
/// (SIGSTOP) would never end, so it is killed.
const AWAIT: &str = concat!(
    "echo; n=0; while [ $n -lt SECONDS ]; do b=; for e in /proc/[0-9]*/exe; do ",
    "case \"$(readlink \"$e\" 2>/dev/null)\" in */iotax-RUN*/iotax*) if [ -O \"$e\" ]; then b=1; ",
    "case \"$(cat \"${e%exe}stat\" 2>/dev/null)\" in *\") T \"*) p=${e%/exe}; kill -9 \"${p#/proc/}\";; esac; fi;; esac; done; ",
    "if [ -z \"$b\" ]; then echo IOTAX-SSH end quiet; exit 0; fi; n=$((n+1)); sleep 1; done; ",
    "echo IOTAX-SSH end busy",
);
/// Seconds that one script waits: well within the time limit of a script.
const AWAIT_SECONDS: u32 = 15;
const AWAIT_TIMES: u32 = 12;

fn install(host: &str, run_id: &str, options: &SshOptions) -> Result<Folder, WireError> {
    let arch = std::env::consts::ARCH;
    let script = INSTALL.replace("RUN", run_id).replace("ARCH", arch);
    let binary = match &options.binary {
        Some(path) => path.clone(),
        None => PathBuf::from("/proc/self/exe"),
    };
    let (sum, size) = File::open(&binary).and_then(cksum).map_err(|error| {
        unreachable(
            host,
            format!("cannot read our own binary {}: {error}", binary.display()),
            String::new(),
        )
    })?;
    let said = run_script(host, &script, Some(&binary), options)?;
    let folder = match said.verdict() {
        Some("tmp") => Folder::Tmp,
        Some("cache") => Folder::Cache,
        Some("arch") => {
            let theirs = said.marked_line("arch").unwrap_or("unknown");
            let why = format!("it is a {theirs} machine, and this iotax is built for {arch}");
            return Err(said.error(host, format!("{why}; hint: {WITHOUT_AGENT}")));
        }
        Some("exists") => {
            let why = format!(
                "the folder iotax-{run_id} already exists on the host; hint: iotax clean {run_id}"
            );
            let error = said.error(host, why.clone());
            return Err(WireError { fault: WireFault::Occupied(why), ..error });
        }
        Some("nowhere") => {
            let hint = format!(
                "hint: make ~/.cache a folder on a file system without noexec; {WITHOUT_AGENT}"
            );
            return Err(said.error(
                host,
                format!(
                    "no place for the agent: neither /tmp nor ~/.cache may be written and executed; {hint}"
                ),
            ));
        }
        _ => {
            return Err(said.error(
                host,
                format!(
                    "the host's shell did not run iotax's script to the end; hint: {WITHOUT_AGENT}"
                ),
            ));
        }
    };
    let expected = format!("{sum} {size}");
    match said.marked_line("sum") {
        Some(there) if there == expected => Ok(folder),
        there => {
            let error = said.error(host, format!(
                "the copy of iotax is not whole: cksum says {}, expected was {expected}; hint: is the disk full?",
                there.unwrap_or("nothing")
            ));
            // As above: the first error counts.
            let _ = remove_remote(host, run_id, options);
            Err(error)
        }
    }
}

fn start(
    host: &str,
    run_id: &str,
    folder: Folder,
    options: &SshOptions,
) -> Result<Peer, WireError> {
    let parent = match folder {
        Folder::Tmp => "/tmp",
        Folder::Cache => "$HOME/.cache",
    };
    let script = format!("exec \"{parent}/iotax-{run_id}/iotax\" {}", options.agent_words);
    let mut child = Ssh::spawn(host, &script, Stdio::piped(), options)?;
    let (Some(writer), Some(reader)) = (child.process.stdin.take(), child.process.stdout.take())
    else {
        return Err(unreachable(host, "ssh has no stdin or stdout".into(), String::new()));
    };
    let words = child.words.clone();
    let link = PeerLink {
        reader: Box::new(reader),
        writer: Box::new(writer),
        hang_up: Box::new(move || child.end(END_GRACE)),
    };
    let mut peer = Peer::new(format!("ssh:{host}"), link, Box::new(move || words.text()));
    peer.hello(run_id, options.limit)?;
    Ok(peer)
}

/// Returns the command that runs `remote` in the login shell of the host by the system's ssh. The
/// caller sets its streams.
///
/// # Errors
/// If another user can write the configuration file.
pub fn command(host: &str, remote: &str, options: &SshOptions) -> io::Result<Command> {
    let mut command = bare(options)?;
    if let Some(socket) = &options.shared {
        command.arg("-S").arg(socket).args(["-o", "ControlMaster=no"]);
    }
    command.args(["--", host, remote]);
    Ok(command)
}

/// Returns the ssh command without the host and the remote command. Refuses a configuration file
/// that another user can write: ssh checks only those in ~/.ssh.
fn bare(options: &SshOptions) -> io::Result<Command> {
    // ssh uses these names for "no configuration".
    let is_none =
        |config: &&PathBuf| [Path::new("none"), Path::new("/dev/null")].contains(&config.as_path());
    if let Some(config) = options.config.as_ref().filter(|config| !is_none(config)) {
        nobody_else_can_write(config, "is not used", "put a ProxyCommand there")
            .map_err(io::Error::other)?;
    }
    let mut command = Command::new("sh");
    // ssh keeps an ignored SIGINT ignored. So Ctrl-C leaves the connection up for an orderly end,
    // and ssh stays in the terminal's foreground, where it may ask for a password.
    command.args(["-c", "trap '' INT QUIT; exec \"$@\"", "sh", "ssh", "-T"]);
    if let Some(config) = &options.config {
        command.arg("-F").arg(config);
    }
    if !std::io::stdin().is_terminal() {
        command.args(["-o", "BatchMode=yes"]);
    }
    command.args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]);
    command.args(&options.arguments);
    Ok(command)
}

/// ssh process, and the end of its standard error.
struct Ssh {
    process: Child,
    words: StreamTail,
}

impl Ssh {
    fn spawn(
        host: &str,
        script: &str,
        stdin: Stdio,
        options: &SshOptions,
    ) -> Result<Ssh, WireError> {
        let failed = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => "; hint: apt-get install openssh-client",
                _ => "",
            };
            unreachable(host, format!("cannot start ssh: {error}{hint}"), String::new())
        };
        let mut command =
            command(host, &format!("exec sh -c '{script}'"), options).map_err(failed)?;
        let mut process = command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let words = process
            .stderr
            .take()
            .map(|stderr| StreamTail::keep_last(stderr, LAST_WORDS_BYTES, None));
        Ok(Ssh { process, words: words.unwrap_or_default() })
    }

    /// Waits until it ends, and kills it after `limit`. Returns its status; `None` if it was
    /// killed.
    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        if let Ok(Some(status)) = ended_within(&mut self.process, limit) {
            return Some(status);
        }
        // Both fail only if it has just ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
        None
    }

    /// Waits for the end of the ssh, and kills it after `grace`. The peer's writer is closed by
    /// now, so a healthy agent ends by itself.
    fn end(mut self, grace: Duration) {
        self.wait(grace);
    }
}

struct ScriptOutput {
    stdout: String,
    stderr: String,
    ended: Option<ExitStatus>,
}

impl ScriptOutput {
    /// Returns the rest of the first of iotax's lines that begins with the word `key`.
    fn marked_line(&self, key: &str) -> Option<&str> {
        let lines =
            self.stdout.lines().filter_map(|line| line.strip_prefix(MARK)?.strip_prefix(' '));
        let mut with_key = lines.filter_map(|line| line.strip_prefix(key));
        with_key.find(|rest| rest.is_empty() || rest.starts_with(' ')).map(str::trim)
    }

    fn verdict(&self) -> Option<&str> {
        self.marked_line("end")
    }

    fn answered(&self) -> bool {
        self.stdout.lines().any(|line| line.starts_with(MARK))
    }

    fn error(&self, host: &str, message: String) -> WireError {
        // ssh itself ends with 255. A host that answered anything was reached.
        let is_unreachable = self.ended.is_some_and(|status| status.code() == Some(255));
        if is_unreachable && self.stdout.is_empty() {
            let mut error =
                unreachable(host, without_connection(host, &self.stderr), String::new());
            error.code = iotax_units::exit::UNMET_NEED;
            return error;
        }
        let status = match self.ended {
            None => "; ssh was killed at its time limit".to_owned(),
            Some(status) if status.success() => String::new(),
            Some(status) => format!("; ssh ended with {status}"),
        };
        let noise: String = self
            .stdout
            .lines()
            .filter(|line| !line.starts_with(MARK))
            .collect::<Vec<_>>()
            .join("\n");
        let words = if self.stderr.trim().is_empty() { noise } else { self.stderr.clone() };
        let fault = if self.answered() { WireFault::NotStarted } else { WireFault::Unreachable };
        WireError::new(&format!("ssh:{host}"), fault(message + &status), tail(words.trim()))
    }
}

/// Describes a connection that ssh could not make, from its standard error `words`: `cannot
/// connect: Connection refused; hint: ...`.
pub fn without_connection(host: &str, words: &str) -> String {
    const HINTS: [(&[&str], &str); 3] = [
        (
            &["could not resolve"],
            "check the name, or add its address to DNS, to /etc/hosts, or to ~/.ssh/config (\"Host NAME\" with \
             \"HostName ADDRESS\")",
        ),
        (&["connection refused"], "start sshd there, or name its port in ~/.ssh/config (Port)"),
        (
            &["timed out", "no route to host"],
            "check that the host is up and that no firewall blocks its ssh port",
        ),
    ];
    let last =
        words.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("ssh gave no reason");
    let words = words.to_ascii_lowercase();
    let known = HINTS.iter().find(|(signs, _)| signs.iter().any(|sign| words.contains(sign)));
    let by_hand = format!(
        "set up ssh so that `ssh {} true` works without a prompt (key, known_hosts)",
        shell::quote_word(host)
    );
    let hint = known.map_or(by_hand, |(_, hint)| (*hint).to_owned());
    format!("cannot connect: {}; hint: {hint}", last.trim_end_matches('.'))
}

pub fn tail(text: &str) -> String {
    let from = text.len().saturating_sub(LAST_WORDS_BYTES);
    text.char_indices()
        .find(|(at, _)| *at >= from)
        .map_or_else(String::new, |(at, _)| text[at..].to_owned())
}

/// Runs a script to its end. If there is `input`, writes a line `go` and then that file to it, once
/// it has printed the first of iotax's lines.
fn run_script(
    host: &str,
    script: &str,
    input: Option<&Path>,
    options: &SshOptions,
) -> Result<ScriptOutput, WireError> {
    let file = input.map(File::open).transpose().map_err(|error| {
        unreachable(host, format!("cannot read what is to be copied: {error}"), String::new())
    })?;
    let stdin = if file.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut ssh = Ssh::spawn(host, script, stdin, options)?;
    let (answered, first) = channel();
    let stdout = ssh
        .process
        .stdout
        .take()
        .map(|pipe| StreamTail::keep_last(pipe, ANSWER_BYTES, Some(answered)));
    if let (Some(mut file), Some(mut stdin)) = (file, ssh.process.stdin.take()) {
        // It ends with the ssh, whose end of the pipe is closed then.
        thread::spawn(move || match first.recv() {
            Ok(()) => stdin
                .write_all(b"go\n")
                .and_then(|()| std::io::copy(&mut file, &mut stdin))
                .map(drop),
            Err(_) => Ok(()),
        });
    }
    // An ssh whose output is no longer read would not end by itself.
    let is_over = || stdout.as_ref().is_none_or(|words| words.heard().is_over);
    let _ = wait_until(options.limit, || is_over() || !matches!(ssh.process.try_wait(), Ok(None)));
    let ended = ssh.wait(END_GRACE);
    let stdout = stdout.map(|words| words.settled()).unwrap_or_default();
    Ok(ScriptOutput { stdout, stderr: ssh.words.settled(), ended })
}

pub fn unreachable(host: &str, message: String, words: String) -> WireError {
    WireError::new(&format!("ssh:{host}"), WireFault::Unreachable(message), words)
}

/// Last output of a stream, which a thread reads.
#[derive(Clone, Default)]
struct StreamTail(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    last: VecDeque<u8>,
    is_over: bool,
}

impl StreamTail {
    /// Keeps the last `keeps` bytes of the stream, and signals `answered` at the first of iotax's
    /// lines. Stops reading after more than any program prints, so that the next write to the
    /// stream fails.
    fn keep_last(
        mut pipe: impl Read + Send + 'static,
        keeps: usize,
        mut answered: Option<Sender<()>>,
    ) -> StreamTail {
        let words = StreamTail::default();
        let shared = words.clone();
        thread::spawn(move || {
            let (mut buffer, mut rest) = ([0u8; 4096], LONGEST_OUTPUT);
            while let Ok(read @ 1..) = pipe.read(&mut buffer[..rest.min(4096)]) {
                let mut heard = shared.heard();
                heard.last.extend(&buffer[..read]);
                let excess = heard.last.len().saturating_sub(keeps);
                heard.last.drain(..excess);
                drop(heard);
                rest -= read;
                let is_whole = |text: String| {
                    text.lines().any(|line| line.starts_with(MARK)) && text.ends_with('\n')
                };
                // The first of iotax's lines comes before the output can exceed `keeps`.
                if answered.is_some() && LONGEST_OUTPUT - rest <= keeps && is_whole(shared.text()) {
                    // If there is nothing to copy, nobody waits for the signal.
                    answered.take().map(|answered| answered.send(()));
                }
            }
            shared.heard().is_over = true;
        });
        words
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self) -> String {
        // ssh ends its own lines for a terminal.
        String::from_utf8_lossy(self.heard().last.make_contiguous()).replace('\r', "")
    }

    /// Returns the output once all of it is read, or half a second after the call: ssh has ended,
    /// but another process may hold the stream open.
    fn settled(&self) -> String {
        // After that, the output that has arrived is used.
        let _ = wait_until(Duration::from_millis(500), || self.heard().is_over);
        self.text()
    }
}

/// Returns what `cksum` prints for the content: the checksum and the length.
///
/// # Errors
/// The content cannot be read.
pub fn cksum_line(content: impl Read) -> io::Result<String> {
    let (sum, size) = cksum(content)?;
    Ok(format!("{sum} {size}"))
}

/// Returns the POSIX cksum of the content and its length. The CRC is over the content and then its
/// length, low byte first, in as few bytes as the length needs.
fn cksum(mut content: impl Read) -> std::io::Result<(u32, u64)> {
    let crc = crc::Crc::<u32, crc::Table<16>>::new(&crc::CRC_32_CKSUM);
    let mut digest = crc.digest();
    let mut buffer = vec![0u8; 256 << 10];
    let mut size = 0u64;
    loop {
        let read = content.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        digest.update(&buffer[..read]);
        size += read as u64;
    }
    let mut rest = size;
    while rest > 0 {
        digest.update(&[rest as u8]);
        rest >>= 8;
    }
    Ok((digest.finalize(), size))
}

#[cfg(test)]
mod tests;

//! OpenSSH: a copy of this program on each host carries the task out, detached from the
//! connection. A cut connection leaves the task running; the next look finds it again.

use super::fleet_engine::{FleetEngine, FleetRun, HostErrand};
use super::host_shell::{ScriptOutput, ShellAnswer, run_script};
use super::task_link::{ANSWER_LIMIT, LONG_LIMIT, TaskAnswer, TaskLink};
use crate::host_look::{HostLook, LookPurpose};
use crate::host_state::{HostReport, HostState};
use crate::inventory::FleetHost;
use crate::plan::{PlannedHost, Ticket};
use flate2::Compression;
use flate2::write::GzEncoder;
use iotax_remote::ssh::{self, SharedSsh, SshOptions};
use iotax_units::exit::Failed;
use iotax_units::shell;
use rustix::process::getuid;
use std::fs::{DirEntry, File};
use std::io::{Cursor, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// Time for a connection with its login.
const LOGIN_LIMIT: Duration = Duration::from_secs(60);
/// Most logins at the same time: a jump host's sshd drops further ones (MaxStartups is 10), and
/// hundreds at once starve each other on the driving machine.
const MOST_LOGINS: usize = 10;
/// Time for the copy of the program.
const COPY_LIMIT: Duration = Duration::from_secs(300);

/// Folders of the fleet and of the host's task there, as the shell of the host finds them.
const FOLDERS: &str =
    "f=\"${XDG_STATE_HOME:-$HOME/.local/state}/iotax/fleet/$fleet\"; d=\"$f/$host\"; ";

/// Reports what the host is, as the first sign of a login.
const HELLO: &str = concat!(
    "m=$(uname -m); k=$(uname -s); if [ $k = Linux ]; then :; else m=\"$k $m\"; fi; echo; ",
    "echo IOTAX-FLEET arch $m; echo IOTAX-FLEET clock $(date +%s)",
);

/// Puts the program there, unless it is there already: in the folder, as a link to that of another
/// host that shares the folder, or as an installed iotax.
const INSTALL: &str = concat!(
    "p=\"$d/iotax\"; echo; if mkdir -p \"$d\" && chmod 700 \"$f\" \"$d\" && [ -O \"$f\" ] && [ -O \"$d\" ]; then :; else ",
    "echo IOTAX-FLEET end nowhere $d; exit 0; fi; ",
    "if [ -e \"$p\" ]; then :; else ln \"$f/program\" \"$p\" 2>/dev/null; fi; ",
    "if [ -e \"$p\" ]; then :; else q=$(command -v iotax 2>/dev/null); if [ -n \"$q\" ]; then ",
    "if [ \"$(cksum < \"$q\")\" = \"SUM\" ]; then ln -s \"$q\" \"$p\"; fi; fi; fi; ",
    "s=; if [ -e \"$p\" ]; then s=$(cksum < \"$p\"); fi; ",
    "if [ \"$s\" = \"SUM\" ]; then :; else read g; if [ \"$g\" = go ]; then :; else echo IOTAX-FLEET end wants; exit 0; fi; ",
    "rm -f \"$p\" \"$p.part\"; ",
    "if gzip -dc > \"$p.part\" && [ \"$(cksum < \"$p.part\")\" = \"SUM\" ] && chmod 700 \"$p.part\" && mv \"$p.part\" \"$p\"; ",
    "then ln \"$p\" \"$f/program\" 2>/dev/null; else rm -f \"$p.part\"; ",
    "echo IOTAX-FLEET end broken $(df -Pk \"$d\" | tail -n 1); exit 0; fi; fi; ",
    "if \"$p\" --version > /dev/null; then echo IOTAX-FLEET end installed; else echo IOTAX-FLEET end noexec $d; fi",
);

/// Removes a folder in which there is no program that could do so.
const REMOVE_BARE: &str = concat!(
    "echo; if [ -O \"$d\" ]; then rm -rf \"$d/iotax\" \"$d/iotax.part\"; rmdir \"$d\" 2>/dev/null; fi; ",
    "rm -f \"$f/program\"; rmdir \"$f\" 2>/dev/null; ",
    "if [ -e \"$d\" ]; then echo IOTAX-FLEET end left; else echo IOTAX-FLEET end removed; fi",
);

/// Beginning of the names of folders for sockets; the process follows.
const FOLDER_PREFIX: &str = "iotax-ssh-";

const OWN_PROGRAM: &str = "/proc/self/exe";

/// Path of the program as it is copied.
struct PackedProgram(PathBuf);

/// Fleets over the system's ssh.
pub struct SshEngine {
    /// Made for the first host that has no such program.
    program: OnceLock<Result<PackedProgram, String>>,
    /// What `cksum` prints for this program.
    sum: String,
    folder: TempDir,
    connections: AtomicU32,
    logins: LoginGate,
}

/// Bounds the logins at the same time.
#[derive(Default)]
struct LoginGate {
    busy: Mutex<usize>,
    freed: Condvar,
}

impl LoginGate {
    /// Runs `login` once fewer than [`MOST_LOGINS`] are under way.
    fn pass<T>(&self, login: impl FnOnce() -> T) -> T {
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_while(busy, |busy| *busy >= MOST_LOGINS);
        *waited.unwrap_or_else(PoisonError::into_inner) += 1;
        let done = login();
        *self.busy.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.freed.notify_one();
        done
    }
}

impl SshEngine {
    /// Prepares copies of this program.
    ///
    /// # Errors
    /// A failed measurement: the program cannot be read, or there is no folder for temporary files.
    pub fn new() -> Result<SshEngine, Failed> {
        let failed = |error: std::io::Error| {
            Failed::measurement(format!("cannot copy this program to hosts: {error}"))
        };
        remove_abandoned_folders();
        let prefix = format!("{FOLDER_PREFIX}{}-", std::process::id());
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir().map_err(failed)?;
        let sum = File::open(OWN_PROGRAM).and_then(ssh::cksum_line).map_err(failed)?;
        Ok(SshEngine {
            program: OnceLock::new(),
            sum,
            folder,
            connections: AtomicU32::new(0),
            logins: LoginGate::default(),
        })
    }

    /// Returns this program, packed for the copies.
    fn packed_program(&self) -> Result<&Path, String> {
        let pack = || {
            let path = self.folder.path().join("program.gz");
            let mut packer = GzEncoder::new(File::create(&path)?, Compression::fast());
            std::io::copy(&mut File::open(OWN_PROGRAM)?, &mut packer)?;
            packer.finish()?;
            Ok(PackedProgram(path))
        };
        let packed = self.program.get_or_init(|| {
            pack().map_err(|error: std::io::Error| format!("cannot pack this program: {error}"))
        });
        packed.as_ref().map(|program| program.0.as_path()).map_err(Clone::clone)
    }

    fn connect<'a>(&'a self, run: &'a FleetRun, planned: &'a PlannedHost) -> SshHost<'a> {
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        let socket = self.folder.path().join(number.to_string());
        let host = &planned.host;
        let plain = options_of(host);
        let shared = self.logins.pass(|| SharedSsh::start(&host.destination(), &socket, &plain));
        let options = SshOptions { shared: shared.is_some().then_some(socket), ..plain };
        SshHost { engine: self, run, host, options, _shared: shared }
    }
}

/// Removes folders of this user's engines that were killed.
fn remove_abandoned_folders() {
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let is_own = |entry: &DirEntry| {
        entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == getuid().as_raw())
    };
    for entry in entries.filter(is_own) {
        let name = entry.file_name().into_string().unwrap_or_default();
        let owner = name.strip_prefix(FOLDER_PREFIX).and_then(|rest| rest.split('-').next());
        let owner = owner.and_then(|pid| pid.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            // It is in nobody's way.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns the options of ssh for a host.
fn options_of(host: &FleetHost) -> SshOptions {
    let mut arguments: Vec<String> = ["BatchMode=yes", "ConnectTimeout=15"]
        .iter()
        .flat_map(|option| ["-o".to_owned(), (*option).to_owned()])
        .collect();
    arguments.extend(host.port.iter().flat_map(|port| ["-p".to_owned(), port.to_string()]));
    let key = host.key_file.as_ref().map(|path| path.display().to_string());
    arguments.extend(key.into_iter().flat_map(|path| ["-i".to_owned(), path]));
    SshOptions { arguments, limit: LOGIN_LIMIT, ..SshOptions::from_env() }
}

/// A host that is being asked.
struct SshHost<'a> {
    engine: &'a SshEngine,
    run: &'a FleetRun<'a>,
    host: &'a FleetHost,
    options: SshOptions,
    _shared: Option<SharedSsh>,
}

impl SshHost<'_> {
    /// Runs a script on the host: one line without a single quote or an exclamation mark, as csh
    /// and fish must pass it through quotes untouched. `$f` and `$d` are the folders.
    fn script(
        &self,
        script: &str,
        input: Option<Box<dyn Read + Send>>,
        output: ScriptOutput,
        limit: Duration,
    ) -> std::io::Result<ShellAnswer> {
        let (fleet, host) = (&self.run.plan.id, &self.host.name);
        let script = format!("umask 077; fleet={fleet}; host={host}; {FOLDERS}{script}");
        let sudo = if self.host.sudo { "sudo -n " } else { "" };
        let remote = format!("exec {sudo}sh -c '{script}'");
        let mut command = ssh::command(&self.host.destination(), &remote, &self.options)?;
        run_script(&mut command, input, output, limit)
    }

    /// Puts the program on the host. Returns the seconds by which its clock is ahead.
    ///
    /// # Errors
    /// The report of a host that cannot take a task.
    fn install(&self) -> Result<Option<i64>, HostReport> {
        let cannot =
            |error: std::io::Error| self.never_started(format!("ssh cannot be started: {error}"));
        let hello = self.script(HELLO, None, ScriptOutput::Kept, LOGIN_LIMIT).map_err(cannot)?;
        let Some(theirs) = hello.marked("arch") else { return Err(self.no_login(&hello)) };
        if theirs != std::env::consts::ARCH {
            return Err(self.refused(
                format!(
                    "its architecture is {theirs}, and this iotax is built for {}",
                    std::env::consts::ARCH
                ),
                format!("leave it out: --limit '!{}'", self.host.name),
            ));
        }
        let ahead = hello.marked("clock").and_then(|seconds| seconds.parse::<i64>().ok());
        let ahead = ahead.map(|theirs| theirs - jiff::Timestamp::now().as_second());
        let script = INSTALL.replace("SUM", &self.engine.sum);
        let run = |input| self.script(&script, input, ScriptOutput::Kept, COPY_LIMIT);
        let mut answer = run(None).map_err(cannot)?;
        if answer.marked("end") == Some("wants") {
            let packed = self.engine.packed_program().map_err(|why| self.never_started(why))?;
            let packed = Cursor::new(b"go\n".to_vec()).chain(File::open(packed).map_err(cannot)?);
            answer = run(Some(Box::new(packed))).map_err(cannot)?;
        }
        let Some(end) = answer.marked("end") else { return Err(self.no_login(&answer)) };
        let (word, rest) = end.split_once(' ').unwrap_or((end, ""));
        match word {
            "installed" => Ok(ahead),
            "broken" => Err(self.refused(
                format!(
                    "the copy of iotax did not arrive whole: {}; its file system there (df -P): {rest}",
                    answer.last_words()
                ),
                format!("free space there, then: {}", self.run.resume()),
            )),
            "noexec" => Err(self.refused(
                format!("iotax cannot be executed in {rest}: {}", answer.last_words()),
                format!(
                    "set XDG_STATE_HOME there to a folder without noexec, then: {}",
                    self.run.resume()
                ),
            )),
            _ => Err(self.refused(
                format!("cannot create ~/.local/state/iotax there: {}", answer.last_words()),
                format!("make ~/.local/state writable there, then: {}", self.run.resume()),
            )),
        }
    }

    /// Removes the folder of a host to which nothing was given but the program.
    fn remove_bare(&self) -> Result<(), String> {
        let answer = self
            .script(REMOVE_BARE, None, ScriptOutput::Kept, ANSWER_LIMIT)
            .map_err(|error| error.to_string())?;
        match answer.marked("end") {
            Some("removed") => Ok(()),
            _ => Err(answer.last_words()),
        }
    }

    fn refused(&self, why: String, next: String) -> HostReport {
        HostReport::new(HostState::Refused, why, next)
    }

    /// Reports a host whose shell did not run the script to its end.
    fn no_login(&self, answer: &ShellAnswer) -> HostReport {
        if answer.code == Some(255) {
            let why = ssh::without_connection(&self.host.destination(), &answer.stderr);
            let (why, hint) =
                why.split_once("; hint: ").unwrap_or((&why, "look at the log of its sshd"));
            return HostReport::new(
                HostState::NeverStarted,
                why,
                format!("{hint}; then: {}", self.run.resume()),
            );
        }
        let by_hand = format!("ssh {} true", shell::quote_word(&self.host.destination()));
        match (answer.code, answer.stderr.to_lowercase()) {
            (None, _) => HostReport::new(
                HostState::NeverStarted,
                format!("the login did not end within {} s", LOGIN_LIMIT.as_secs()),
                format!("see what hangs: {by_hand}; then: {}", self.run.resume()),
            ),
            (_, words) if words.contains("sudo") => self.refused(
                format!("sudo is refused: {}", answer.last_words()),
                format!("allow sudo without a password there, then: {}", self.run.resume()),
            ),
            _ => {
                let why = "its login shell did not run the script to the end";
                HostReport::new(
                    HostState::NeverStarted,
                    format!("{why}: {}", answer.last_words()),
                    format!("see what it prints: {by_hand}; then: {}", self.run.resume()),
                )
            }
        }
    }
}

impl TaskLink for SshHost<'_> {
    fn fleet_run(&self) -> &FleetRun<'_> {
        self.run
    }

    fn prepare(&self, _ticket: &Ticket) -> Result<Option<i64>, HostReport> {
        self.install()
    }

    fn program(
        &self,
        action: &str,
        input: Option<Box<dyn Read + Send>>,
        output: ScriptOutput,
        limit: Duration,
    ) -> std::io::Result<ShellAnswer> {
        let script = format!("exec \"$d/iotax\" fleet task {action} \"$d\"");
        self.script(&script, input, output, limit)
    }

    fn begin(&self, task: Vec<u8>) -> Result<TaskAnswer, HostReport> {
        self.ask("start", Some(Box::new(Cursor::new(task))), ANSWER_LIMIT)
            .map_err(|fault| self.unanswered(fault))
    }
}

impl FleetEngine for SshEngine {
    fn look(
        &self,
        run: &FleetRun,
        planned: &PlannedHost,
        purpose: LookPurpose,
    ) -> Result<HostLook, HostReport> {
        let host = self.connect(run, planned);
        let look = host.install().and_then(|_| host.ask_look(planned, purpose));
        if purpose != LookPurpose::Start {
            // A host that does not answer shows it in the look.
            let _ = host.remove_bare();
        }
        look
    }

    fn carry_out(&self, errand: &HostErrand, ticket: &mut Ticket) -> HostReport {
        let host = self.connect(errand.run, errand.planned);
        host.bring_to_end(errand, ticket).unwrap_or_else(|report| report)
    }

    fn status(&self, errand: &HostErrand, ticket: &Ticket) -> HostReport {
        self.connect(errand.run, errand.planned).current_state(errand, ticket)
    }

    fn cancel(&self, errand: &HostErrand, _ticket: &Ticket) -> Result<(), HostReport> {
        let host = self.connect(errand.run, errand.planned);
        host.ask("cancel", None, ANSWER_LIMIT).map(drop).map_err(|fault| host.unanswered(fault))
    }

    fn clean(&self, errand: &HostErrand, _ticket: &Ticket) -> Result<(), String> {
        let host = self.connect(errand.run, errand.planned);
        let answer = host
            .program("clean", None, ScriptOutput::Kept, LONG_LIMIT)
            .map_err(|error| error.to_string())?;
        match answer.marked("cleaned") {
            Some(_) => host.remove()?,
            // The copy of the program did not arrive, or is gone.
            None if [Some(126), Some(127)].contains(&answer.code) => host.remove_bare()?,
            None => return Err(answer.last_words()),
        }
        Ok(())
    }
}

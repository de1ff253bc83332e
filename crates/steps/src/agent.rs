//! The agent serves the wire protocol in another place: on standard input and output over SSH, or
//! on a guest's virtio-serial port. `iotax-agent` does only this; `iotax agent` does the same.
//! [`program`] chooses which one is copied.

use crate::agent_handler::HostHandler;
use crate::guest::init;
use crate::wire;
use anyhow::Result;
use iotax_sys::child::{ANSWERS_WITHIN, output_of};
use iotax_units::exit::{Failed, MEASUREMENT_FAILED};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;
use std::time::Duration;

/// Identity of the sources of which an agent is built: the wire has no versions within one release.
pub const BUILD: &str = env!("IOTAX_AGENT_BUILD");

/// Name of the program beside `iotax`.
const NAME: &str = "iotax-agent";

/// Seconds that an agent waits for a guest's own system, unless its host says another number.
pub const PATIENCE: u64 = 150;

/// Which stream an agent serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serve {
    /// Standard input and output.
    Stdio,
    /// The port of a guest with a system of its own, for which it waits so long; it powers off at
    /// the end.
    Port(Duration),
}

/// Serves until the other end is gone.
///
/// # Errors
/// When the host's end is garbled; when this is no guest that has such a port.
pub fn serve(what: Serve) -> Result<()> {
    match what {
        Serve::Port(patience) => init::supervise(patience).map(|never| match never {}),
        Serve::Stdio => wire::serve_stdio(&mut HostHandler::default()),
    }
}

/// Runs this process as PID 1 of a guest, if it is that: serves the port, then powers off.
pub fn init_if_pid_1() -> Option<ExitCode> {
    init::is_init().then(|| init::run(serve_port))
}

fn serve_port(port: File) -> Result<()> {
    let writer = port.try_clone()?;
    wire::serve(port, writer, &mut HostHandler::default())
}

/// What `iotax-agent` is asked for.
#[derive(Debug, PartialEq, Eq)]
enum AgentArgs {
    Serve(Serve),
    Version,
    Build,
}

const USAGE: &str = "usage: iotax-agent agent --stdio | agent --port [--patience SECONDS] | --version | --build\n\
    iotax starts it in guests and on other hosts; nobody needs to call it by hand";

fn words(given: &[String]) -> Option<AgentArgs> {
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    Some(match given.as_slice() {
        ["agent", "--stdio"] => AgentArgs::Serve(Serve::Stdio),
        ["agent", "--port"] => AgentArgs::Serve(Serve::Port(Duration::from_secs(PATIENCE))),
        ["agent", "--port", "--patience", seconds] => {
            AgentArgs::Serve(Serve::Port(Duration::from_secs(seconds.parse().ok()?)))
        }
        ["--version"] => AgentArgs::Version,
        ["--build"] => AgentArgs::Build,
        _ => return None,
    })
}

fn allowed() -> Result<()> {
    iotax_sys::ulimit::respect(MEASUREMENT_FAILED).map_err(|why| Failed::need(why).into())
}

/// The whole of the program `iotax-agent`.
pub fn main() -> ExitCode {
    if let Some(code) = init_if_pid_1() {
        return code;
    }
    let given: Vec<String> = std::env::args().skip(1).collect();
    match words(&given) {
        Some(AgentArgs::Serve(what)) => match allowed().and_then(|()| serve(what)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{NAME}: {error:#}");
                ExitCode::from(iotax_units::exit::code_of(&error))
            }
        },
        Some(AgentArgs::Version) => {
            println!("{NAME} {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Some(AgentArgs::Build) => {
            println!("{BUILD}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(iotax_units::exit::BAD_INPUT)
        }
    }
}

/// The program that is copied into guests and to hosts: `iotax-agent` beside this program where it
/// is of the same build and nobody else can change it, else this program itself, by the link that
/// still leads to it after a new build replaced it.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| agent_beside().unwrap_or_else(|| PathBuf::from("/proc/self/exe")))
}

fn agent_beside() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(NAME);
    is_trusted(&path)?;
    let asked = output_of(Command::new(&path).arg("--build"), ANSWERS_WITHIN).ok()?;
    (asked.status.success() && asked.stdout.trim_ascii() == BUILD.as_bytes()).then_some(path)
}

/// A file that only root or this user can have put there and can change.
fn is_trusted(path: &Path) -> Option<()> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    let own = [0, rustix::process::geteuid().as_raw()].contains(&meta.uid());
    (meta.is_file() && own && meta.mode() & 0o022 == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn the_agent_knows_the_words_by_which_it_is_started() {
        let of =
            |text: &str| words(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("agent --stdio"), Some(AgentArgs::Serve(Serve::Stdio)));
        let port = |seconds| Some(AgentArgs::Serve(Serve::Port(Duration::from_secs(seconds))));
        assert_eq!(
            (of("agent --port"), of("agent --port --patience 7")),
            (port(PATIENCE), port(7))
        );
        assert_eq!(
            (of("--version"), of("--build")),
            (Some(AgentArgs::Version), Some(AgentArgs::Build))
        );
        for bad in ["", "agent", "agent --port --patience soon", "run", "agent --stdio more"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_agent_that_others_could_have_put_there_is_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link] = ["agent", "link"].map(|name| dir.path().join(name));
        assert_eq!(is_trusted(&file), None, "it is not there");
        std::fs::write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        for (mode, trusted) in [(0o755, true), (0o700, true), (0o775, false), (0o757, false)] {
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(is_trusted(&file).is_some(), trusted, "{mode:o}");
        }
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(is_trusted(&link), None, "a link may lead elsewhere tomorrow");
    }
}

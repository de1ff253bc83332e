//! The agent serves the wire protocol on another host or in a guest: on standard input and output
//! over SSH, or on a guest's virtio-serial port. `iotax-agent` does only this; `iotax agent` does
//! the same. [`crate::agent_program`] chooses which of the two is copied.

use crate::agent_handler::HostHandler;
use crate::agent_program::{BUILD, NAME};
use anyhow::Result;
use iotax_engines::serving;
use iotax_qemu::init;
use iotax_units::exit::{Failed, MEASUREMENT_FAILED};
use std::fs::File;
use std::process::ExitCode;
use std::time::Duration;

/// Seconds that an agent waits for a guest's own system to start, unless its host gives another
/// number.
pub const PATIENCE: u64 = 150;

/// Stream that an agent serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serve {
    Stdio,
    /// Virtio-serial port of a guest that runs its own system. The agent waits this long for that
    /// system to start, and powers the guest off at the end.
    Port(Duration),
}

/// Serves requests until the other end is gone.
///
/// # Errors
/// If the stream fails or what comes is no message, or this is not a guest with such a port.
pub fn serve(what: Serve) -> Result<()> {
    match what {
        Serve::Port(patience) => init::supervise(patience).map(|never| match never {}),
        Serve::Stdio => serving::serve_stdio(&mut HostHandler::default()),
    }
}

/// Runs a guest as its PID 1, if this process is that: serves the port, then powers off. Returns
/// `None` if it is not.
pub fn init_if_pid_1() -> Option<ExitCode> {
    init::is_init().then(|| init::run(serve_port))
}

fn serve_port(port: File) -> Result<()> {
    let writer = port.try_clone()?;
    serving::serve(port, writer, &mut HostHandler::default())
}

#[derive(Debug, PartialEq, Eq)]
enum AgentArgs {
    Serve(Serve),
    Version,
    Build,
}

const USAGE: &str = "usage: iotax-agent agent --stdio | agent --port [--patience SECONDS] | --version | --build\n\
    iotax starts it in guests and on other hosts; nobody needs to call it by hand";

fn parse_agent_args(given: &[String]) -> Option<AgentArgs> {
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

pub fn main() -> ExitCode {
    if let Some(code) = init_if_pid_1() {
        return code;
    }
    let given: Vec<String> = std::env::args().skip(1).collect();
    match parse_agent_args(&given) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_knows_the_words_by_which_it_is_started() {
        let of = |text: &str| {
            parse_agent_args(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
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
}

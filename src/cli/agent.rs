//! `iotax agent`: the end of the wire on another host (standard input and output) or in a guest
//! (PID 1, over the virtio-serial port).

use crate::layer::guest::init;
use crate::measure::handler::Machine;
use crate::measure::wire;
use anyhow::Result;
use std::fs::File;

/// Arguments of `agent`.
#[derive(clap::Args)]
pub struct Args {
    /// Serve on standard input and output
    #[arg(long, required = true)]
    stdio: bool,
}

/// Runs the command.
///
/// # Errors
/// When the host's end is garbled.
pub fn run(args: &Args) -> Result<()> {
    debug_assert!(args.stdio, "clap requires it");
    wire::serve_stdio(&mut Machine::default())
}

/// As PID 1 of a guest: serves the port, then powers off.
pub fn init_if_pid_1() -> Option<std::process::ExitCode> {
    init::is_init().then(|| init::run(serve_port))
}

fn serve_port(port: File) -> Result<()> {
    let writer = port.try_clone()?;
    wire::serve(port, writer, &mut Machine::default())
}

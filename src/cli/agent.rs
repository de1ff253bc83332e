//! `iotax agent`: the end of the wire on another host (standard input and output) or in a guest, over the virtio-serial
//! port: as PID 1, or started by the seed of somebody else's image.

use crate::layer::guest::init;
use crate::measure::handler::Machine;
use crate::measure::wire;
use anyhow::Result;
use std::fs::File;
use std::time::Duration;

/// Arguments of `agent`.
#[derive(clap::Args)]
pub struct Args {
    /// Serve on standard input and output
    #[arg(long, required_unless_present = "port")]
    stdio: bool,
    /// In a guest that was booted from an image: serve the host's virtio-serial port, then power off
    #[arg(long, conflicts_with = "stdio")]
    port: bool,
    /// With --port: seconds to wait for the guest's own system, which its host knows
    #[arg(long, requires = "port", default_value_t = 150)]
    patience: u64,
}

/// Runs the command.
///
/// # Errors
/// When the host's end is garbled; when this is no guest that has such a port.
pub fn run(args: &Args) -> Result<()> {
    if args.port {
        return init::supervise(Duration::from_secs(args.patience)).map(|never| match never {});
    }
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

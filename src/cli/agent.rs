//! `iotax agent`: the whole program as an agent, for use without a separate `iotax-agent`.

use anyhow::Result;
use iotax_steps::agent::{PATIENCE, Serve, serve};
use std::time::Duration;

/// Arguments of `agent`.
#[derive(clap::Args)]
pub struct Args {
    /// Serve on standard input and output
    #[arg(long, required_unless_present = "port")]
    stdio: bool,
    /// In a guest that was booted from an image: serve the host's virtio-serial port, then power
    /// off
    #[arg(long, conflicts_with = "stdio")]
    port: bool,
    /// With --port: seconds to wait for the guest's own system, which its host knows
    #[arg(long, requires = "port", default_value_t = PATIENCE)]
    patience: u64,
}

pub fn run(args: &Args) -> Result<()> {
    serve(if args.port { Serve::Port(Duration::from_secs(args.patience)) } else { Serve::Stdio })
}

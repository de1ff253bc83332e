//! `iotax fleet`: the same scenario on each host of a fleet.

mod drives;
mod emit;
mod gather;
mod host_lines;
mod hosts;
mod input;
mod plan;
mod report;
mod run;
mod status;
mod task;

use anyhow::Result;
use clap::Subcommand;
use iotax_fleet::plan::default_fleets_dir;
use iotax_units::exit::Failed;
use std::path::PathBuf;

/// Arguments of `fleet`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of fleets [default: $IOTAX_FLEETS, else ~/.local/state/iotax/fleets]. With Slurm, one
    /// that all nodes see
    #[arg(long, global = true, value_name = "DIR")]
    fleets: Option<PathBuf>,
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Subcommand)]
enum FleetCommand {
    /// Run a scenario on each host, gather the results, and print which host differs
    #[command(after_help = run::EXAMPLES, mut_args(refused))]
    Run(Box<run::RunArgs>),
    /// Check hosts and drives, and print what `fleet run` would do; start nothing
    #[command(mut_args(refused))]
    Plan(Box<plan::PlanArgs>),
    /// List the drives of each host as a table for --consent, every drive commented out
    #[command(after_help = drives::EXAMPLES)]
    Drives(hosts::HostsArgs),
    /// Show the state of each host, or list the fleets
    Status(status::StatusArgs),
    /// Run the hosts that have no complete result, each from the start
    Resume(run::ResumeArgs),
    /// Stop the tasks of a fleet, and gather what they measured so far
    Cancel(status::CancelArgs),
    /// Undo on each host what a killed task left there, and remove iotax from it
    Clean(status::ChosenArgs),
    /// Collect and check the results of a fleet or a folder, without starting anything
    Gather(gather::GatherArgs),
    /// Print the report of a fleet: which host differs, and by how much
    #[command(after_help = report::EXAMPLES)]
    Report(report::ReportArgs),
    /// Write files to run the fleet with Ansible, Slurm, Kubernetes, Ramble or ReFrame
    #[command(after_help = emit::EXAMPLES, mut_args(refused))]
    Emit(Box<emit::EmitArgs>),
    /// The part of a fleet on a host; not for people
    #[command(hide = true)]
    Task(task::TaskArgs),
}

/// Hides the arguments that a fleet refuses.
fn refused(arg: clap::Arg) -> clap::Arg {
    let is_refused = ["destroy", "change"].iter().any(|name| arg.get_id() == name);
    arg.hide(is_refused)
}

/// Runs a command of `fleet`. Returns the exit code.
///
/// # Errors
/// As each command's `run`.
pub fn run(args: &Args) -> Result<u8> {
    let fleets = || -> Result<PathBuf> {
        match &args.fleets {
            Some(folder) => Ok(std::path::absolute(folder)?),
            None => Ok(default_fleets_dir().map_err(Failed::from)?),
        }
    };
    match &args.command {
        FleetCommand::Run(args) => run::run(args, &fleets()?),
        FleetCommand::Plan(args) => plan::run(args, &fleets()?),
        FleetCommand::Drives(args) => drives::run(args, &fleets()?),
        FleetCommand::Status(args) => status::run(args, &fleets()?),
        FleetCommand::Resume(args) => run::resume(args, &fleets()?),
        FleetCommand::Cancel(args) => status::cancel(args, &fleets()?),
        FleetCommand::Clean(args) => status::clean(args, &fleets()?),
        FleetCommand::Gather(args) => gather::run(args, &fleets()?),
        FleetCommand::Report(args) => report::run(args, &fleets()?),
        FleetCommand::Emit(args) => emit::run(args),
        FleetCommand::Task(args) => task::run(args),
    }
}

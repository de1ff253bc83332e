//! `iotax selfcheck`: tests of iotax itself. `stats` runs the simulated comparisons and checks the
//! table of requirements.

use super::output::columns;
use super::progress::Simulating;
use super::report::Destination;
use super::stop;
use anyhow::Result;
use iotax_stats::selfcheck::cell::repeat;
use iotax_stats::selfcheck::kinds::NoiseSource;
use iotax_stats::selfcheck::lines::Plan;
use iotax_stats::selfcheck::report::Findings;
use iotax_stats::selfcheck::{hosts, series, short::fine};
use iotax_sys::regular::read_text;
use iotax_units::exit::{DONE, FINDING, Failed};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Arguments of `selfcheck`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: SelfcheckCommand,
}

#[derive(clap::Subcommand)]
enum SelfcheckCommand {
    /// Coverage, false positives, power, time and refusals of the statistics
    Stats(Stats),
    /// Is a tool of the sources today
    #[command(hide = true, disable_help_flag = true)]
    Engine {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

#[derive(clap::Args)]
struct Stats {
    /// Repetitions of every simulated comparison; below 2,000 a line may miss its bound by three
    /// Monte-Carlo errors
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u64).range(20..=1_000_000))]
    reps: u64,
    /// Seed of the simulations
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Replay the noise series in this file too
    #[arg(long, value_name = "FILE")]
    series: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    to: Destination,
}

/// Runs the simulations and prints the table of requirements. Returns the exit code, 1 if a
/// requirement is not met.
///
/// # Errors
/// A series cannot be read, the report cannot be written, or the simulations were interrupted.
pub fn run(args: &Args) -> Result<u8> {
    let stats = match &args.what {
        SelfcheckCommand::Stats(stats) => stats,
        SelfcheckCommand::Engine { .. } => {
            return Err(Failed::input(
                "selfcheck engine: the comparison of load generators is no longer part of iotax; hint: in the sources of iotax, tools/bench-fio --help",
            )
            .into());
        }
    };
    let json = is_json(stats.json, &stats.to)?;
    let stop = stop::flag()?;
    let local = stats.series.iter().map(|file| read_series(file)).collect::<Result<_>>()?;
    let found = check(stats, local, &stop)?;
    stats.to.write_text(&if json { found.json() } else { found.table(columns()) })?;
    Ok(if found.holds { DONE } else { FINDING })
}

/// Reads a series of noise that was recorded elsewhere.
///
/// # Errors
/// Bad input: names the file, and the line of a fault in it.
fn read_series(file: &Path) -> Result<NoiseSource> {
    let text = read_text(file)
        .map_err(|error| Failed::input(format!("cannot read {}: {error}", file.display())))?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    NoiseSource::parse(&name, &text)
        .map_err(|why| Failed::input(format!("{}: {why}", file.display())).into())
}

/// Returns true if JSON is requested, or the output file has its extension. Refuses the extensions
/// of other formats than JSON and text.
fn is_json(asked: bool, to: &Destination) -> Result<bool> {
    to.check_for_report(asked.then_some("json"))?;
    match to.format() {
        _ if asked => Ok(true),
        None | Some("terminal") => Ok(false),
        Some("json") => Ok(true),
        Some(form) => Err(Failed::input(format!(
            "selfcheck has no form \"{form}\"; hint: an ending .json or .txt"
        ))
        .into()),
    }
}

fn check(stats: &Stats, local: Vec<NoiseSource>, stop: &AtomicBool) -> Result<Findings> {
    let shipped = series::SHIPPED
        .iter()
        .chain(fine::SHIPPED)
        .map(|(name, text)| NoiseSource::parse(name, text));
    let shipped = shipped.collect::<Result<Vec<_>, _>>().map_err(Failed::measurement)?;
    let names = local.iter().filter_map(NoiseSource::recorded).map(str::to_owned).collect();
    let plan = Plan::new(&shipped, &local);
    let done = Arc::new(AtomicU64::new(0));
    let outcomes = {
        let _shown = Simulating::new(Arc::clone(&done), plan.cells.len() as u64, stats.reps);
        let count_done = || {
            done.fetch_add(1, Ordering::Relaxed);
            stop::break_if_stopped(stop)
        };
        repeat(&plan.cells, stats.reps, stats.seed, &count_done)
    };
    let outcomes = outcomes.ok_or_else(|| {
        let (done, all) = (done.load(Ordering::Relaxed), plan.cells.len() as u64 * stats.reps);
        Failed::measurement(format!(
            "interrupted after {done} of {all} simulations: nothing is concluded"
        ))
    })?;
    let (mut lines, details) = (plan.lines(&outcomes, stats.reps), plan.details(&outcomes));
    lines.extend(hosts::lines(stats.reps, stats.seed));
    Ok(Findings::new(stats.reps, stats.seed, names, lines, details))
}

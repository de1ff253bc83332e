//! `iotax compare`: two stored runs against each other. Made from their records alone; exit code 1 when a rate is
//! surely worse by more than was allowed, so that a pipeline can ask.

use super::{columns, report};
use anyhow::Result;
use iotax_analysis::against::{Mismatch, against};
use iotax_report::Page;
use iotax_report::against::{ALL, by_name};
use iotax_store as store;
use iotax_units as units;
use iotax_units::exit::{DONE, FINDING, Failed};
use std::path::Path;

/// Arguments of `compare`.
#[derive(clap::Args)]
pub struct Args {
    /// The run before: its id, its folder, or `last`
    #[arg(value_name = "OLD")]
    old: String,
    /// The run behind it
    #[arg(value_name = "NEW")]
    new: String,
    /// Exit with code 1 when a rate is surely worse by more than this: its whole 95 % interval is beyond
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = units::parse_percent)]
    fail_above: Option<f64>,
    /// terminal, markdown or json [default: by the extension of the output file, else terminal]
    #[arg(long, value_parser = known_format)]
    format: Option<String>,
    #[command(flatten)]
    to: report::Destination,
}

fn known_format(word: &str) -> Result<String, String> {
    let names: Vec<&str> = ALL.iter().map(|renderer| renderer.name).collect();
    match by_name(word) {
        Some(renderer) => Ok(renderer.name.to_owned()),
        None => Err(format!("known are {}", names.join(", "))),
    }
}

/// Runs the command.
///
/// # Errors
/// Bad input: a run does not exist or cannot be read, or the two have nothing to compare.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    args.to.check(args.format.as_deref())?;
    let load = |name: &str| -> Result<_> {
        let folder = store::find(runs, name).map_err(Failed::from)?;
        Ok(store::load(&folder).map_err(Failed::from)?)
    };
    let (old, new) = (load(&args.old)?, load(&args.new)?);
    let found = against(&old, &new, args.fail_above).map_err(refused)?;
    let named = args.format.as_deref().or_else(|| args.to.format()).unwrap_or("terminal");
    let renderer = by_name(named).ok_or_else(|| {
        Failed::input(format!("a comparison has no form \"{named}\"; hint: --format markdown or json"))
    })?;
    args.to.write(&(renderer.render)(&found, &Page { width: columns() }))?;
    Ok(if found.fails() { FINDING } else { DONE })
}

fn refused(mismatch: Mismatch) -> Failed {
    Failed::input(mismatch.to_string())
}

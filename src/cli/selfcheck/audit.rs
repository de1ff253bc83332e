//! `iotax selfcheck audit`: pages that an honest author would publish, made of runs of our own, and the same with one slip each,
//! audited: how many slips are found, and how many findings are of nothing.

use super::super::report::{Destination, Form};
use super::super::stop;
use crate::exit::{DONE, FINDING, Failed};
use crate::selfcheck::audit::json;
use anyhow::Result;
use iotax_audit::selfcheck::Plan;
use iotax_audit::selfcheck::measure::measure_until;

#[derive(clap::Args)]
#[command(
    after_help = "Exit code 1: a sound page has a wrong figure or conclusion found in it, or a slip is found more seldom than stated."
)]
pub struct Args {
    /// Sound pages
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    sound: u64,
    /// Pages with one slip, shared over all kinds of slips
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    slipped: u64,
    /// Seed of the pages
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=1_000_000_000))]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    to: Destination,
}

/// What it is told as, and the endings of its files.
const FORMS: [Form; 3] = [("text", &["txt"]), ("markdown", &["md"]), ("json", &["json"])];

/// Runs the command.
///
/// # Errors
/// When the output cannot be written, or it is interrupted.
pub fn run(args: &Args) -> Result<u8> {
    args.to.check_among(args.json.then_some("json"), &FORMS)?;
    let form = if args.json { "json" } else { args.to.format_among(&FORMS).unwrap_or("text") };
    let stop = stop::flag()?;
    let plan = Plan { sound: args.sound, slipped: args.slipped, seed: args.seed };
    let goes_on = || !stop::asked(&stop).is_break();
    let measured = measure_until(plan, &goes_on)
        .ok_or_else(|| Failed::measurement("interrupted: nothing is concluded".to_owned()))?;
    args.to.write(&match form {
        "json" => json(&measured),
        "markdown" => measured.markdown(),
        _ => measured.text(),
    })?;
    Ok(if measured.holds() { DONE } else { FINDING })
}

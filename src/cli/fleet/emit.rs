//! `iotax fleet emit`: files for people who run fleets with their own tools.

use super::super::output::say;
use super::run::FleetRequest;
use anyhow::Result;
use iotax_fleet::emit::{ALL, emit_files, kind_by_name};
use iotax_units::exit::{DONE, Failed};
use std::path::PathBuf;

pub const EXAMPLES: &str = "Examples:
  iotax fleet emit ansible scenario.toml --hosts inventory.ini -o fleet
  iotax fleet emit slurm scenario.toml --hosts slurm:storage --expect 12 -o /shared/fleet
  iotax fleet gather fleet                    after the tool has run them";

#[derive(clap::Args)]
pub struct EmitArgs {
    /// ansible, slurm, k8s, ramble or reframe
    #[arg(value_parser = known_kind)]
    kind: String,
    /// Folder for the files, which must be new or empty; results arrive in it
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    request: FleetRequest,
}

fn known_kind(word: &str) -> Result<String, String> {
    super::super::report::known_word(word, ALL.iter().map(|kind| kind.name))
}

/// Writes the files, and prints the commands that use them.
///
/// # Errors
/// Bad input, or the folder cannot be written.
pub fn run(args: &EmitArgs) -> Result<u8> {
    let kind = kind_by_name(&args.kind).ok_or_else(|| Failed::input("unknown kind of files"))?;
    let mut plan = args.request.plan()?;
    let writes = plan.hosts.iter().any(|planned| !planned.consent.is_empty());
    let commands = emit_files(kind, &mut plan, &std::path::absolute(&args.output)?)?;
    let about = kind.about;
    say(&format!("fleet {}: {about} in {}; to run it:\n", plan.id, args.output.display()))?;
    if writes {
        say("the files contain the consents: whoever runs them writes the drives\n")?;
    }
    for command in commands {
        say(&format!("  {command}\n"))?;
    }
    Ok(DONE)
}

//! `iotax name`: gives a stored run a name, by which every command finds it. The record stays as it
//! was written. `--name` of other commands names the run that they make.

use super::output::say;
use super::run_folder::own_folder;
use anyhow::Result;
use iotax_model::scenario::Scenario;
use iotax_store::{self as store, check_name};
use iotax_units::exit::{DONE, Failed};
use iotax_units::harmless::escape_line;
use std::path::Path;

/// Arguments of `name`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The run: its id or a part of it, its name, its folder, `last` or `last~1`
    run: String,
    /// The new name
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  iotax name last before the upgrade
  iotax compare \"before the upgrade\" last";

/// Renames a stored run. Returns the exit code.
///
/// # Errors
/// Bad input: the run does not exist, is not this user's, or the name is not one.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let name = check_name(&args.words.join(" ")).map_err(Failed::input)?;
    let folder = store::find_newest(runs, &args.run).map_err(Failed::from)?;
    let folder = own_folder(&folder, "name")?;
    store::rename_run(&folder, &name).map_err(Failed::from)?;
    say(&format!("{}: {}\n", store::run_id_of(&folder), escape_line(&name)))?;
    Ok(DONE)
}

/// Option that names a new run.
#[derive(clap::Args, Debug, Default)]
pub struct NewName {
    /// Name of the run in lists and reports, by which other commands find it [default: the
    /// scenario's]
    #[arg(long, value_name = "WORDS", value_parser = check_name)]
    name: Option<String>,
}

impl NewName {
    /// Names the scenario of the new run, if a name was given.
    pub fn put_into(&self, scenario: &mut Scenario) {
        if self.name.is_some() {
            scenario.name.clone_from(&self.name);
        }
    }
}

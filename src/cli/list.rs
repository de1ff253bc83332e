//! `iotax list`: the stored runs, newest last.

use super::say;
use crate::exit::DONE;
use crate::store;
use anyhow::Result;
use std::path::Path;

/// Arguments of `list`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// When the folder of the runs cannot be read.
pub fn run(_: &Args, runs: &Path) -> Result<u8> {
    let listed = store::list(runs)?;
    if listed.is_empty() {
        say(&format!("no runs in {}\n", runs.display()))?;
    }
    for run in listed {
        let outcome = match (&run.outcome, store::RunLock::take(&run.folder)) {
            (Some(outcome), _) => outcome.lines().next().unwrap_or("").to_owned(),
            (None, Ok(None)) => "running".to_owned(),
            (None, _) => "killed (iotax clean, then iotax resume)".to_owned(),
        };
        say(&format!("{}  {}  {}\n", run.id, title(&run), outcome))?;
    }
    Ok(DONE)
}

/// The compared stacks, shortened.
fn title(run: &store::RunSummary) -> String {
    match &run.start {
        Ok(start) => {
            start.scenario.stacks.iter().map(|stack| stack.name.as_str()).collect::<Vec<_>>().join(" / ")
        }
        Err(why) => format!("unreadable: {why}"),
    }
}

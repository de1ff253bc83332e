//! `iotax list`: the stored runs, newest last.

use super::say;
use crate::exit::DONE;
use crate::measure::sets::not_resumable;
use crate::step::clean::pending;
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
        say(&format!("{}  {}  {}\n", run.id, title(&run), state(&run)))?;
    }
    Ok(DONE)
}

/// A word or two: the whole reason of a failure is in the run's report.
fn state(run: &store::RunSummary) -> String {
    match (&run.outcome, store::RunLock::take(&run.folder)) {
        (Some(outcome), _) => shortened(outcome),
        (None, Ok(None)) => "running".to_owned(),
        (None, _) if pending(&run.folder).is_ok_and(|steps| steps.is_empty()) => {
            let scenario = run.start.as_ref().map(|start| &start.scenario);
            match scenario.is_ok_and(|scenario| not_resumable(scenario).is_none()) {
                true => format!("killed, nothing is left of it (iotax resume {})", run.id),
                false => "killed, nothing is left of it".to_owned(),
            }
        }
        (None, _) => "killed (iotax clean)".to_owned(),
    }
}

const STATE_COLUMNS: usize = 60;

fn shortened(outcome: &str) -> String {
    let line = outcome.lines().next().unwrap_or("");
    match line.char_indices().nth(STATE_COLUMNS) {
        Some((end, _)) => format!("{}...", line[..end].trim_end()),
        None => line.to_owned(),
    }
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

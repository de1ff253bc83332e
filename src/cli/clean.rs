//! `iotax clean`: takes down what a killed run left; a run that is still going is not touched.

use super::say;
use crate::exit::{DONE, Failed};
use crate::measure::{contest, places};
use crate::step::executor::report_left;
use crate::step::journal::Open;
use crate::step::{clean, clean::Cleaned};
use crate::store;
use crate::units::counted;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Arguments of `clean`.
#[derive(clap::Args)]
pub struct Args {
    /// Runs to clean [default: all that ended out of order]
    #[arg(value_name = "RUN")]
    run: Vec<String>,
    /// Say what would be taken down, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
///
/// # Errors
/// Exit code 5 when something could not be taken down.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let mut left = Vec::new();
    let mut cleaned_any = false;
    if !args.dry_run {
        contest::clear_zrams(&runs.join(contest::NOTES));
    }
    let chosen = chosen(args, runs)?;
    if chosen.is_empty() {
        say(&format!(
            "no runs in {}; runs of another user (or of sudo) are in that user's folder: sudo iotax clean, or --runs DIR\n",
            runs.display()
        ))?;
        return Ok(DONE);
    }
    for dir in chosen {
        let steps = clean::pending(&dir)?;
        if steps.is_empty() {
            continue;
        }
        cleaned_any = true;
        let id = store::run_id_of(&dir);
        let Some(_lock) = lock_of(&dir, &id, args)? else { continue };
        if args.dry_run {
            say(&format!("{id}:\n"))?;
            steps.iter().filter_map(would_be).try_for_each(|line| say(&line))?;
            continue;
        }
        let cleaned = clean::clean(&dir, &id, &mut places::hands_to_clean(&id))?;
        tell(&id, &cleaned)?;
        left.extend(cleaned.left);
    }
    if !cleaned_any {
        say("nothing to clean: every run was taken down\n")?;
    }
    report_left(&left)?;
    Ok(DONE)
}

fn chosen(args: &Args, runs: &Path) -> Result<Vec<PathBuf>> {
    match args.run.is_empty() {
        true => Ok(store::list(runs)?.into_iter().map(|listed| listed.folder).collect()),
        false => args.run.iter().map(|name| Ok(store::find(runs, name).map_err(Failed::from)?)).collect(),
    }
}

/// A run that is going holds its lock: skipped among all, refused when it was named.
fn lock_of(dir: &Path, id: &str, args: &Args) -> Result<Option<store::RunLock>> {
    match store::RunLock::take(dir)? {
        Some(lock) => Ok(Some(lock)),
        None if args.run.is_empty() => {
            say(&format!("{id}: still running, left alone\n"))?;
            Ok(None)
        }
        None => {
            Err(Failed::input(format!("run {id} is still running; hint: end it with Ctrl-C first")).into())
        }
    }
}

/// `  guest vm0 would be ended`; of what has nothing of its own to undo, nothing.
fn would_be(open: &Open) -> Option<String> {
    let undoing = open.step.op.operation().undoing(open.made.as_ref())?;
    Some(format!("  {} would be {}\n", undoing.what, undoing.did))
}

fn tell(id: &str, cleaned: &Cleaned) -> Result<()> {
    match cleaned.undone.as_slice() {
        [] if cleaned.left.is_empty() => say(&format!("{id}: nothing of it was left\n"))?,
        undone => say(&format!(
            "{id}: {}\n",
            counted(undone.len() as u64, "thing taken down", "things taken down")
        ))?,
    }
    cleaned.undone.iter().try_for_each(|undone| say(&format!("  {undone}\n")))?;
    cleaned.notes.iter().try_for_each(|note| say(&format!("  note: {note}\n")))
}

//! `iotax clean`: removes what a killed run left; a run that is still going is not touched.

use super::output::{say, say_aside};
use super::run_folder::{check_id, folder_with_journal, own_folder};
use super::stop;
use anyhow::Result;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::system::StepProgress;
use iotax_facts::place::Place;
use iotax_measure::places;
use iotax_steps::clean::{self, Cleaned};
use iotax_steps::executor::{Left, report_left};
use iotax_steps::journal::Open;
use iotax_steps::operation::{Own, Undoing};
use iotax_store as store;
use iotax_units::count_noun;
use iotax_units::exit::{DONE, Failed};
use iotax_units::harmless::escape_line;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Arguments of `clean`.
#[derive(clap::Args)]
pub struct Args {
    /// Runs to clean: ids or parts of them, names, folders, `last` [default: all that were
    /// interrupted]
    #[arg(value_name = "RUN")]
    run: Vec<String>,
    /// Show what would be removed; remove nothing
    #[arg(long)]
    dry_run: bool,
}

/// Undoes what the chosen runs left, or shows it with --dry-run. Returns the exit code.
///
/// # Errors
/// Bad input: a named run does not exist or is still running. Exit code 5: something could not be
/// removed.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    if runs.exists() {
        own_folder(runs, "clean")?;
    }
    let chosen = chosen_folders(args, runs)?;
    let (mut cleaned_any, mut left) = (false, Vec::new());
    if chosen.is_empty() {
        say(&format!(
            "no runs in {}; runs that were started with sudo are root's: sudo iotax clean\n",
            runs.display()
        ))?;
        return Ok(DONE);
    }
    let stop = if args.dry_run { Arc::default() } else { stop::flag_of_wait()? };
    for dir in chosen {
        let id = store::run_id_of(&dir);
        let cleaned =
            match own_folder(&dir, "clean").and_then(|dir| clean_run(&dir, &id, args, &stop)) {
                Ok(cleaned) => cleaned,
                // The others are cleaned all the same.
                Err(error) if args.run.is_empty() => Some(refused_cleaning(&id, error)),
                Err(error) => return Err(error),
            };
        cleaned_any |= cleaned.is_some();
        left.extend(cleaned.into_iter().flat_map(|cleaned| cleaned.left));
    }
    if !cleaned_any {
        say("nothing to clean: no run left anything\n")?;
    }
    report_left(&left)?;
    Ok(DONE)
}

/// Undoes what all runs of a folder left.
///
/// # Errors
/// As [`run`].
pub fn clean_all(runs: &Path) -> Result<u8> {
    run(&Args { run: Vec::new(), dry_run: false }, runs)
}

/// Cleans one run, or shows with --dry-run what would be removed. `None` if there is nothing to
/// clean.
fn clean_run(dir: &Path, id: &str, args: &Args, stop: &Arc<AtomicBool>) -> Result<Option<Cleaned>> {
    let pending = clean::pending(dir)?;
    if pending.is_nothing() {
        return Ok(None);
    }
    check_id(id, "clean")?;
    let Some(_lock) = lock_of(dir, id, args)? else { return Ok(Some(Cleaned::default())) };
    if args.dry_run {
        say(&format!("{id}:\n"))?;
        let tag = RunTag { run_id: id.to_owned(), run_dir: dir.to_owned() };
        pending
            .steps
            .iter()
            .flat_map(|open| would_be(open, &tag))
            .try_for_each(|line| say(&line))?;
        return Ok(Some(Cleaned {
            left: pending.unknown.into_iter().collect(),
            ..Cleaned::default()
        }));
    }
    let (mut say_wait, stop) = (say_waits(), Arc::clone(stop));
    let watcher = move |progress| {
        say_wait(progress);
        stop::break_if_stopped(&stop)
    };
    let cleaned = clean::clean(dir, id, &mut places::executors_to_clean(id, watcher))?;
    report_cleaned(id, &cleaned)?;
    Ok(Some(cleaned))
}

/// Returns a watcher that prints what a step waits for, unless it is the same as before.
pub(super) fn say_waits() -> impl FnMut(StepProgress) + Send {
    let mut said = String::new();
    move |progress| match progress {
        StepProgress::Waits(text) if text != said => {
            say_aside(&text);
            said = text;
        }
        _ => {}
    }
}

fn refused_cleaning(id: &str, cause: anyhow::Error) -> Cleaned {
    let left = Left { what: format!("run {id}"), place: Place::Host, cause, by_hand: None };
    Cleaned { left: vec![left], ..Cleaned::default() }
}

fn chosen_folders(args: &Args, runs: &Path) -> Result<Vec<PathBuf>> {
    match args.run.is_empty() {
        true => Ok(store::run_folders(runs)?),
        false => args.run.iter().map(|name| folder_with_journal(runs, name)).collect(),
    }
}

/// Locks a run. One that is still going holds its lock: if runs were named it is refused, otherwise
/// reported and skipped (`None`).
fn lock_of(dir: &Path, id: &str, args: &Args) -> Result<Option<store::RunLock>> {
    match store::RunLock::take(dir)? {
        Some(lock) => Ok(Some(lock)),
        None if args.run.is_empty() => {
            say(&format!("{id}: still running, left alone\n"))?;
            Ok(None)
        }
        None => {
            Err(Failed::input(format!("run {id} is still running; hint: end it with Ctrl-C first"))
                .into())
        }
    }
}

/// Returns what undoing a step would do: the line `  guest vm0 would be ended`, then a line for
/// each path in the run's folder that would be removed with it. Empty if there is nothing to undo.
fn would_be(open: &Open, tag: &RunTag) -> Vec<String> {
    let operation = open.step.op.operation();
    let Some(undoing) = operation.undo_summary(open.made.as_ref()) else { return Vec::new() };
    let made = open.made.clone().unwrap_or_default();
    if let Err(why) = open.step.op.check_own_names(&tag.in_place(&open.step.place), &made) {
        return vec![format!("  {} would not be {}: {why}\n", undoing.what, undoing.did)];
    }
    let path = |own: Own| match own {
        Own::InFolder(path) => Some(path.display().to_string()),
        _ => None,
    };
    let with_it = operation
        .own_resources(&made)
        .into_iter()
        .filter_map(path)
        .filter(|path| !undoing.what.contains(path));
    let with_it: Vec<String> =
        with_it.map(|path| format!("    with it {path}, if it is there\n")).collect();
    [vec![would_be_line(&undoing)], with_it].concat()
}

fn would_be_line(undoing: &Undoing) -> String {
    format!("  {} would be {}\n", escape_line(&undoing.what), undoing.did)
}

fn count_removed(many: usize) -> String {
    count_noun(many as u64, "thing removed", "things removed")
}

fn report_cleaned(id: &str, cleaned: &Cleaned) -> Result<()> {
    match cleaned.undone.as_slice() {
        [] if cleaned.left.is_empty() => say(&format!("{id}: nothing of it was left\n"))?,
        undone => say(&format!("{id}: {}\n", count_removed(undone.len())))?,
    }
    cleaned
        .undone
        .iter()
        .try_for_each(|undone| say(&format!("  {}\n", escape_line(&undone.to_string()))))?;
    cleaned.notes.iter().try_for_each(|note| say(&format!("  note: {}\n", escape_line(note))))
}

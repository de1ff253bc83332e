//! `iotax clean`: takes down what a killed run left; a run that is still going is not touched.

use super::say;
use crate::exit::{DONE, Failed};
use crate::measure::{contest, places};
use crate::step::HOST;
use crate::step::executor::{Left, report_left};
use crate::step::journal::Open;
use crate::step::op::Undoing;
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
    let (mut cleaned_any, mut left) = zrams(args.dry_run, &runs.join(contest::NOTES))?;
    let chosen = chosen(args, runs)?;
    if chosen.is_empty() && cleaned_any {
        report_left(&left)?;
        return Ok(DONE);
    }
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

/// The compressed disks of contests that were killed, which are of no run: whether there were any, and what of them is left.
fn zrams(dry_run: bool, notes: &Path) -> Result<(bool, Vec<Left>)> {
    let told = |text: String, paths: &[PathBuf], line: &dyn Fn(Undoing) -> String| -> Result<()> {
        let undoing = |path: &PathBuf| Undoing::new("removed", path.display());
        if !paths.is_empty() {
            say(&format!("compressed disks of a contest that was killed:{text}\n"))?;
        }
        paths.iter().try_for_each(|path| say(&line(undoing(path))))
    };
    if dry_run {
        let found = contest::abandoned_zrams(notes);
        told(String::new(), &found, &|undoing| would_be_line(&undoing))?;
        return Ok((!found.is_empty(), Vec::new()));
    }
    let contest::Cleared { removed, left } = contest::clear_zrams(notes);
    told(format!(" {}", taken_down(removed.len())), &removed, &|undone| format!("  {undone}\n"))?;
    let left: Vec<Left> = left.into_iter().map(|(path, error)| zram_left(&path, error)).collect();
    Ok((!(removed.is_empty() && left.is_empty()), left))
}

fn zram_left(path: &Path, error: std::io::Error) -> Left {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let number = name.trim_start_matches("zram");
    Left {
        what: format!("remove {}", path.display()),
        place: HOST.to_owned(),
        cause: error.into(),
        by_hand: Some(format!(
            "echo 1 > /sys/block/{name}/reset; echo {number} > /sys/class/zram-control/hot_remove"
        )),
    }
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
    Some(would_be_line(&undoing))
}

fn would_be_line(undoing: &Undoing) -> String {
    format!("  {} would be {}\n", undoing.what, undoing.did)
}

fn taken_down(many: usize) -> String {
    counted(many as u64, "thing taken down", "things taken down")
}

fn tell(id: &str, cleaned: &Cleaned) -> Result<()> {
    match cleaned.undone.as_slice() {
        [] if cleaned.left.is_empty() => say(&format!("{id}: nothing of it was left\n"))?,
        undone => say(&format!("{id}: {}\n", taken_down(undone.len())))?,
    }
    cleaned.undone.iter().try_for_each(|undone| say(&format!("  {undone}\n")))?;
    cleaned.notes.iter().try_for_each(|note| say(&format!("  note: {note}\n")))
}

//! `iotax rm`: removes stored runs. Refuses a run that is going, and one that may have left
//! something: its journal is the only memory of that.

use super::output::{say, typed};
use super::run_folder::{folder_with_journal, own_folder};
use anyhow::{Context, Result};
use iotax_steps::clean::pending;
use iotax_store::{self as store, RunLock};
use iotax_units::exit::{DONE, Failed};
use iotax_units::{count_noun, harmless, show_bytes};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Arguments of `rm`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Runs to remove: ids or parts of them, names, folders, `last` or `last~1`
    #[arg(value_name = "RUN", required = true)]
    run: Vec<String>,
    /// Remove without asking; needed where no terminal can be asked
    #[arg(long, short)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  iotax rm last
  iotax rm --yes 20260102-030405-a1b2 nightly
  iotax list --state failed --json | jq -r '.[].id' | xargs -r iotax rm --yes";

/// Removes the named runs, all or none. Returns the exit code.
///
/// # Errors
/// Bad input: a run does not exist, is going, is not this user's, or must be cleaned first; or
/// nobody can be asked.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let mut doomed: Vec<DoomedRun> = Vec::new();
    for text in &args.run {
        let found = folder_with_journal(runs, text)?;
        if Path::new(text).is_symlink() || found.is_symlink() {
            let why = format!("{text}: only the folder of a run is removed, never a link to it");
            return Err(Failed::input(why).into());
        }
        let folder = own_folder(&found, "remove")?;
        if doomed.iter().all(|run| run.folder != folder) {
            doomed.push(DoomedRun::new(folder)?);
        }
    }
    if !args.yes && !confirmed(&doomed)? {
        say("nothing was removed\n")?;
        return Ok(DONE);
    }
    for run in doomed {
        let line = run.to_line();
        store::remove_run(&run.folder, run.lock).map_err(Failed::from)?;
        say(&format!("removed {line}\n"))?;
    }
    Ok(DONE)
}

/// A run that is going to be removed; it is locked, so nobody resumes it meanwhile.
struct DoomedRun {
    folder: PathBuf,
    lock: RunLock,
    bytes: u64,
    name: Option<String>,
}

impl DoomedRun {
    fn new(folder: PathBuf) -> Result<DoomedRun> {
        let id = store::run_id_of(&folder);
        let bytes = store::removable_bytes(&folder).map_err(Failed::from)?;
        let Some(lock) = RunLock::take(&folder).map_err(Failed::from)? else {
            let why = format!("run {id} is still running; hint: end it with Ctrl-C first");
            return Err(Failed::input(why).into());
        };
        if !pending(&folder)?.is_nothing() {
            let clean = typed("clean", &folder);
            let why = format!("what run {id} made is still there; hint: first {clean}");
            return Err(Failed::input(why).into());
        }
        let start = store::read_summary(folder.clone()).start;
        let name = start.ok().and_then(|start| start.scenario.name);
        Ok(DoomedRun { folder, lock, bytes, name })
    }

    fn to_line(&self) -> String {
        let name = self.name.iter().map(|name| format!(" {},", harmless::escape_line(name)));
        let id = store::run_id_of(&self.folder);
        format!("{id}:{} {}", name.collect::<String>(), show_bytes(self.bytes))
    }
}

/// Asks on the terminal whether the runs are to be removed.
///
/// # Errors
/// Bad input if there is no terminal, or its answer cannot be read.
fn confirmed(doomed: &[DoomedRun]) -> Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let why = "rm: there is no terminal to ask; hint: --yes removes without asking";
        return Err(Failed::input(why).into());
    }
    let lines: String = doomed.iter().map(|run| format!("{}\n", run.to_line())).collect();
    let what = count_noun(doomed.len() as u64, "run", "runs");
    eprint!("{lines}remove {what} for good? [y/N] ");
    std::io::stderr().flush().context("cannot ask")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

//! `iotax resume`: continues a run after Ctrl-C, a kill or a reboot. It first removes what the
//! ended part left; the measurements of that part count.

use super::clean::say_waits;
use super::output::{say, say_aside};
use super::progress::ProgressPrinter;
use super::run::{finish, guest_parts, session};
use super::run_folder::{check_id, own_folder};
use super::{plan, report};
use anyhow::Result;
use iotax_measure::places;
use iotax_measure::resume_state::ResumeState;
use iotax_measure::session::rfc3339_now;
use iotax_model::record::RunRecord;
use iotax_model::record::state::RunState;
use iotax_plan::ready::ready;
use iotax_plan::sets::not_resumable;
use iotax_steps::clean::clean;
use iotax_steps::executor::report_left;
use iotax_store::{self as store, RunLock};
use iotax_units::exit::{DONE, Failed};
use std::ops::ControlFlow;
use std::path::Path;

/// Arguments of `resume`.
#[derive(clap::Args)]
pub struct Args {
    /// The run: its id or a part of it, its name, its folder, `last` or `last~1`
    run: String,
    #[command(flatten)]
    output: report::OutputArgs,
}

/// Removes what the run's ended part left, measures the rest and prints the report. Returns the
/// exit code. A complete run is left as it is.
///
/// # Errors
/// As for `iotax run`. Bad input also if the run is still going, was imported, was renamed, is not
/// this user's, or cannot be resumed.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let dir = store::find_newest(runs, &args.run).map_err(Failed::from)?;
    let dir = own_folder(&dir, "resume")?;
    let id = store::run_id_of(&dir);
    check_id(&id, "resume")?;
    let Some(_lock) = RunLock::take(&dir)? else {
        return Err(Failed::input(format!("run {id} is still running")).into());
    };
    let data = store::load_run(&dir).map_err(Failed::from)?;
    if data.start.imported.is_some() {
        let why =
            "it was imported, and nothing of it is measured here; hint: import its files again";
        return Err(Failed::input(format!("run {id} cannot be resumed: {why}")).into());
    }
    if data.state() == RunState::Complete {
        say(&format!("run {id} is complete: nothing to resume\n"))?;
        return Ok(DONE);
    }
    args.output.check_destination()?;
    let mut say_wait = say_waits();
    let watcher = move |progress| {
        say_wait(progress);
        ControlFlow::Continue(())
    };
    let cleaned = clean(&dir, &id, &mut places::executors_to_clean(&id, watcher))?;
    report_left(&cleaned.left)?;
    let mut scenario = data.start.scenario.clone();
    // A run that never began has nothing to make up for.
    let waited = data.state() == RunState::Waits;
    if let Some(why) = not_resumable(&scenario).filter(|_| !waited) {
        return Err(Failed::input(format!(
            "run {id} cannot be resumed: {why}; hint: run it again"
        ))
        .into());
    }
    let past = ResumeState::from_data(&data, &dir)?;
    past.consent_to_own(&mut scenario);
    let ready = ready(&scenario, &mut |text| say_aside(&text))?;
    ready.met(&scenario)?;
    let observer = ProgressPrinter::new();
    let loads = scenario.workloads.len() - past.workloads_done.len().min(scenario.workloads.len());
    observer.print_line(&plan::longest_run_words(&scenario, &ready, loads)?);
    let mut survey = ready.survey;
    // The start of the steady regime is judged by the caches at the run's start; memory that is
    // free now belongs to others.
    survey.write_caches = data.start.write_caches.clone();
    let parts = guest_parts(&scenario)?;
    let mut store = store::Store::append(&dir).map_err(Failed::from)?;
    store.append(&RunRecord::Resumed { at: rfc3339_now() })?;
    let result = session(&scenario, store, &dir, parts, survey, past, observer);
    finish(&dir, result, &args.output)
}

//! `iotax run`: checks the scenario, consults the guard and the needs, measures, prints the report.

use super::asked::MeasureArgs;
use super::name::NewName;
use super::output::{say, say_aside};
use super::progress::ProgressPrinter;
use super::{plan, ratings, report, stop};
use anyhow::{Context, Result};
use iotax_analysis::results::slo;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::system;
use iotax_drivers::system::boot_id;
use iotax_host::guard::admit::Admitted;
use iotax_layers::guest;
use iotax_measure::announced_once::AnnouncedOnce;
use iotax_measure::resume_state::ResumeState;
use iotax_measure::session::{RunOutcome, Session, rfc3339_now};
use iotax_model::record::state::WAITS;
use iotax_model::record::{Purpose, RunRecord, RunStart};
use iotax_model::scenario::Scenario;
use iotax_plan::ready::{ReadyScenario, ready};
use iotax_plan::sets::not_resumable;
use iotax_plan::survey;
use iotax_steps::executor::Executor;
use iotax_steps::journal::Journal;
use iotax_steps::place_executor::PlaceExecutors;
use iotax_store::{self as store, RunData, RunLock, Store, Writer};
use iotax_units::exit::{DONE, FINDING, Failed, MEASUREMENT_FAILED, UNDO_INCOMPLETE, code_of};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Arguments of `run`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    name: NewName,
    #[command(flatten)]
    asked: MeasureArgs,
    #[command(flatten, next_help_heading = "Output")]
    output: report::OutputArgs,
    #[command(flatten, next_help_heading = "Output")]
    ratings: ratings::GivenRatings,
}

impl Args {
    #[cfg(test)]
    pub fn measure_args(&self) -> &MeasureArgs {
        &self.asked
    }
}

/// Measures the scenario that the arguments describe and prints the report. Returns the exit code.
///
/// # Errors
/// By their exit codes: 2 bad input, 3 unmet need, 4 failed measurement, 5 incomplete undo.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let mut scenario = args.asked.scenario()?;
    args.name.put_into(&mut scenario);
    args.output.check_destination()?;
    let (dir, result) =
        measure(&scenario, args.ratings.checked_texts()?, runs, ProgressPrinter::new())?;
    finish(&dir, result, &args.output)
}

/// Prints the report of a run, even of one that failed after it had measured something. Returns the
/// exit code, 1 if acknowledged writes were lost, data differed when it was read back, or a service
/// level is broken.
///
/// # Errors
/// Returns the run's own error, or says that the report cannot be printed.
pub fn finish(dir: &Path, result: Result<RunOutcome>, output: &report::OutputArgs) -> Result<u8> {
    let counts = |purpose: Purpose| !matches!(purpose, Purpose::WarmUp | Purpose::Pilot);
    let nothing = |data: &RunData| {
        data.trials.is_empty()
            && data.courses.is_empty()
            && !data.slices.iter().any(|slice| counts(slice.purpose))
            && !data.verified.iter().any(|verified| verified.found.wrong() > 0)
    };
    if result.is_err() && !dir.join(store::INDEX).exists() {
        // Removed: nothing is kept, and nothing can be continued.
        return result.map(|_| DONE);
    }
    let ended_early = !matches!(result, Ok(RunOutcome::Complete));
    let empty = ended_early && store::load_run(dir).is_ok_and(|data| nothing(&data));
    let result = result.map_err(|error| match code_of(&error) {
        code @ UNDO_INCOMPLETE => {
            let clean = super::output::typed("clean", dir);
            anyhow::Error::new(Failed {
                code,
                message: format!("{error:#}\nto undo the rest: {clean}"),
            })
        }
        _ => error,
    });
    if empty && result.is_err() {
        // Nothing was measured: only the reason can be reported.
        return result.map(|_| DONE);
    }
    let printed = if empty { Ok(()) } else { report::print(dir, output) };
    let outcome = result.map_err(|error| {
        let (code, why) = (code_of(&error), format!("{error:#}"));
        // Some messages contain this hint already.
        let go_on = if why.contains("`iotax resume") {
            String::new()
        } else {
            format!("; {}", to_go_on(dir))
        };
        Failed {
            code,
            message: format!("{why}\nwhat was measured is kept in {}{go_on}", dir.display()),
        }
    })?;
    printed.with_context(|| format!("the run is kept in {}", dir.display()))?;
    if outcome == RunOutcome::Interrupted {
        let before = if empty { " before anything was measured" } else { "" };
        say(&format!("interrupted{before}; {}\n", to_go_on(dir)))?;
        return Ok(MEASUREMENT_FAILED);
    }
    let broken = store::load_run(dir).is_ok_and(|data| {
        data.trials.iter().any(|trial| trial.found.broken_blocks() > 0)
            || data.verified.iter().any(|verified| verified.found.wrong() > 0)
            || slo::is_broken(&data)
    });
    Ok(if broken { FINDING } else { DONE })
}

/// Returns how to continue a run that did not reach its end, or that it cannot be continued.
fn to_go_on(dir: &Path) -> String {
    let why = store::load_run(dir).ok().and_then(|data| not_resumable(&data.start.scenario));
    match why {
        None => format!("to go on: {}", super::output::typed("resume", dir)),
        Some(why) => format!("run it again ({why})"),
    }
}

/// Measures a scenario as a new run, which stores the texts of the given files of ratings. Returns
/// its folder and how it ended.
///
/// # Errors
/// Returns errors from before the run's folder is complete; later failures are in the result next
/// to the folder.
pub fn measure(
    scenario: &Scenario,
    ratings: Vec<String>,
    runs: &Path,
    observer: ProgressPrinter,
) -> Result<(PathBuf, Result<RunOutcome>)> {
    // Errors of the stacks come first, whatever the machine lacks; downloads come last.
    let ready = ready(scenario, &mut |text| say_aside(&text))?;
    let waits = ready.waits_for(scenario)?;
    let compares = scenario.durability.is_none() && scenario.limits.is_none();
    if compares && waits.is_none() {
        observer.print_line(&plan::longest_run_words(scenario, &ready, scenario.workloads.len())?);
    }
    let ReadyScenario { layout, survey, .. } = ready;
    let guest_parts = guest_parts(scenario)?;
    let id = store::new_id();
    let mut store = Store::create(runs, &id).map_err(Failed::from)?;
    let dir = store.folder().to_owned();
    let _lock = RunLock::take(&dir)?.context("a new run is locked already")?;
    store.append(&RunRecord::Run(RunStart {
        id: id.clone(),
        at: rfc3339_now(),
        iotax: env!("CARGO_PKG_VERSION").to_owned(),
        argv: std::env::args().collect(),
        scenario: scenario.clone(),
        boot_id: boot_id()?,
        siblings: layout.siblings() as u32,
        write_caches: survey.write_caches.clone(),
        imported: None,
        ratings,
    }))?;
    if let Some(lacking) = waits {
        store.append(&RunRecord::End { at: rfc3339_now(), outcome: WAITS.into() })?;
        let hint =
            format!("{lacking}\nthe run is kept and waits: after the reboot, iotax resume {id}");
        return Ok((dir, Err(Failed::need(hint).into())));
    }
    let past = ResumeState::default();
    let result = session(scenario, store, &dir, guest_parts, survey, past, observer);
    Ok((dir, result))
}

/// Measures a new or a resumed run and returns how it ended. `past` is what earlier parts of the
/// run have done.
///
/// # Errors
/// The measurement failed, or its steps could not be done or undone.
pub fn session(
    scenario: &Scenario,
    store: Writer,
    dir: &Path,
    guest_parts: Option<guest::GuestParts>,
    survey: survey::Survey,
    past: ResumeState,
    mut observer: ProgressPrinter,
) -> Result<RunOutcome> {
    let stop = stop::flag()?;
    let tag = RunTag { run_id: store::run_id_of(dir), run_dir: dir.to_owned() };
    let fill_stop = Arc::clone(&stop);
    let tell_fill = observer.of_fills();
    let tell_sync = observer.of_syncs();
    let mut tell_wait = observer.of_waits();
    let watcher = move |progress| {
        match progress {
            system::StepProgress::Filled(bytes) => tell_fill(bytes),
            system::StepProgress::Synced(share) => tell_sync(share),
            system::StepProgress::Waits(text) => tell_wait(text),
        }
        stop::break_if_stopped(&fill_stop)
    };
    let mut session = Session {
        scenario,
        survey,
        guest_parts,
        executor: Executor::new(PlaceExecutors::watched(watcher), Journal::open(dir)?, tag),
        store,
        observer: &mut observer,
        stop: &stop,
        past,
        announced: AnnouncedOnce::default(),
        admitted: Admitted::default(),
        undo_by_hand: None,
        kept: Default::default(),
        allowance: None,
    };
    session.run()
}

/// Returns what the scenario's guests and labs are started with (QEMU, kernel); `None` if it has
/// neither.
///
/// # Errors
/// Fails like [`guest::requested`]; if an image cannot be booted; or with an unmet need: no QEMU,
/// no kernel.
pub fn guest_parts(scenario: &Scenario) -> Result<Option<guest::GuestParts>> {
    guest::requested(scenario)?
        .map(|requested| guest::GuestParts::obtain(requested, scenario))
        .transpose()
}

//! `iotax fleet task`: the part of a fleet on a host. It speaks in lines that begin with a mark, as
//! a login profile may print others.

use super::super::output::{say, say_aside, say_bytes};
use super::super::plan::host_plan;
use super::super::progress::ProgressPrinter;
use super::super::run::measure;
use super::super::{report, stop};
use super::input::figures_of_run;
use anyhow::{Context, Result};
use iotax_fleet::committed::{self, sum_of};
use iotax_fleet::host_look::{HostLook, HostPlan};
use iotax_fleet::outcome::send_attempt;
use iotax_fleet::perform::{TaskRunner, perform_task};
use iotax_fleet::task::{AttemptState, ERR, FIGURES, LOG, OUT, Task, TaskFolder};
use iotax_units::exit::{DONE, Failed, MEASUREMENT_FAILED, UNDO_INCOMPLETE};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const MARK: &str = "IOTAX-FLEET";
/// Largest task that is read.
const MOST_TASK: u64 = 64 << 20;
/// Time within which a task that was started shows itself.
const BEGINS_WITHIN: Duration = Duration::from_secs(30);
const MOST_LOG: u64 = 16 << 10;
const LOOKS_EVERY: Duration = Duration::from_millis(50);

#[derive(clap::Args)]
pub struct TaskArgs {
    #[arg(value_enum)]
    action: TaskAction,
    /// Folder of the host's task
    folder: PathBuf,
    /// Time to wait for the end of the task
    #[arg(long, default_value_t = 0)]
    seconds: u64,
    #[arg(long, default_value_t = 0)]
    attempt: u32,
    /// File with the task
    #[arg(long)]
    task: Option<PathBuf>,
    /// Also read the task from standard input, and plan it, in lines of so many columns
    #[arg(long)]
    plan: Option<usize>,
    /// Seconds to stay until the folder is removed
    #[arg(long, default_value_t = 0)]
    hold: u64,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum TaskAction {
    /// Report machine and drives.
    Look,
    /// Take the task from standard input and start it, detached.
    Start,
    /// Carry the task out.
    Perform,
    /// Measure the scenario of the task, as the child of `perform`.
    Measure,
    Wait,
    /// Write the files of an attempt to standard output.
    Send,
    Cancel,
    Clean,
    Remove,
    /// Stay, so that the folder can be read from this pod.
    Hold,
}

/// Does one action. Returns the exit code.
///
/// # Errors
/// By their exit codes, as `iotax run`.
pub fn run(args: &TaskArgs) -> Result<u8> {
    let open =
        || TaskFolder::open(&args.folder).map_err(|error| anyhow::Error::from(Failed::from(error)));
    match args.action {
        TaskAction::Look => {
            let mut look = HostLook::of_this_machine(args.folder.parent().unwrap_or(&args.folder));
            if let Some(width) = args.plan {
                look.plan = Some(plan_of_task(&task_from_input()?, width));
            }
            say(&format!("{MARK} look {}\n", serde_json::to_string(&look)?))?;
            Ok(DONE)
        }
        TaskAction::Start => start(&open()?),
        TaskAction::Perform => {
            if let Some(task) = &args.task {
                take_task(&args.folder, task)?;
            }
            let done = perform(&open()?);
            if let Err(error) = &done {
                say_aside(&format!("iotax: {error:#}"));
            }
            hold(&args.folder, args.hold)?;
            done
        }
        TaskAction::Hold => hold(&args.folder, args.hold),
        TaskAction::Measure => measure_task(&open()?),
        TaskAction::Wait => wait(&open()?, Duration::from_secs(args.seconds)),
        TaskAction::Send => send(&open()?, args.attempt),
        TaskAction::Cancel => cancel(&open()?),
        TaskAction::Clean => clean(&open()?),
        TaskAction::Remove => remove(&open()?),
    }
}

fn say_state(folder: &TaskFolder) -> Result<u8> {
    let attempt = folder.task().map_err(Failed::from)?.map_or(0, |task| task.attempt);
    let state = folder.state_of(attempt);
    let log = last_line(&folder.path().join(LOG));
    if let Some(line) = log.filter(|_| state == AttemptState::Gone) {
        say(&format!("{MARK} log {line}\n"))?;
    }
    let state = serde_json::to_value(state)?;
    say(&format!("{MARK} task {attempt} {}\n", state.as_str().unwrap_or_default()))?;
    Ok(DONE)
}

fn task_from_input() -> Result<Task> {
    let mut text = Vec::new();
    std::io::stdin().take(MOST_TASK).read_to_end(&mut text)?;
    let task = serde_json::from_slice(&text);
    Ok(task.map_err(|error| Failed::input(format!("it is not a task: {error}")))?)
}

/// Returns what `iotax plan` prints of a task on this host.
fn plan_of_task(task: &Task, width: usize) -> HostPlan {
    match host_plan(&task.scenario, width) {
        Ok((text, why)) => HostPlan { text, why },
        Err(error) => HostPlan { text: String::new(), why: Some(format!("{error:#}")) },
    }
}

/// Stores the task and starts it in a session of its own, so that it outlives the connection.
fn start(folder: &TaskFolder) -> Result<u8> {
    let task = task_from_input()?;
    let newest = folder.newest_attempt();
    if folder.state_of(newest) == AttemptState::Running || newest >= task.attempt {
        return say_state(folder);
    }
    folder.write_task(&task).map_err(Failed::from)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["fleet", "task", "perform"]).arg(folder.path());
    let log = folder.path().join(LOG);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
    iotax_sys::child::inherits_nothing(&mut command);
    let mut child =
        iotax_sys::child::in_own_session(&mut command).spawn().context("cannot start the task")?;
    let begun = Instant::now();
    let is_new = || folder.state_of(task.attempt) == AttemptState::New;
    while is_new() && begun.elapsed() < BEGINS_WITHIN && child.try_wait()?.is_none() {
        std::thread::sleep(LOOKS_EVERY);
    }
    if is_new() {
        let why = last_line(&log).unwrap_or_else(|| "it printed no reason".to_owned());
        say(&format!("{MARK} refused {why}\n"))?;
    }
    say_state(folder)
}

/// Returns the last line of the log of a task, without the program's name.
fn last_line(log: &Path) -> Option<String> {
    let text = iotax_sys::regular::tail(log, MOST_LOG);
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(last.trim_start_matches("iotax: ").to_owned())
}

/// Puts a task from a file into its folder, unless it is there already.
fn take_task(folder: &Path, file: &Path) -> Result<()> {
    let text = iotax_sys::regular::read_regular(file, MOST_TASK)?;
    let task: Task = serde_json::from_slice(&text)
        .map_err(|error| Failed::input(format!("{}: it is not a task: {error}", file.display())))?;
    committed::make_folder(folder).map_err(Failed::from)?;
    let folder = TaskFolder::open(folder).map_err(Failed::from)?;
    if folder.newest_attempt() < task.attempt {
        folder.write_task(&task).map_err(Failed::from)?;
    }
    Ok(())
}

/// Stays until the folder is removed, at most that many seconds, or until a signal.
fn hold(folder: &Path, seconds: u64) -> Result<u8> {
    let (stop, begun) = (stop::flag()?, Instant::now());
    let limit = Duration::from_secs(seconds);
    let had_task = folder.exists();
    while begun.elapsed() < limit && !stop.load(Ordering::Relaxed) && (folder.exists() || !had_task)
    {
        std::thread::sleep(LOOKS_EVERY);
    }
    Ok(DONE)
}

/// Carries the task out in this process. Returns the exit code of its outcome.
fn perform(folder: &TaskFolder) -> Result<u8> {
    let outcome = perform_task(folder, &mut ChildRunner { folder })?;
    Ok(outcome.code)
}

/// Runs the measurement as a child, which survives neither this process nor its signals.
struct ChildRunner<'a> {
    folder: &'a TaskFolder,
}

impl TaskRunner for ChildRunner<'_> {
    fn measure(&mut self, _task: &Task, runs: &Path, attempt: &Path) -> u8 {
        match self.child(runs, attempt) {
            Ok(code) => code,
            Err(error) => {
                // The outcome shows the end of this file.
                let _ = std::fs::write(attempt.join(ERR), format!("iotax: {error:#}\n"));
                MEASUREMENT_FAILED
            }
        }
    }

    fn write_figures(&mut self, run: &Path, attempt: &Path) -> Result<()> {
        let figures = figures_of_run(run)?;
        Ok(committed::write_json(attempt, FIGURES, &figures).map_err(Failed::from)?)
    }

    fn remove_runs(&mut self, runs: &Path) {
        if check_nothing_left(runs).is_ok() {
            // `fleet clean` removes what this cannot.
            let _ = std::fs::remove_dir_all(runs);
        }
    }
}

impl ChildRunner<'_> {
    fn child(&self, runs: &Path, attempt: &Path) -> Result<u8> {
        let stop = stop::flag()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--runs").arg(runs).args(["fleet", "task", "measure"]).arg(self.folder.path());
        command
            .stdin(Stdio::null())
            .stdout(File::create(attempt.join(OUT))?)
            .stderr(File::create(attempt.join(ERR))?);
        let mut child = iotax_sys::child::ends_with_us(&mut command).spawn()?;
        let mut is_signalled = false;
        loop {
            if let Some(status) =
                iotax_sys::child::ended_within(&mut child, Duration::from_millis(500))?
            {
                if is_signalled {
                    let mut errors = File::options().append(true).open(attempt.join(ERR))?;
                    writeln!(errors, "iotax: it was interrupted; run.iotax has what it measured")?;
                }
                return Ok(status.code().map_or(MEASUREMENT_FAILED, |code| code as u8));
            }
            if stop.load(Ordering::Relaxed) && !is_signalled {
                iotax_sys::child::signal_all(&mut child, rustix::process::Signal::TERM);
                is_signalled = true;
            }
        }
    }
}

fn measure_task(folder: &TaskFolder) -> Result<u8> {
    let task = folder.task().map_err(Failed::from)?.context("there is no task")?;
    let runs = folder.runs_of(Some(&task));
    let (dir, result) = measure(&task.scenario, Vec::new(), &runs, ProgressPrinter::new())?;
    super::super::run::finish(&dir, result, &report::OutputArgs::default())
}

fn wait(folder: &TaskFolder, limit: Duration) -> Result<u8> {
    let begun = Instant::now();
    let attempt = folder.task().map_err(Failed::from)?.map_or(0, |task| task.attempt);
    while folder.state_of(attempt) == AttemptState::Running && begun.elapsed() < limit {
        std::thread::sleep(LOOKS_EVERY);
    }
    say_state(folder)
}

fn send(folder: &TaskFolder, attempt: u32) -> Result<u8> {
    let mut stream = Vec::new();
    send_attempt(&folder.attempt(attempt), &mut stream)?;
    say(&format!("{MARK} stream {} {}\n", stream.len(), sum_of(&stream)))?;
    say_bytes(&mut |out| out.write_all(&stream))?;
    Ok(DONE)
}

fn cancel(folder: &TaskFolder) -> Result<u8> {
    let attempt = folder.newest_attempt();
    let mark = folder.start_mark(attempt).map_err(Failed::from)?;
    if let Some(mark) = mark.filter(|_| folder.state_of(attempt) == AttemptState::Running) {
        let pid = i32::try_from(mark.pid).ok().and_then(rustix::process::Pid::from_raw);
        let own = format!("/proc/{}/exe", mark.pid);
        // The lock is held, so the process lives; its program must be a copy of this one.
        let is_task =
            std::fs::read_link(own).is_ok_and(|exe| Some(exe) == std::env::current_exe().ok());
        if let Some(pid) = pid.filter(|_| is_task) {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        }
    }
    say_state(folder)
}

fn still_running(folder: &TaskFolder) -> anyhow::Error {
    let fleet = folder.task().ok().flatten().map_or_else(|| "last".to_owned(), |task| task.fleet);
    Failed::input(format!("its task is still running; hint: iotax fleet cancel {fleet}")).into()
}

/// Undoes what the runs of a task that is gone have left.
fn clean(folder: &TaskFolder) -> Result<u8> {
    let Some(_lock) = folder.lock().map_err(Failed::from)? else {
        return Err(still_running(folder));
    };
    let task = folder.task().map_err(Failed::from)?;
    let runs = folder.runs_of(task.as_ref());
    if runs.exists() {
        super::super::clean::clean_all(&runs)?;
    }
    if task.is_some_and(|task| task.runs.is_some()) {
        std::fs::remove_dir_all(&runs).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
    }
    say(&format!("{MARK} cleaned\n"))?;
    Ok(DONE)
}

/// Removes the folder of the task. The program in it is this one.
fn remove(folder: &TaskFolder) -> Result<u8> {
    let Some(_lock) = folder.lock().map_err(Failed::from)? else {
        return Err(still_running(folder));
    };
    let task = folder.task().map_err(Failed::from)?;
    check_nothing_left(&folder.runs_of(task.as_ref()))?;
    std::fs::remove_dir_all(folder.path())
        .with_context(|| format!("cannot remove {}", folder.path().display()))?;
    let fleet = folder.path().parent().map(Path::to_owned).unwrap_or_default();
    // Other hosts that share the folder have links of their own; the folder stays if one is there.
    let _ = std::fs::remove_file(fleet.join("program"));
    let _ = std::fs::remove_dir(&fleet);
    say(&format!("{MARK} removed\n"))?;
    Ok(DONE)
}

/// Checks that no run of a folder has left something on this host.
///
/// # Errors
/// An incomplete undo: names the run.
fn check_nothing_left(runs: &Path) -> Result<()> {
    if !runs.exists() {
        return Ok(());
    }
    for run in iotax_store::list_runs(runs).map_err(Failed::from)? {
        if !iotax_steps::clean::pending(&run.folder)?.is_nothing() {
            let message = format!("the run {} has left something; hint: iotax fleet clean", run.id);
            return Err(Failed { code: UNDO_INCOMPLETE, message }.into());
        }
    }
    Ok(())
}

//! Slurm: one job for each node, pinned, exclusive and never requeued. The folder of the fleet is
//! on a file system that all nodes see; the task writes its outcome there, and that counts, not
//! what Slurm says of the job.

use super::fleet_engine::{FleetEngine, FleetRun, HostErrand, look_words};
use super::tools::{ENGINE_LIMIT, run_tool};
use crate::host_look::{HostLook, LookPurpose};
use crate::host_state::{HostReport, HostState};
use crate::inventory::FleetHost;
use crate::plan::{PlannedHost, Ticket, TicketPhase};
use crate::task::{AttemptState, OUTCOME, TaskFolder};
use iotax_units::exit::Failed;
use iotax_units::shell;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Age from which the list of jobs is asked for again.
const LIST_AGE: Duration = Duration::from_secs(1);
/// Interval at which a host's outcome is looked for.
const LOOKS_EVERY: Duration = Duration::from_millis(250);
/// Time within which a node takes a short step.
const STEP_LIMIT: Duration = Duration::from_secs(900);
/// Exit code of the script on a node that does not see the folder of the fleet.
const NOT_SHARED: &str = "71:0";

/// A job, as Slurm lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ListedJob {
    number: String,
    name: String,
    state: String,
    reason: String,
}

/// Jobs of the user, or the reason why Slurm does not list them.
type JobList = Result<Vec<ListedJob>, String>;

/// Fleets on the nodes of a partition.
pub struct SlurmEngine {
    partition: String,
    options: Vec<String>,
    jobs: Mutex<Option<(Instant, JobList)>>,
    program: OnceLock<Result<PathBuf, String>>,
}

/// Returns the nodes of a partition.
///
/// # Errors
/// Bad input: there is no such partition, it shares its nodes, or Slurm does not answer (an unmet
/// need).
pub fn nodes_of(partition: &str) -> Result<Vec<FleetHost>, Failed> {
    let need = |why: String| {
        Failed::need(format!(
            "cannot ask Slurm: {why}; hint: install slurm-client, set SLURM_CONF, and see whether `scontrol ping` answers"
        ))
    };
    let shown =
        run_tool("scontrol", &["show", "partition", "-o"], None, ENGINE_LIMIT).map_err(need)?;
    let partitions: Vec<&str> =
        shown.lines().filter_map(|line| field_of(line, "PartitionName")).collect();
    let line = shown.lines().find(|line| field_of(line, "PartitionName") == Some(partition));
    let Some(line) = line else {
        return Err(Failed::input(format!(
            "Slurm has no partition \"{}\"; partitions: {}",
            partition.escape_debug(),
            partitions.join(", ")
        )));
    };
    if let Some(shares) = field_of(line, "OverSubscribe").filter(|word| word.starts_with("FORCE")) {
        return Err(Failed::input(format!(
            "the partition {partition} runs several jobs on a node at once (OverSubscribe={shares}), even exclusive ones, so \
             they would disturb each other; hint: choose another partition"
        )));
    }
    let listed = run_tool("sinfo", &["-h", "-N", "-p", partition, "-o", "%N"], None, ENGINE_LIMIT)
        .map_err(need)?;
    let mut names: Vec<&str> =
        listed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    names.dedup();
    names.into_iter().map(|name| FleetHost::new(name).map_err(Failed::input)).collect()
}

/// Returns the value of `KEY=VALUE` in a line of `scontrol -o`.
fn field_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

impl SlurmEngine {
    pub fn new(partition: &str, options: &[String]) -> SlurmEngine {
        SlurmEngine {
            partition: partition.to_owned(),
            options: options.to_vec(),
            jobs: Mutex::new(None),
            program: OnceLock::new(),
        }
    }

    /// Returns the newest job of a host, by its number if that is known; `Ok(None)` if Slurm has
    /// forgotten it.
    fn job(&self, errand: &HostErrand, ticket: &Ticket) -> Result<Option<ListedJob>, String> {
        let name = job_name(errand);
        let is_own = |job: &&ListedJob| match &ticket.job {
            Some(number) => job.number == *number,
            None => job.name == name,
        };
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = jobs.as_ref().is_some_and(|(at, _)| at.elapsed() < LIST_AGE);
        if !is_fresh {
            // Plain, as `--json` ends with success and no jobs if the controller does not answer.
            let words = ["-h", "--me", "--states=all", "-o", "%i|%j|%T|%r"];
            let listed =
                run_tool("squeue", &words, None, ENGINE_LIMIT).map(|text| listed_jobs(&text));
            *jobs = Some((Instant::now(), listed));
        }
        match jobs.as_ref() {
            Some((_, Ok(listed))) => Ok(listed.iter().rfind(is_own).cloned()),
            Some((_, Err(why))) => Err(why.clone()),
            None => Err("the jobs were not listed".into()),
        }
    }

    /// Copies this program into the folder of the fleet, once.
    fn place_program(&self, run: &FleetRun) -> Result<PathBuf, String> {
        let copy = || {
            let path = run.folder.path().join("program");
            let part = run.folder.path().join("program.part");
            std::fs::copy("/proc/self/exe", &part)
                .and_then(|_| std::fs::rename(&part, &path))
                .map_err(|error| {
                    format!("cannot copy the program to {}: {error}", path.display())
                })?;
            Ok(path)
        };
        self.program.get_or_init(copy).clone()
    }

    /// Returns the options that pin a job to a node.
    fn pinned<'a>(&'a self, host: &'a str) -> Vec<&'a str> {
        let own = ["-p", &self.partition, "-w", host, "-N1", "-n1"];
        own.into_iter().chain(self.options.iter().map(String::as_str)).collect()
    }

    /// Runs the program on a node as a step of its own, and returns what it printed.
    fn step(
        &self,
        run: &FleetRun,
        host: &str,
        action: &str,
        folder: &Path,
        input: Option<&[u8]>,
    ) -> Result<String, String> {
        let program = self.place_program(run)?;
        let (program, folder) = (program.display().to_string(), folder.display().to_string());
        let mut words = self.pinned(host);
        words.extend(["-D", "/", "-J", "iotax-look", &program, "fleet", "task"]);
        words.extend(action.split(' ').chain([folder.as_str()]));
        run_tool("srun", &words, input, STEP_LIMIT)
    }

    /// Submits the task of a host.
    fn submit(&self, errand: &HostErrand, ticket: &mut Ticket) -> Result<(), String> {
        let run = errand.run;
        let program = self.place_program(run)?;
        let folder = TaskFolder::open(errand.folder.path()).map_err(|error| error.to_string())?;
        let mut task = run.plan.task(errand.planned, ticket.attempt);
        let name = job_name(errand);
        task.runs = Some(Path::new("/var/tmp").join(&name));
        folder.write_task(&task).map_err(|error| error.to_string())?;
        ticket.phase = TicketPhase::Sent;
        ticket.job = None;
        errand.folder.write_ticket(ticket).map_err(|error| error.to_string())?;
        let script = batch_script(&program, folder.path(), &name);
        let mut words = vec![
            "--parsable",
            "--exclusive",
            "--no-requeue",
            "-D",
            "/",
            "-o",
            "/dev/null",
            "-J",
            &name,
        ];
        words.extend(self.pinned(&errand.planned.host.name));
        let job = run_tool("sbatch", &words, Some(script.as_bytes()), ENGINE_LIMIT)?;
        ticket.job = job.trim().split(';').next().map(str::to_owned);
        errand.folder.write_ticket(ticket).map_err(|error| error.to_string())
    }

    /// Waits until the host has an outcome or its job is over.
    fn wait(&self, errand: &HostErrand, ticket: &Ticket) -> HostReport {
        let task = TaskFolder::open(errand.folder.path());
        let (mut begun, mut cancelled, mut over_since) =
            (false, false, None::<(Instant, HostReport)>);
        loop {
            if errand.folder.attempt(ticket.attempt).join(OUTCOME).exists() {
                match errand.folder.report() {
                    Ok(report) if report.state.is_final() => return report,
                    // It is read again.
                    Ok(_) | Err(_) => {}
                }
            }
            let state =
                task.as_ref().map_or(AttemptState::New, |task| task.state_of(ticket.attempt));
            if state == AttemptState::Running && !begun {
                begun = true;
                (errand.on_begin)();
            }
            if errand.run.stop.load(Ordering::Relaxed) && !cancelled {
                cancelled = self.cancel_job(errand, ticket).is_ok();
            }
            let over = self.over(errand, ticket, state);
            match (over, state) {
                // Its process lives: the job's state is wrong, as after a cut of the network.
                (None, _) | (Some(_), AttemptState::Running) => over_since = None,
                (Some(report), _) => {
                    let (since, report) = over_since.get_or_insert((Instant::now(), report));
                    // A file system of the network shows a result a little later.
                    let waits = if report.state == HostState::Unknown {
                        errand.run.patience
                    } else {
                        Duration::from_secs(5)
                    };
                    if since.elapsed() >= waits {
                        return report.clone();
                    }
                }
            }
            std::thread::sleep(LOOKS_EVERY);
        }
    }

    /// Returns how a host without an outcome has ended; `None` if its job is not over.
    fn over(
        &self,
        errand: &HostErrand,
        ticket: &Ticket,
        state: AttemptState,
    ) -> Option<HostReport> {
        let (run, host) = (errand.run, &errand.planned.host.name);
        let listed = match self.job(errand, ticket) {
            Ok(listed) => listed,
            Err(why) => {
                return Some(run.unknown(format!(
                    "Slurm does not answer ({why}), and the task may still be running"
                )));
            }
        };
        let without_result = |why: String| match state {
            AttemptState::Gone => errand.lost(why),
            _ => run.never_started(why),
        };
        let Some(listed) = listed else {
            let job = ticket.job.as_deref().unwrap_or("of that name");
            let why = format!("Slurm no longer lists the job {job}, and there is no result");
            return Some(without_result(why));
        };
        let job = &listed.number;
        match listed.state.as_str() {
            "PENDING"
                if listed.reason.starts_with("ReqNodeNotAvail")
                    || listed.reason.contains("DOWN") =>
            {
                let why = format!("the node is not available: job {job} waits ({})", listed.reason);
                Some(HostReport::new(
                    HostState::Unknown,
                    why,
                    format!("scontrol show node {host}; then: {}", run.resume()),
                ))
            }
            "PENDING" | "CONFIGURING" | "RUNNING" | "COMPLETING" | "SUSPENDED" | "STAGE_OUT"
            | "SIGNALING" => None,
            "NODE_FAIL" => Some(run.unknown(format!(
                "Slurm lost the node of job {job}, and the task may still be running there"
            ))),
            state => {
                let exit = run_tool("scontrol", &["show", "job", "-o", job], None, ENGINE_LIMIT)
                    .unwrap_or_default();
                match field_of(&exit, "ExitCode") {
                    Some(NOT_SHARED) => Some(HostReport::new(
                        HostState::Refused,
                        format!("{host} does not see {}", errand.run.folder.path().display()),
                        format!(
                            "start a new fleet with --fleets DIR on a file system that all nodes see, or with --limit '!{host}'"
                        ),
                    )),
                    code => {
                        let code = code.unwrap_or("no exit code");
                        let longer = "; hint: a longer limit, such as --sbatch=--time=60:00";
                        let hint = if state == "TIMEOUT" { longer } else { "" };
                        let why =
                            format!("job {job} ended as {state} ({code}) without a result{hint}");
                        Some(without_result(why))
                    }
                }
            }
        }
    }

    /// Has the task end: it gets SIGTERM, undoes what it made, and has an outcome.
    fn cancel_job(&self, errand: &HostErrand, ticket: &Ticket) -> Result<(), String> {
        let Some(job) = self.job(errand, ticket)? else { return Ok(()) };
        let words = match job.state.as_str() {
            "PENDING" => vec![job.number.as_str()],
            _ => vec!["--batch", "--signal=TERM", &job.number],
        };
        run_tool("scancel", &words, None, ENGINE_LIMIT).map(drop)
    }
}

fn listed_jobs(text: &str) -> Vec<ListedJob> {
    let parsed = |line: &str| {
        let mut parts = line.trim().splitn(4, '|').map(str::to_owned);
        let (number, name) = (parts.next()?, parts.next()?);
        Some(ListedJob { number, name, state: parts.next()?, reason: parts.next()? })
    };
    text.lines().filter_map(parsed).collect()
}

/// Returns the name of a host's job and of its folder on the node.
fn job_name(errand: &HostErrand) -> String {
    format!("iotax-{}-{}", errand.run.plan.id, errand.planned.host.name)
}

/// Returns the script of a job: it copies the program to the node, carries the task out, hands a
/// signal on, and removes the copy.
pub(crate) fn batch_script(program: &Path, folder: &Path, name: &str) -> String {
    let (program, folder) = (shell::path(program), shell::path(folder));
    let copy = shell::quote_word(&format!("/tmp/{name}"));
    format!(
        "#!/bin/sh\n\
         # The task decides by its folder whether it begins: a second start of it does nothing.\n\
         umask 077\n\
         [ -e {folder}/task.json ] || exit 71\n\
         copy={copy}\n\
         sbcast -f -p {program} \"$copy\" 2>/dev/null || copy={program}\n\
         trap 'kill -TERM $task' TERM\n\
         \"$copy\" fleet task perform {folder} 2>{folder}/task.log &\n\
         task=$!\n\
         wait $task; code=$?\n\
         # A signal ends the first wait.\n\
         while kill -0 $task 2>/dev/null; do wait $task; code=$?; done\n\
         [ \"$copy\" = {program} ] || rm -f \"$copy\"\n\
         exit $code\n"
    )
}

impl FleetEngine for SlurmEngine {
    fn look(
        &self,
        run: &FleetRun,
        planned: &PlannedHost,
        purpose: LookPurpose,
    ) -> Result<HostLook, HostReport> {
        let host = &planned.host.name;
        let state = run_tool(
            "sinfo",
            &["-h", "-n", host, "-p", &self.partition, "-o", "%T|%E"],
            None,
            ENGINE_LIMIT,
        )
        .map_err(|why| run.never_started(why))?;
        let state = state.lines().next().unwrap_or_default();
        let (state, reason) = state.trim().split_once('|').unwrap_or((state.trim(), ""));
        if ["down", "drain", "fail", "unknown", "error"].iter().any(|word| state.contains(word)) {
            let why = format!("the node is {state} in Slurm: {reason}");
            let next = format!("scontrol show node {host}; then: {}", run.resume());
            return Err(HostReport::new(HostState::NeverStarted, why, next));
        }
        if planned.consent.is_empty() && purpose == LookPurpose::Start {
            return Ok(HostLook::default());
        }
        let (action, input) = look_words(run, planned, purpose);
        let printed = self
            .step(run, host, &action, Path::new("/var/tmp"), input.as_deref())
            .map_err(|why| run.never_started(why))?;
        let look = HostLook::from_printed(&printed);
        let mut look = look.ok_or_else(|| run.never_started("it does not report its drives"))?;
        // The names of nodes are Slurm's: no two of them are one node.
        look.machine.folder = None;
        Ok(look)
    }

    fn carry_out(&self, errand: &HostErrand, ticket: &mut Ticket) -> HostReport {
        let folder = match TaskFolder::open(errand.folder.path()) {
            Ok(folder) => folder,
            Err(error) => return errand.run.never_started(error.to_string()),
        };
        if ticket.phase != TicketPhase::Prepared {
            let state = folder.state_of(ticket.attempt);
            match (state, self.over(errand, ticket, state)) {
                (AttemptState::Gone, Some(lost)) => {
                    if !errand.may_begin_again() || self.clean(errand, ticket).is_err() {
                        return lost;
                    }
                    *ticket = Ticket::new(ticket.attempt + 1);
                }
                (AttemptState::New, Some(_)) => {
                    // A job that still waits would be a second one; one that has ended cannot be
                    // cancelled.
                    let _ = self.cancel_job(errand, ticket);
                    *ticket = Ticket::new(ticket.attempt);
                }
                _ => {}
            }
        }
        if ticket.phase == TicketPhase::Prepared {
            ticket.leaves = true;
            if let Err(why) = self.submit(errand, ticket) {
                return errand.run.never_started(why);
            }
        }
        let report = self.wait(errand, ticket);
        ticket.leaves &= !folder.has_outcome(ticket.attempt);
        report
    }

    fn status(&self, errand: &HostErrand, ticket: &Ticket) -> HostReport {
        let state = TaskFolder::open(errand.folder.path())
            .map_or(AttemptState::New, |task| task.state_of(ticket.attempt));
        match (state, self.over(errand, ticket, state)) {
            (AttemptState::Running, _) | (_, None) => HostReport::plain(HostState::Running),
            (_, Some(report)) => report,
        }
    }

    fn cancel(&self, errand: &HostErrand, ticket: &Ticket) -> Result<(), HostReport> {
        let again = format!("iotax fleet cancel {}", errand.run.plan.id);
        self.cancel_job(errand, ticket)
            .map_err(|why| HostReport::new(HostState::Unknown, why, again))
    }

    fn clean(&self, errand: &HostErrand, ticket: &Ticket) -> Result<(), String> {
        let folder = TaskFolder::open(errand.folder.path()).map_err(|error| error.to_string())?;
        if folder.state_of(ticket.attempt) != AttemptState::New {
            let printed =
                self.step(errand.run, &errand.planned.host.name, "clean", folder.path(), None)?;
            if !printed.contains("IOTAX-FLEET cleaned") {
                return Err("its node did not report that it is clean".into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_listed_with_state_and_reason() {
        let listed = listed_jobs(
            "12|a|PENDING|ReqNodeNotAvail, UnavailableNodes:n4\n13|b|RUNNING|None\nnoise\n",
        );
        assert_eq!(listed.len(), 2);
        assert_eq!((listed[0].state.as_str(), listed[1].name.as_str()), ("PENDING", "b"));
        assert!(listed[0].reason.starts_with("ReqNodeNotAvail"));
    }

    #[test]
    fn fields_of_scontrol_are_found() {
        let line = "PartitionName=shared AllowGroups=ALL OverSubscribe=FORCE:4 State=UP";
        assert_eq!(field_of(line, "OverSubscribe"), Some("FORCE:4"));
        assert_eq!(field_of(line, "Over"), None);
    }

    #[test]
    fn the_script_of_a_job() {
        let script = batch_script(
            Path::new("/shared/f/program"),
            Path::new("/shared/f/hosts/n1"),
            "iotax-f-n1",
        );
        insta::assert_snapshot!(script);
    }
}

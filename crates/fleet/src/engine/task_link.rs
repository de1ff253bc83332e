//! A task on a host that is reached by questions to the program there: how it is started, waited
//! for, gathered, and what its host's state is. Engines differ in how a question gets to the host.

use super::fleet_engine::{FleetRun, HostErrand, INTERRUPTED, look_words};
use super::host_shell::{MARK, ScriptOutput, ShellAnswer};
use crate::committed::sum_of_file;
use crate::host_look::{HostLook, LookPurpose};
use crate::host_state::{HostReport, HostState};
use crate::outcome::{Outcome, receive_attempt};
use crate::plan::{PlannedHost, Ticket, TicketPhase};
use crate::task::AttemptState;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Time for a short question.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// Seconds that one question waits for the end of a task.
const WAITS_S: u64 = 20;
/// Time for gathering and for cleaning.
pub(super) const LONG_LIMIT: Duration = Duration::from_secs(900);
/// Seconds by which a clock may be off before the report says so.
const CLOCK_APART_S: i64 = 60;

const SPENT: &str = "a task that may write was sent there before, so it does not begin again";

/// Reason why a question has no answer.
pub(super) struct AskFault {
    pub(super) why: String,
    /// True if the host answered that the task did not begin.
    pub(super) refused: bool,
}

impl From<String> for AskFault {
    fn from(why: String) -> AskFault {
        AskFault { why, refused: false }
    }
}

/// Answer to a question about a task.
#[derive(Debug)]
pub(super) struct TaskAnswer {
    pub(super) attempt: u32,
    pub(super) state: AttemptState,
    /// Last line of the log of a task that is gone.
    pub(super) log: Option<String>,
}

/// A way to the program on one host.
pub(super) trait TaskLink {
    fn fleet_run(&self) -> &FleetRun<'_>;

    /// Makes the program there answer. Returns the seconds by which the clock of the host is ahead.
    ///
    /// # Errors
    /// The report of a host that cannot take a task.
    fn prepare(&self, ticket: &Ticket) -> Result<Option<i64>, HostReport>;

    /// Runs `iotax fleet task ACTION FOLDER` on the host.
    ///
    /// # Errors
    /// The program of the engine cannot be started.
    fn program(
        &self,
        action: &str,
        input: Option<Box<dyn Read + Send>>,
        output: ScriptOutput,
        limit: Duration,
    ) -> std::io::Result<ShellAnswer>;

    /// Starts a task, as JSON.
    ///
    /// # Errors
    /// The report of a host on which it did not begin, or that does not answer.
    fn begin(&self, task: Vec<u8>) -> Result<TaskAnswer, HostReport>;

    /// Asks what has happened to the task so far.
    ///
    /// # Errors
    /// The report of a host that does not answer.
    fn ask_first(&self, _ticket: &Ticket) -> Result<TaskAnswer, HostReport> {
        self.ask("wait --seconds 0", None, ANSWER_LIMIT).map_err(|fault| self.unanswered(fault))
    }

    /// Looks for another way to the host, as it does not answer.
    fn reach_again(&self) {}

    /// Removes all that the engine itself keeps for the host.
    ///
    /// # Errors
    /// Says what is left.
    fn release(&self) -> Result<(), String> {
        Ok(())
    }

    /// Asks for the drives and the identity of the host.
    fn ask_look(
        &self,
        planned: &PlannedHost,
        purpose: LookPurpose,
    ) -> Result<HostLook, HostReport> {
        let (action, input) = look_words(self.fleet_run(), planned, purpose);
        let input = input.map(|text| Box::new(Cursor::new(text)) as Box<dyn Read + Send>);
        let answer = self.program(&action, input, ScriptOutput::Kept, ANSWER_LIMIT);
        let answer = answer.map_err(|error| self.never_started(error.to_string()))?;
        let look = answer.marked("look").and_then(|text| serde_json::from_str(text).ok());
        look.ok_or_else(|| match self.fleet_run().stop.load(Ordering::Relaxed) {
            true => self.never_started(INTERRUPTED),
            false => {
                let words = answer.last_words();
                self.never_started(format!("it does not report its drives: {words}"))
            }
        })
    }

    /// Asks a question about the task.
    ///
    /// # Errors
    /// The last words of a host that gives no answer.
    fn ask(
        &self,
        action: &str,
        input: Option<Box<dyn Read + Send>>,
        limit: Duration,
    ) -> Result<TaskAnswer, AskFault> {
        let answer = self
            .program(action, input, ScriptOutput::Kept, limit)
            .map_err(|error| AskFault::from(error.to_string()))?;
        if let Some(why) = answer.marked("refused") {
            return Err(AskFault { why: why.to_owned(), refused: true });
        }
        let parsed = answer.marked("task").and_then(|text| {
            let (attempt, state) = text.split_once(' ')?;
            let state = serde_json::from_value(serde_json::Value::String(state.to_owned())).ok()?;
            let log = answer.marked("log").map(str::to_owned);
            Some(TaskAnswer { attempt: attempt.parse().ok()?, state, log })
        });
        parsed.ok_or_else(|| answer.last_words().into())
    }

    /// Waits for the end of the task, over cut connections. Returns the last answer.
    ///
    /// # Errors
    /// The host did not answer for the patience of the fleet: its last words.
    fn wait(&self) -> Result<TaskAnswer, AskFault> {
        let mut answered = Instant::now();
        let mut cancelled = false;
        loop {
            if !cancelled && self.fleet_run().stop.load(Ordering::Relaxed) {
                cancelled = self.ask("cancel", None, ANSWER_LIMIT).is_ok();
            }
            let seconds = if cancelled { 1 } else { WAITS_S };
            let asked = self.ask(&format!("wait --seconds {seconds}"), None, ANSWER_LIMIT);
            match asked {
                Ok(answer) if answer.state != AttemptState::Running => return Ok(answer),
                Ok(_) => answered = Instant::now(),
                Err(why) if answered.elapsed() > self.fleet_run().patience => return Err(why),
                Err(_) => {
                    self.reach_again();
                    std::thread::sleep(Duration::from_secs(1));
                }
            }
        }
    }

    /// Fetches the files of an attempt.
    fn gather(&self, into: &Path, attempt: u32) -> Result<Outcome, String> {
        let file = tempfile::NamedTempFile::new_in(into).map_err(|error| error.to_string())?;
        let file = file.path();
        let action = format!("send --attempt {attempt}");
        let sent = self.program(&action, None, ScriptOutput::ToFile(file), LONG_LIMIT);
        let answer = sent.map_err(|error| error.to_string())?;
        let opened = File::open(file).map_err(|error| error.to_string())?;
        receive_stream(BufReader::new(opened), into, attempt).map_err(|error| {
            format!("its result did not arrive whole: {error} ({})", answer.last_words())
        })
    }

    /// Undoes what a task that is gone has left on the host.
    fn clean_up(&self) -> Result<(), String> {
        let answer = self
            .program("clean", None, ScriptOutput::Kept, LONG_LIMIT)
            .map_err(|error| error.to_string())?;
        answer.marked("cleaned").map(drop).ok_or_else(|| answer.last_words())
    }

    /// Removes all of the fleet from the host.
    fn remove(&self) -> Result<(), String> {
        let answer = self
            .program("remove", None, ScriptOutput::Kept, LONG_LIMIT)
            .map_err(|error| error.to_string())?;
        match answer.marked("removed") {
            Some(_) => Ok(()),
            None => Err(answer.last_words()),
        }
    }

    fn never_started(&self, why: impl Into<String>) -> HostReport {
        self.fleet_run().never_started(why)
    }

    /// Reports a host that was sent a task and gives no useful answer.
    fn unanswered(&self, fault: AskFault) -> HostReport {
        match fault.refused {
            true => self.never_started(fault.why),
            false => self.fleet_run().unanswered(&fault.why),
        }
    }

    /// Asks for the state of a task that may be running, and gathers a result that is there.
    fn current_state(&self, errand: &HostErrand, ticket: &Ticket) -> HostReport {
        match self.ask("wait --seconds 0", None, ANSWER_LIMIT) {
            Ok(TaskAnswer { state: AttemptState::Committed, attempt, .. }) => {
                match self.gather(errand.folder.path(), attempt) {
                    Ok(outcome) => HostReport::from_outcome(&outcome),
                    Err(why) => self.fleet_run().unanswered(&why),
                }
            }
            Ok(TaskAnswer { state: AttemptState::Running, .. }) => {
                HostReport::plain(HostState::Running)
            }
            Ok(answer @ TaskAnswer { state: AttemptState::Gone, .. }) => {
                lost(errand, ticket, &answer)
            }
            Ok(TaskAnswer { state: AttemptState::New, .. }) => {
                self.never_started("the task did not begin there")
            }
            Err(fault) => self.unanswered(fault),
        }
    }

    /// Brings the host to its end from wherever it is.
    ///
    /// # Errors
    /// The report of a host that has no result.
    fn bring_to_end(
        &self,
        errand: &HostErrand,
        ticket: &mut Ticket,
    ) -> Result<HostReport, HostReport> {
        ticket.leaves = true;
        let stored = |error: iotax_store::StoreError| self.never_started(error.to_string());
        errand.folder.write_ticket(ticket).map_err(stored)?;
        let reached = self.prepare(ticket);
        let ahead = match (reached, ticket.phase != TicketPhase::Prepared) {
            (Ok(ahead), _) => ahead,
            (Err(report), false) => return Err(report),
            (Err(report), true) => {
                return Err(self.fleet_run().unanswered(&report.why.unwrap_or_default()));
            }
        };
        ticket.clock_ahead_s = ahead.filter(|seconds| seconds.abs() > CLOCK_APART_S);
        let answer = self.ask_first(ticket)?;
        let may_begin = !ticket.spent || errand.may_begin_again();
        let answer = match answer.state {
            AttemptState::New if !may_begin => return Err(errand.lost(SPENT)),
            AttemptState::New => self.start(errand, ticket)?,
            AttemptState::Gone => {
                if self.clean_up().is_err() || !may_begin {
                    return Err(lost(errand, ticket, &answer));
                }
                ticket.attempt = answer.attempt + 1;
                self.start(errand, ticket)?
            }
            AttemptState::Committed if answer.attempt < ticket.attempt => {
                self.clean_up().map_err(|why| {
                    errand.lost(format!("an earlier attempt left something there: {why}"))
                })?;
                if !may_begin {
                    return Err(errand.lost(SPENT));
                }
                self.start(errand, ticket)?
            }
            AttemptState::Running | AttemptState::Committed => answer,
        };
        ticket.phase = TicketPhase::Sent;
        ticket.attempt = ticket.attempt.max(answer.attempt);
        errand.folder.write_ticket(ticket).map_err(stored)?;
        (errand.on_begin)();
        let answer = match answer.state {
            AttemptState::Running => self.wait().map_err(|fault| self.unanswered(fault))?,
            _ => answer,
        };
        match answer.state {
            AttemptState::Committed => {}
            AttemptState::New => return Err(self.never_started("the task did not begin there")),
            _ => return Err(lost(errand, ticket, &answer)),
        }
        let outcome = self
            .gather(errand.folder.path(), answer.attempt)
            .map_err(|why| self.fleet_run().unanswered(&why))?;
        // A refused task wrote nothing, so its consent is not spent.
        ticket.spent &= !outcome.refused;
        match self.remove().and_then(|()| self.release()) {
            Ok(()) => ticket.leaves = false,
            Err(why) if outcome.is_done() => {
                let why = format!("its result is here, but something is left there: {why}");
                let mut report = HostReport::from_outcome(&outcome);
                report.why = Some(why);
                report.next = Some(format!("iotax fleet clean {}", self.fleet_run().plan.id));
                return Ok(report);
            }
            Err(_) => {}
        }
        Ok(HostReport::from_outcome(&outcome))
    }

    /// Sends the task and starts it.
    fn start(&self, errand: &HostErrand, ticket: &mut Ticket) -> Result<TaskAnswer, HostReport> {
        let task = self.fleet_run().plan.task(errand.planned, ticket.attempt);
        let text =
            serde_json::to_vec(&task).map_err(|error| self.never_started(error.to_string()))?;
        ticket.phase = TicketPhase::Sent;
        ticket.spent = !errand.planned.consent.is_empty();
        errand
            .folder
            .write_ticket(ticket)
            .map_err(|error| self.never_started(error.to_string()))?;
        self.begin(text)
    }
}

/// Reports a host whose task is gone without a result.
fn lost(errand: &HostErrand, ticket: &Ticket, answer: &TaskAnswer) -> HostReport {
    let usual = "the host was restarted, or the task was killed";
    errand.lost(format!(
        "attempt {} began and is gone without a result: {}",
        ticket.attempt,
        answer.log.as_deref().unwrap_or(usual)
    ))
}

/// Reads the line that announces a stream, and the stream.
fn receive_stream(mut from: impl BufRead, into: &Path, attempt: u32) -> std::io::Result<Outcome> {
    let mut line = Vec::new();
    let announced = loop {
        line.clear();
        if from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Err(std::io::Error::other("there is no stream"));
        }
        let text = String::from_utf8_lossy(&line);
        if let Some(rest) =
            text.trim_end().strip_prefix(MARK).and_then(|text| text.strip_prefix("stream "))
        {
            break rest.to_owned();
        }
    };
    let (bytes, sum) = announced.split_once(' ').unwrap_or_default();
    let bytes: u64 = bytes.parse().map_err(std::io::Error::other)?;
    let mut staged = tempfile::NamedTempFile::new_in(into)?;
    let copied = std::io::copy(&mut from.take(bytes), &mut staged)?;
    staged.flush()?;
    if copied != bytes || sum_of_file(staged.path())?.0 != sum {
        return Err(std::io::Error::other(format!(
            "the result was damaged on the way ({copied} of {bytes} bytes)"
        )));
    }
    receive_attempt(File::open(staged.path())?, into, attempt)
}

const LONGEST_LINE: u64 = 64 << 10;

//! Groups of hosts together: this host drives one run for each group, whose load begins on all of
//! its hosts at the same time. The places of the run are reached by ssh, as in any run.

use super::fleet_engine::{FleetEngine, FleetRun, HostErrand, look_words};
use super::task_link::LONG_LIMIT;
use super::tools::run_tool;
use crate::host_look::{HostLook, LookPurpose};
use crate::host_state::{HostReport, HostState};
use crate::plan::{PlannedHost, Ticket, TicketPhase};
use crate::task::{AttemptState, TaskFolder};
use iotax_sys::child::{ended_within, ends_with_us, signal_all};
use rustix::process::Signal;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

const LOOKS_EVERY: Duration = Duration::from_millis(500);

/// Runs that are driven from this host.
pub struct HereEngine;

impl HereEngine {
    fn perform(&self, errand: &HostErrand, ticket: &mut Ticket) -> anyhow::Result<()> {
        let folder = TaskFolder::open(errand.folder.path())?;
        if folder.state_of(ticket.attempt) == AttemptState::Gone {
            ticket.attempt += 1;
        }
        folder.write_task(&errand.run.plan.task(errand.planned, ticket.attempt))?;
        ticket.phase = TicketPhase::Sent;
        errand.folder.write_ticket(ticket)?;
        let mut command = Command::new("/proc/self/exe");
        command.args(["fleet", "task", "perform"]).arg(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = ends_with_us(&mut command).spawn()?;
        (errand.on_begin)();
        let mut is_signalled = false;
        while ended_within(&mut child, LOOKS_EVERY)?.is_none() {
            if errand.run.stop.load(Ordering::Relaxed) && !is_signalled {
                signal_all(&mut child, Signal::TERM);
                is_signalled = true;
            }
        }
        Ok(())
    }
}

impl FleetEngine for HereEngine {
    fn look(
        &self,
        run: &FleetRun,
        planned: &PlannedHost,
        purpose: LookPurpose,
    ) -> Result<HostLook, HostReport> {
        let (action, input) = look_words(run, planned, purpose);
        if input.is_none() {
            return Ok(HostLook::default());
        }
        let words: Vec<&str> = ["fleet", "task"].into_iter().chain(action.split(' ')).collect();
        let printed = run_own(&[&words[..], &["/var/tmp"]].concat(), input.as_deref());
        let printed = printed.map_err(|why| run.never_started(why))?;
        HostLook::from_printed(&printed)
            .ok_or_else(|| run.never_started("iotax fleet task look printed no answer"))
    }

    fn carry_out(&self, errand: &HostErrand, ticket: &mut Ticket) -> HostReport {
        if self.status(errand, ticket).state == HostState::Lost && !errand.may_begin_again() {
            return errand.lost("its run was killed, and its consent is spent");
        }
        ticket.leaves = true;
        let done = self.perform(errand, ticket);
        let outcome = errand.folder.newest_outcome().ok().flatten();
        match (done, outcome.filter(|(_, outcome)| outcome.attempt == ticket.attempt)) {
            (_, Some((_, outcome))) => {
                ticket.leaves = false;
                HostReport::from_outcome(&outcome)
            }
            (Err(error), None) => errand.run.never_started(error.to_string()),
            (Ok(()), None) => errand.lost("its run ended without a result"),
        }
    }

    fn status(&self, errand: &HostErrand, ticket: &Ticket) -> HostReport {
        match TaskFolder::open(errand.folder.path()).map(|folder| folder.state_of(ticket.attempt)) {
            Ok(AttemptState::Gone) => errand.lost("its run was killed"),
            Ok(_) => HostReport::plain(HostState::Running),
            Err(error) => errand.run.unknown(error.to_string()),
        }
    }

    fn cancel(&self, _errand: &HostErrand, _ticket: &Ticket) -> Result<(), HostReport> {
        // The process that drives the fleet sees the request to stop, and signals the run.
        Ok(())
    }

    fn clean(&self, errand: &HostErrand, _ticket: &Ticket) -> Result<(), String> {
        let folder = errand.folder.path().display().to_string();
        run_own(&["fleet", "task", "clean", &folder], None).map(drop)
    }
}

/// Runs this program. Returns its standard output.
fn run_own(words: &[&str], input: Option<&[u8]>) -> Result<String, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    run_tool(&own.display().to_string(), words, input, LONG_LIMIT)
}

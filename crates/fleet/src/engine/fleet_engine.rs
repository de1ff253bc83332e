//! What every engine of fleets does, and what it is given.

use crate::host_look::{HostLook, LookPurpose};
use crate::host_state::{HostReport, HostState};
use crate::plan::{FleetFolder, FleetPlan, HostFolder, PlannedHost, Ticket};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Reason of a host whose turn had not come.
pub(crate) const INTERRUPTED: &str = "the fleet was interrupted before its turn";

/// A fleet that is carried out.
pub struct FleetRun<'a> {
    pub plan: &'a FleetPlan,
    pub folder: &'a FleetFolder,
    /// Set when the user wants to stop: tasks are cancelled, and their partial results gathered.
    pub stop: &'a AtomicBool,
    /// True if the consents were given anew, so that a host that began to write may begin again.
    pub consent_renewed: bool,
    /// Time for which a host that no longer answers is asked again.
    pub patience: Duration,
}

impl FleetRun<'_> {
    /// Returns the command that goes on with the fleet.
    pub fn resume(&self) -> String {
        format!("iotax fleet resume {}", self.plan.id)
    }

    /// Reports a host on which nothing began.
    pub fn never_started(&self, why: impl Into<String>) -> HostReport {
        HostReport::new(HostState::NeverStarted, why, self.resume())
    }

    /// Reports a host on which a task may still be running.
    pub fn unknown(&self, why: impl Into<String>) -> HostReport {
        HostReport::new(HostState::Unknown, why, format!("iotax fleet status {}", self.plan.id))
    }

    /// Reports a host that gives no answer since a task was sent there.
    pub fn unanswered(&self, why: &str) -> HostReport {
        self.unknown(format!("it does not answer ({why}), and its task may still be running"))
    }
}

/// One host of a fleet that is carried out.
pub struct HostErrand<'a> {
    pub run: &'a FleetRun<'a>,
    pub planned: &'a PlannedHost,
    pub folder: HostFolder,
    /// Called when the task has begun on the host.
    pub on_begin: &'a (dyn Fn() + Sync),
}

/// Returns the words of `iotax fleet task` for a look, and what it reads.
pub(super) fn look_words(
    run: &FleetRun,
    planned: &PlannedHost,
    purpose: LookPurpose,
) -> (String, Option<Vec<u8>>) {
    match purpose {
        LookPurpose::Plan(width) => {
            let task = serde_json::to_vec(&run.plan.task(planned, 1)).unwrap_or_default();
            (format!("look --plan {width}"), Some(task))
        }
        LookPurpose::Drives | LookPurpose::Start => ("look".to_owned(), None),
    }
}

impl HostErrand<'_> {
    /// Returns true if a task that began here may begin again.
    pub fn may_begin_again(&self) -> bool {
        self.planned.consent.is_empty() || self.run.consent_renewed
    }

    /// Reports a host whose task began and is gone without a result. One that writes needs its
    /// consent again.
    pub fn lost(&self, why: impl Into<String>) -> HostReport {
        let consent = if self.planned.consent.is_empty() { "" } else { " --consent FILE" };
        let next =
            format!("iotax fleet clean {}; {}{consent}", self.run.plan.id, self.run.resume());
        HostReport::new(HostState::Lost, why, next)
    }
}

/// What carries tasks to hosts.
pub trait FleetEngine: Sync {
    /// Asks a host which machine it is, for its drives, and for a plan of its task. Removes what it
    /// put there afterwards, unless a task follows.
    ///
    /// # Errors
    /// The report of a host that cannot take a task.
    fn look(
        &self,
        run: &FleetRun,
        planned: &PlannedHost,
        purpose: LookPurpose,
    ) -> Result<HostLook, HostReport>;

    /// Brings the host to its end from wherever it is: starts its task, waits for it, gathers the
    /// result, and removes what is there. Returns how it ended; the caller stores that in the
    /// ticket.
    fn carry_out(&self, errand: &HostErrand, ticket: &mut Ticket) -> HostReport;

    /// Returns the state of a host whose task may be running; gathers a result that is there.
    fn status(&self, errand: &HostErrand, ticket: &Ticket) -> HostReport;

    /// Has the host's task end. It undoes what it made, and has an outcome afterwards.
    ///
    /// # Errors
    /// The report of a host that does not answer.
    fn cancel(&self, errand: &HostErrand, ticket: &Ticket) -> Result<(), HostReport>;

    /// Undoes by the journal of the host what a killed task left there, and removes all of the
    /// fleet from it. Called only for a host on which something may be left.
    ///
    /// # Errors
    /// Says why, and what to do.
    fn clean(&self, errand: &HostErrand, ticket: &Ticket) -> Result<(), String>;
}

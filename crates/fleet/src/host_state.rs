//! States of the hosts of a fleet, and what to do about each.

use crate::outcome::Outcome;
use iotax_units::exit;
use serde::{Deserialize, Serialize};

/// State of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// It has a complete run.
    Done,
    /// Its run failed, or was interrupted.
    Failed,
    /// Its task was refused before it began; nothing was done there.
    Refused,
    /// Its task began and is gone without a result.
    Lost,
    /// It cannot be reached; its task may still be running.
    Unknown,
    /// It never began.
    NeverStarted,
    Running,
    /// Its turn has not come.
    Waiting,
}

impl HostState {
    /// All states, in the order in which they are counted.
    pub const ALL: [HostState; 8] = [
        HostState::Done,
        HostState::Running,
        HostState::Waiting,
        HostState::Failed,
        HostState::Refused,
        HostState::Lost,
        HostState::Unknown,
        HostState::NeverStarted,
    ];

    pub fn word(self) -> &'static str {
        match self {
            HostState::Done => "done",
            HostState::Failed => "failed",
            HostState::Refused => "refused",
            HostState::Lost => "lost",
            HostState::Unknown => "unknown",
            HostState::NeverStarted => "never started",
            HostState::Running => "running",
            HostState::Waiting => "waiting",
        }
    }

    /// Returns true if nothing more happens to the host by itself.
    pub fn is_final(self) -> bool {
        !matches!(self, HostState::Running | HostState::Waiting)
    }
}

/// State of a host with its reason and the next command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReport {
    pub state: HostState,
    /// Reason, as a lower-case fragment; `None` for a host that is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Command that leads on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl HostReport {
    pub fn new(state: HostState, why: impl Into<String>, next: impl Into<String>) -> HostReport {
        HostReport { state, why: Some(why.into()), next: Some(next.into()) }
    }

    /// Returns a state without a reason.
    pub fn plain(state: HostState) -> HostReport {
        HostReport { state, why: None, next: None }
    }

    /// Returns the report of a host that has an outcome.
    pub fn from_outcome(outcome: &Outcome) -> HostReport {
        if outcome.is_done() {
            return HostReport::plain(HostState::Done);
        }
        // Bad input and unmet needs are found before anything is measured.
        let is_refused =
            outcome.refused || [exit::BAD_INPUT, exit::UNMET_NEED].contains(&outcome.code);
        let state = if is_refused { HostState::Refused } else { HostState::Failed };
        let silent = "no error was printed; see out.txt and err.txt of the attempt";
        let why = outcome.why.as_deref().unwrap_or(silent);
        let fleet = &outcome.fleet;
        if outcome.refused {
            let (why, hint) = why.split_once("; hint: ").unwrap_or((why, ""));
            let next =
                if hint.is_empty() { format!("iotax fleet resume {fleet}") } else { hint.into() };
            return HostReport::new(state, why, next);
        }
        let consent = if outcome.writes { " --consent FILE" } else { "" };
        let resume = format!("iotax fleet resume {fleet}{consent}");
        let next = match outcome.code {
            exit::UNDO_INCOMPLETE => format!("iotax fleet clean {fleet}; {resume}"),
            exit::BAD_INPUT => {
                "change the scenario, then start a new fleet: iotax fleet run".into()
            }
            exit::UNMET_NEED => format!("provide it there, then: {resume}"),
            _ => resume,
        };
        HostReport::new(state, format!("exit code {}: {why}", outcome.code), next)
    }
}

/// Returns `11 of 12 hosts done; 1 lost`: in every output, since losses are seldom random.
pub fn count_hosts(states: impl Iterator<Item = HostState>) -> String {
    let states: Vec<HostState> = states.collect();
    let count = |state: HostState| states.iter().filter(|one| **one == state).count();
    let mut text = format!("{} of {} hosts done", count(HostState::Done), states.len());
    for state in HostState::ALL.into_iter().skip(1) {
        if count(state) > 0 {
            text.push_str(&format!("; {} {}", count(state), state.word()));
        }
    }
    text
}

//! State of a run, in the same words in lists, reports and comparisons.

/// Outcome of a run in which everything requested was measured.
pub const COMPLETE: &str = "complete";
/// Outcome of a run that somebody ended.
pub const INTERRUPTED: &str = "interrupted";
/// Outcome of a run that cannot begin before the machine has restarted.
pub const WAITS: &str = "waits for a reboot";
/// Beginning of the outcome of a run that goes on after a person has done something.
pub const MANUAL: &str = "waits for a manual step";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// Everything requested was measured.
    Complete,
    Interrupted,
    Waits,
    /// The run goes on after a person has moved a drive.
    WaitsForPerson,
    /// The run ended with an error.
    Failed,
    Running,
    /// No process runs it, and its record has no end.
    Killed,
}

impl RunState {
    pub fn from_outcome(outcome: Option<&str>, is_running: bool) -> RunState {
        match outcome {
            Some(COMPLETE) => RunState::Complete,
            Some(INTERRUPTED) => RunState::Interrupted,
            Some(WAITS) => RunState::Waits,
            Some(words) if words.starts_with(MANUAL) => RunState::WaitsForPerson,
            Some(_) => RunState::Failed,
            None if is_running => RunState::Running,
            None => RunState::Killed,
        }
    }

    pub fn state_word(self) -> &'static str {
        match self {
            RunState::Complete => COMPLETE,
            RunState::Interrupted => INTERRUPTED,
            RunState::Waits => WAITS,
            RunState::WaitsForPerson => MANUAL,
            RunState::Failed => "failed",
            RunState::Running => "running",
            RunState::Killed => "killed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_one_word_and_only_a_record_without_an_end_can_run() {
        let of = |outcome| {
            [false, true].map(|is_running| RunState::from_outcome(outcome, is_running).state_word())
        };
        for word in [COMPLETE, INTERRUPTED, WAITS, MANUAL] {
            assert_eq!(of(Some(word)), [word; 2]);
        }
        assert_eq!(of(Some("waits for a manual step before b is measured: move it")), [MANUAL; 2]);
        assert_eq!(of(Some("guest vm0: the stream ended")), ["failed"; 2]);
        assert_eq!(of(None), ["killed", "running"]);
    }
}

//! Advice on what would settle a withheld verdict.

use crate::compare::baseline;
use crate::gather::reading::WorkloadView;
use iotax_model::record::ended_as_asked;
use iotax_model::record::state::RunState;
use iotax_model::scenario::MeasureSpec;
use iotax_stats::Refusal;
use iotax_stats::spread::BATCHES as LEAST_ROUNDS;
use iotax_store::RunData;

/// Extent of a workload's measurement, and why it ended.
pub struct MeasuredEffort<'a> {
    pub measure: &'a MeasureSpec,
    /// Length of the workload's slices; `None` if it is not recorded.
    pub slice_ns: Option<u64>,
    pub ended: Option<String>,
    /// Number of loads that share the budget of a run.
    pub loads: usize,
    /// Id of the run, if it was cut short and can be resumed.
    pub resumes: Option<String>,
}

impl<'a> MeasuredEffort<'a> {
    pub fn from_reading(reading: &WorkloadView<'a>) -> MeasuredEffort<'a> {
        let ended =
            reading.run.ends.iter().rfind(|(workload, _)| *workload == reading.workload.name);
        let slice_ns = baseline::design(reading).map(|design| design.slice_ns);
        MeasuredEffort {
            measure: &reading.run.start.scenario.measure,
            loads: reading.run.start.scenario.workloads.len(),
            slice_ns,
            ended: ended.map(|(_, why)| why.clone()),
            resumes: resumable(reading.run),
        }
    }

    /// Returns advice on what would settle a refusal; `None` if nothing would.
    pub fn remedy(&self, reason: &Refusal) -> Option<String> {
        match (reason, self.ended.as_deref()) {
            (Refusal::TooFewRounds { .. } | Refusal::TooFewVisits { .. }, ended)
                if !ended.is_some_and(ended_as_asked) =>
            {
                let resume = self.resumes.as_ref().map(|id| format!("iotax resume {id}"));
                Some(resume.unwrap_or_else(|| "let it run to its end".to_owned()))
            }
            (Refusal::TooFewRounds { .. }, Some("max_written")) => {
                Some("raise --max-written".to_owned())
            }
            (Refusal::TooFewRounds { have }, Some(_)) => Some(self.more_rounds(*have)),
            _ => reason.remedy().map(str::to_owned),
        }
    }

    /// Returns advice on a budget with enough rounds for an interval, from the rounds that this one
    /// gave (`have`). It adds advice to shorten slices only if they are as long as the user asked
    /// for: others are already as short as possible, or an engine needs them longer.
    fn more_rounds(&self, have: usize) -> String {
        let asked_ns = self.measure.slice_ns;
        let as_asked =
            asked_ns.is_some_and(|asked_ns| self.slice_ns.is_none_or(|ns| ns <= asked_ns));
        let or_shorter = if as_asked { ", or shorten --slice" } else { "" };
        let spent_s = self.measure.budget_ns as f64 / 1e9 * self.loads as f64;
        match have {
            0 => format!("raise --budget{or_shorter}"),
            have => {
                let wanted_s = spent_s * MORE * LEAST_ROUNDS as f64 / have as f64;
                format!("raise --budget, to about {:.0}s{or_shorter}", wanted_s.ceil())
            }
        }
    }
}

/// Returns the id of a run that was cut short, if it can be resumed: not if its stacks swap equal
/// files, if it has several attaches (which must be of equal length), or if it was imported.
pub fn resumable(run: &RunData) -> Option<String> {
    let is_over = matches!(run.state(), RunState::Complete | RunState::Running);
    let start = &run.start;
    let goes_on =
        start.siblings <= 1 && start.scenario.measure.attaches <= 1 && start.imported.is_none();
    (!is_over && goes_on).then(|| start.id.clone())
}

/// Factor on the advised budget, since the duration of rounds varies.
const MORE: f64 = 1.15;

/// Returns the words `; to settle it: raise --budget`.
pub fn settle_words(remedy: &str) -> String {
    format!("; to settle it: {remedy}")
}

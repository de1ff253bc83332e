//! What would settle a verdict that is withheld.

use super::baseline;
use super::reading::WorkloadView;
use iotax_model::record::ended_as_asked;
use iotax_model::record::state::RunState;
use iotax_model::scenario::MeasureSpec;
use iotax_stats::Refusal;
use iotax_stats::spread::BATCHES as LEAST_ROUNDS;
use iotax_store::RunData;

/// How long a workload was measured, and why no longer.
pub struct MeasuredEffort<'a> {
    /// How it was asked for.
    pub measure: &'a MeasureSpec,
    /// Length of its slices, where it is recorded.
    pub slice_ns: Option<u64>,
    pub ended: Option<String>,
    /// Number of loads that share the budget of a run.
    pub loads: usize,
    /// The run that was cut short and can go on, if so.
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

    /// What would settle a refusal here, where something would.
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

    /// A budget for the rounds that an interval needs, by those that this one gave; slices are as
    /// short as they can be unless their length was asked for, and where an engine made them longer
    /// than that.
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

/// The id of a run that was cut short and can go on: one whose parts need not be of equal length.
pub fn resumable(run: &RunData) -> Option<String> {
    let is_over = matches!(run.state(), RunState::Complete | RunState::Running);
    let start = &run.start;
    let goes_on =
        start.siblings <= 1 && start.scenario.measure.attaches <= 1 && start.imported.is_none();
    (!is_over && goes_on).then(|| start.id.clone())
}

/// Rounds take now more time and now less.
const MORE: f64 = 1.15;

/// `; to settle it: raise --budget`.
pub fn settle_words(remedy: &str) -> String {
    format!("; to settle it: {remedy}")
}

//! History of a stack over many runs.

use super::against::{RateChange, VerdictBasis};
use super::figure::MeasuredFigure;
use super::{RunIdentity, WarningReport, WorkloadFindings};
use iotax_stats::Verdict;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackHistory {
    /// The stack as it was asked for.
    pub stack: String,
    /// One series for each load under which the stack was measured.
    pub series: Vec<HistorySeries>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistorySeries {
    /// Name of the stack in the oldest run.
    pub stack: String,
    /// Load in words: `4k random reads at iodepth 32 x 4`.
    pub subject: String,
    pub rate_unit: &'static str,
    /// Runs, the oldest first.
    pub points: Vec<HistoryPoint>,
}

impl HistorySeries {
    pub fn new(workload: &WorkloadFindings, stack: &str, first: HistoryPoint) -> HistorySeries {
        HistorySeries {
            stack: stack.to_owned(),
            subject: workload.subject.clone(),
            rate_unit: workload.rate_unit,
            points: vec![first],
        }
    }

    /// Returns true if the series is about this load.
    pub fn is_about(&self, workload: &WorkloadFindings) -> bool {
        self.subject == workload.subject && self.rate_unit == workload.rate_unit
    }
}

/// Figures of the stack in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryPoint {
    pub run: RunIdentity,
    pub host: Option<String>,
    /// Baseline of the run; `None` if the stack is the baseline itself.
    pub against: Option<String>,
    pub rate: MeasuredFigure,
    /// Ratio of the rate to that of the baseline.
    pub ratio: MeasuredFigure,
    /// Change since the run before; `None` for the oldest.
    pub change: Option<HistoryChange>,
    /// Differences from the run before in machine, settings, and iotax itself.
    pub differs: Vec<WarningReport>,
}

/// Change of the rate since the run before, as `iotax compare` judges it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryChange {
    /// The change that is judged, new over old.
    pub ratio: MeasuredFigure,
    /// Which change that is; `None` if the runs do not compare.
    pub judged: Option<VerdictBasis>,
    pub verdict: Option<Verdict>,
    /// The verdict as a sentence, or the reason why there is none.
    pub sentence: String,
}

impl HistoryChange {
    pub fn from_rate(rate: &RateChange) -> HistoryChange {
        let ratio = match rate.judged {
            VerdictBasis::AgainstOwnBaseline => &rate.change.against_own_baseline,
            VerdictBasis::Direct => &rate.change.direct,
        };
        HistoryChange {
            ratio: ratio.clone(),
            judged: Some(rate.judged),
            verdict: Some(rate.verdict.clone()),
            sentence: format!("{} ({})", rate.sentence, rate.why),
        }
    }

    pub fn refused(why: &str) -> HistoryChange {
        HistoryChange {
            ratio: MeasuredFigure::missing(why),
            judged: None,
            verdict: None,
            sentence: format!("not compared with the run before: {why}"),
        }
    }

    /// Returns true if the stack surely changed: it drifted.
    pub fn has_drifted(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Costs { .. } | Verdict::Gains { .. }))
    }
}

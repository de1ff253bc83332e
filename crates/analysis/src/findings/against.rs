//! Comparison of two stored runs.

use super::figure::{MeasuredFigure, SampleUnit};
use super::{RunIdentity, WarningReport};
use iotax_stats::Verdict;
use iotax_stats::exceedance::ServiceVerdict;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    pub old: RunIdentity,
    pub new: RunIdentity,
    /// Seconds between their starts; `None` when a start cannot be read.
    pub apart_s: Option<f64>,
    pub emulated: Vec<String>,
    pub workloads: Vec<WorkloadChange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub courses: Vec<CourseChange>,
    /// Workloads, stacks, systems or courses that only one run has.
    pub only: Vec<OnlyIn>,
    #[serde(flatten)]
    pub limits: RegressionLimits,
    /// Summary over all lines: how limits and service levels were met, if there are any.
    pub result: Option<String>,
    pub warnings: Vec<WarningReport>,
    pub not_excluded: Vec<String>,
}

/// Largest accepted changes for the worse, as fractions; `None` if the user gave no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RegressionLimits {
    #[serde(rename = "limit")]
    pub rate: Option<f64>,
    #[serde(rename = "latency_limit", skip_serializing_if = "Option::is_none")]
    pub latency: Option<f64>,
    #[serde(rename = "cpu_limit", skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CourseChange {
    /// Load in words: `4k random reads at iodepth 32`.
    pub load: String,
    /// `rate` or `burst`.
    pub figure: &'static str,
    pub old: MeasuredFigure,
    pub new: MeasuredFigure,
    pub change: MeasuredFigure,
    pub sentence: String,
    pub limit: Option<LimitLine>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadChange {
    /// Name of the workload in the new run.
    pub name: String,
    pub subject: String,
    /// Unit of the sample: `rounds`, or `runs` where results were imported.
    #[serde(skip)]
    pub of: SampleUnit,
    pub stacks: Vec<StackChange>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackChange {
    /// Name of the stack in the new run.
    pub stack: String,
    /// One-line form of the stack in the new run.
    pub text: String,
    /// True if it is the baseline of both runs.
    pub baseline: bool,
    pub emulated: Option<String>,
    /// Number of whole rounds, or of imported runs, in the old run and in the new one.
    pub rounds: (u64, u64),
    /// Acknowledged rate, and the durable one too for writes.
    pub rates: Vec<RateChange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DirectionChange>,
    /// Mean latency of all I/Os.
    pub latency: RunChange,
    /// CPU time of the place (user and system) per I/O.
    pub cpu: RunChange,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub charges: Vec<ChargeLimit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slo: Vec<ServiceLevelChange>,
}

/// Verdict on a figure of which less is better, by the largest accepted rise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChargeLimit {
    /// `mean latency` or `CPU per I/O`.
    pub figure: &'static str,
    /// Which change is judged: the direct one, or the one relative to the baselines.
    pub judged: VerdictBasis,
    pub sentence: String,
    pub limit: LimitLine,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceLevelChange {
    /// Service level as it was asked for: `read p99 < 500us`.
    pub level: String,
    pub old: ServiceVerdict,
    pub new: ServiceVerdict,
    /// Fails if the new run breaks a level that the old one did not.
    pub call: LimitCall,
    pub sentence: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionChange {
    pub direction: &'static str,
    pub rate: RunChange,
    pub latency: RunChange,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunChange {
    /// Ratio of the new run to the old one. Its interval includes the drift of the machine between
    /// the runs.
    #[serde(rename = "as_it_stands")]
    pub direct: MeasuredFigure,
    /// Change of the ratio between the stack and the baseline of its own run.
    pub against_own_baseline: MeasuredFigure,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateChange {
    /// Compared rate in words: `4k random-read IOPS at iodepth 32 x 4`.
    pub quantity: String,
    pub change: RunChange,
    /// Which of the two changes the verdict is about.
    pub judged: VerdictBasis,
    pub why: String,
    pub verdict: Verdict,
    pub sentence: String,
    /// True if the two runs differ by more than their own noise, but not by more than drift may
    /// have caused.
    pub drift_could_explain: bool,
    pub limit: Option<LimitLine>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictBasis {
    /// Change of the ratio between the stack and the baseline of its own run.
    AgainstOwnBaseline,
    /// Ratio of the new run to the old one.
    #[serde(rename = "as_it_stands")]
    Direct,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitLine {
    pub call: LimitCall,
    /// Sentence for the call. If it is undetermined, the sentence has the reason and, if known,
    /// what would settle it.
    pub sentence: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitCall {
    Fails,
    Passes,
    #[serde(rename = "cannot_tell")]
    Undetermined,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OnlyIn {
    pub run: &'static str,
    /// `workload`, `stack`, `system` or `course`.
    pub what: &'static str,
    pub name: String,
    /// Description; for a workload, also whether the other run has its name for other jobs.
    pub detail: String,
}

impl OnlyIn {
    /// Returns a sentence: `only in the old run: stack loop (file:/srv/x.img | loop)`.
    pub fn to_sentence(&self) -> String {
        format!("only in the {} run: {} {} ({})", self.run, self.what, self.name, self.detail)
    }
}

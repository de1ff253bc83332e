//! Two stored runs against each other.

use super::figure::{MeasuredFigure, SampleUnit};
use super::{RunIdentity, WarningReport};
use iotax_stats::Verdict;
use iotax_stats::exceedance::ServiceVerdict;
use serde::Serialize;

/// Everything that can be said about two runs together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    pub old: RunIdentity,
    pub new: RunIdentity,
    /// Seconds between their starts; `None` when a start cannot be read.
    pub apart_s: Option<f64>,
    /// Emulated places of either run, as sentences.
    pub emulated: Vec<String>,
    /// Workloads that both runs have.
    pub workloads: Vec<WorkloadChange>,
    /// What only one of them has.
    pub only: Vec<OnlyIn>,
    #[serde(flatten)]
    pub limits: RegressionLimits,
    /// How limits and service levels were met, over all lines, if there are any.
    pub result: Option<String>,
    /// What differs between the runs, and what is weak about each.
    pub warnings: Vec<WarningReport>,
    /// What the figures do not exclude, as sentences.
    pub not_excluded: Vec<String>,
}

/// The largest changes for the worse that are accepted, each a fraction, as far as they were named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RegressionLimits {
    #[serde(rename = "limit")]
    pub rate: Option<f64>,
    /// Rise of the mean latency.
    #[serde(rename = "latency_limit", skip_serializing_if = "Option::is_none")]
    pub latency: Option<f64>,
    /// Rise of the CPU time per I/O.
    #[serde(rename = "cpu_limit", skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
}

/// One workload in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadChange {
    /// Its name in the new run.
    pub name: String,
    /// `4k random reads at iodepth 32 x 4`.
    pub subject: String,
    /// What stacks were measured in: `rounds`, or `runs` where results were imported.
    #[serde(skip)]
    pub of: SampleUnit,
    /// Stacks that both runs have.
    pub stacks: Vec<StackChange>,
}

/// One stack in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackChange {
    /// Its name in the new run.
    pub stack: String,
    /// Its one-line form in the new run.
    pub text: String,
    /// Whether it is the baseline of both runs.
    pub baseline: bool,
    /// Why its figures are not representative.
    pub emulated: Option<String>,
    /// Whole rounds in the old run and in the new one.
    pub rounds: (u64, u64),
    /// Acknowledged; of writes durable too.
    pub rates: Vec<RateChange>,
    /// Reads and writes apart; only of a mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DirectionChange>,
    /// Mean latency, both directions.
    pub latency: RunChange,
    /// CPU time of the place (user and system) an I/O.
    pub cpu: RunChange,
    /// Latency and CPU time against their limits, if such were named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub charges: Vec<ChargeLimit>,
    /// Service levels that either run names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slo: Vec<ServiceLevelChange>,
}

/// A figure of which less is better, against its limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChargeLimit {
    /// `mean latency` or `CPU per I/O`.
    pub figure: &'static str,
    /// Which of the two changes is judged.
    pub judged: VerdictBasis,
    /// In words, naming stack and figure.
    pub sentence: String,
    pub limit: LimitLine,
}

/// A service level of a stack in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceLevelChange {
    /// `read p99 < 500us`.
    pub level: String,
    /// In the old run.
    pub old: ServiceVerdict,
    /// In the new run.
    pub new: ServiceVerdict,
    /// It fails where the new run breaks what the old one did not.
    pub call: LimitCall,
    pub sentence: String,
}

/// One direction of a stack in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionChange {
    pub direction: &'static str,
    pub rate: RunChange,
    pub latency: RunChange,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunChange {
    /// As it stands: the drift of the machine between the runs is in the interval.
    pub as_it_stands: MeasuredFigure,
    /// Of the ratio of the stack to the baseline of its own run.
    pub against_own_baseline: MeasuredFigure,
}

/// A rate in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateChange {
    /// `4k random-read IOPS at iodepth 32 x 4`.
    pub quantity: String,
    pub change: RunChange,
    /// Which of the two the verdict is about.
    pub judged: VerdictBasis,
    pub why: String,
    pub verdict: Verdict,
    /// In words, naming stack and quantity.
    pub sentence: String,
    /// Whether the two runs differ by more than their own noise, but not by more than drift may
    /// have done.
    pub drift_could_explain: bool,
    /// Against the limit, if one was named.
    pub limit: Option<LimitLine>,
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictBasis {
    /// The ratio of ratios.
    AgainstOwnBaseline,
    AsItStands,
}

/// A line against the limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitLine {
    /// The short of it.
    pub call: LimitCall,
    /// In words; where it cannot be told, with what would settle it.
    pub sentence: String,
}

/// Whether a line keeps the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitCall {
    Fails,
    Passes,
    CannotTell,
}

/// What only one run has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OnlyIn {
    pub run: &'static str,
    /// `workload`, `stack` or `system`.
    pub what: &'static str,
    pub name: String,
    /// What it is, and what is close to it in the other run.
    pub detail: String,
}

impl OnlyIn {
    /// `only in the old run: stack loop (file:/srv/x.img | loop)`.
    pub fn to_sentence(&self) -> String {
        format!("only in the {} run: {} {} ({})", self.run, self.what, self.name, self.detail)
    }
}

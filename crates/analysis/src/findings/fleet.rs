//! One scenario on many hosts: what they have in common, and which of them differ.

use super::figure::MeasuredFigure;
use serde::{Deserialize, Serialize};

/// Everything that a report on a fleet says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetFindings {
    pub fleet: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Scenario or command that the hosts carried out.
    pub source: String,
    /// Number of hosts that were asked for.
    pub asked: usize,
    /// `11 of 12 hosts done; 1 lost`.
    pub counted: String,
    pub answer: FleetAnswer,
    /// Largest negligible relative difference.
    pub zone: f64,
    pub figures: Vec<FleetFigure>,
    /// Hosts with figures: outliers first, those that deviate most in front, then by name.
    pub hosts: Vec<ComparedHost>,
    /// Hosts that are missing from every figure.
    pub missing: Vec<MissingHost>,
    pub causes: Vec<LikelyCause>,
    /// Facts in which hosts differ.
    pub facts: Vec<FactSpread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<FleetDrift>,
    /// Warnings to be read before any figure: other versions, emulated hosts, clocks that are off.
    pub alarms: Vec<String>,
    pub not_excluded: Vec<String>,
}

/// The answer in a sentence. Its class is `cost` or `gain` for outliers, `none` if no host differs,
/// `open` if that is not resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FleetAnswer {
    pub class: &'static str,
    pub sentence: String,
}

/// Kind of a figure that hosts are compared by; an answer prefers the first. Its words are in its
/// definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FleetQuantity {
    Rate,
    DurableRate,
    ProbeRate,
    ProbeTime,
    RateRatio,
    DurableRatio,
    LatencyP99,
    CpuPerIo,
}

/// Names a figure of a fleet: load, stack and quantity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FigureKey {
    /// Name of the load.
    pub workload: String,
    pub stack: String,
    pub quantity: FleetQuantity,
    /// Baseline of a ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// `read` or `write` for one of several directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
}

impl FigureKey {
    /// Returns the figure in words: `IOPS of loop`, `rate of loop against file`, `read p99 of loop`.
    pub fn to_words(&self, unit: &str) -> String {
        let direction = self.direction.as_ref().map(|one| format!("{one} ")).unwrap_or_default();
        let against = self.against.as_ref().map(|one| format!(" against {one}"));
        let (word, against) =
            ((self.quantity.definition().word)(unit), against.unwrap_or_default());
        format!("{direction}{word} of {}{against}", self.stack)
    }
}

/// A figure over all hosts that have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetFigure {
    #[serde(flatten)]
    pub key: FigureKey,
    /// Load in words: `4k random reads at iodepth 32`.
    pub subject: String,
    pub unit: &'static str,
    pub more_is_better: bool,
    /// Geometric mean over hosts, or the reason why there is none.
    pub mean: MeasuredFigure,
    /// Standard deviation between hosts as a relative difference: 0.02 is 2 %.
    pub spread: MeasuredFigure,
    /// Spread of the hosts that are no outliers; `None` if there are no outliers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread_of_others: Option<MeasuredFigure>,
    /// Mean with the interval in which the next host of this kind is expected.
    pub next_host: MeasuredFigure,
    pub outliers: usize,
    /// Counts of hosts by their deviation from the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bins: Option<DeviationBins>,
}

/// Counts of deviations in bins of equal width; the first and the last also hold what lies beyond.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviationBins {
    /// Lower end of the first bin, relative to the others: -0.1 is 10 % less.
    pub from: f64,
    pub width: f64,
    pub counts: Vec<usize>,
    /// True if a bin holds an outlier.
    pub has_outlier: Vec<bool>,
}

/// A host that has figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedHost {
    pub host: String,
    pub run: String,
    /// One entry for each figure; `None` where the host does not have it.
    pub deviations: Vec<Option<HostDeviation>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<String>,
}

impl ComparedHost {
    pub fn is_outlier(&self) -> bool {
        self.deviations.iter().flatten().any(|one| one.outlier.is_some())
    }
}

/// A figure of one host against the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostDeviation {
    /// The host's own value, in the unit of the figure.
    pub value: f64,
    /// Value over the mean of the other hosts, with its own 95 % interval.
    pub of_others: MeasuredFigure,
    /// Least false-discovery rate at which the host is an outlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<f64>,
    /// Relative distance from the others that is still ordinary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordinary: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlier: Option<OutlierSide>,
}

/// Side on which an outlier lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutlierSide {
    Worse,
    Better,
}

/// A host without figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingHost {
    pub host: String,
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Command that leads on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A fact in which outliers differ from nearly all hosts that are none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LikelyCause {
    pub hosts: Vec<String>,
    pub subject: String,
    pub key: String,
    pub value: String,
    /// Value that most of the others have.
    pub usual: String,
    /// Number of hosts that are no outliers and have it, too.
    pub shared_by: usize,
    /// Number of hosts that are no outliers and have the fact.
    pub others: usize,
}

impl LikelyCause {
    /// Returns `PCIe link 8.0 GT/s x2 (most others: 16.0 GT/s x4)`.
    pub fn to_words(&self) -> String {
        let subject = match self.subject.as_str() {
            "host" | "drive" => String::new(),
            other => format!("{other} "),
        };
        format!("{subject}{} {} (most others: {})", self.key, self.value, self.usual)
    }
}

/// A fact with several values over the hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactSpread {
    pub subject: String,
    pub key: String,
    /// Values with their numbers of hosts, the commonest first. Of numbers: range and median.
    pub values: Vec<(String, usize)>,
}

/// Changes since earlier runs of the same scenario on the same hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetDrift {
    pub earlier: String,
    /// Number of hosts that are in both.
    pub matched: usize,
    pub sentence: String,
    pub figures: Vec<FigureDrift>,
    /// Why hosts are not compared with earlier runs.
    pub not_compared: Vec<String>,
}

/// Change of a figure over all hosts that are in both fleets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureDrift {
    #[serde(flatten)]
    pub key: FigureKey,
    pub subject: String,
    pub unit: &'static str,
    pub more_is_better: bool,
    /// Ratio of later to earlier, as the mean over hosts.
    pub change: MeasuredFigure,
    pub spread: MeasuredFigure,
    /// Hosts that surely changed, those that changed most first.
    pub changed: Vec<ChangedHost>,
}

/// A host that differs from its own earlier run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangedHost {
    pub host: String,
    /// Ratio of later to earlier.
    pub change: MeasuredFigure,
    pub q: f64,
    pub side: OutlierSide,
    /// Facts that differ between its two runs: `firmware GDC5302Q (was GDC5902Q)`.
    pub differs: Vec<String>,
}

//! The points of a sweep side by side.

use super::ceiling::MaskingCeiling;
use super::figure::{Interval, MeasuredFigure};
use iotax_stats::Verdict;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepFindings {
    pub name: String,
    /// Sweep in words: `4k random reads over iodepth`.
    pub subject: String,
    /// Name of the setting that is swept along the axis.
    pub axis: String,
    /// Unit of the axis values, as in figures.
    pub unit: &'static str,
    /// Name of the second swept setting, which separates the curves of a grid.
    pub curve_word: Option<String>,
    /// Unit of throughput: `1/s`, or `B/s` where the block size is swept.
    pub throughput: &'static str,
    pub points: usize,
    pub note: Option<&'static str>,
    /// One curve, or one for each value of the second word, from the smallest.
    pub curves: Vec<Curve>,
}

/// The points along the axis, at one value of the second word if there is one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    pub at: Option<SweepValue>,
    pub stacks: Vec<StackCurve>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SweepValue {
    pub value: u64,
    /// Value as it is written: `64k`.
    pub shown: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackCurve {
    pub stack: String,
    pub baseline: bool,
    pub emulated: Option<String>,
    pub points: Vec<SweptStack>,
    pub knee: Knee,
    /// Sentence on the offered rate up to which the stack kept up; only for sweeps over a rate.
    pub kept_up: Option<String>,
    /// Changes of the cost along the curve; writes have two, the baseline has none.
    pub courses: Vec<CostCurve>,
}

impl StackCurve {
    /// Returns all conclusions, the most important first.
    pub fn conclusion_sentences(&self) -> impl Iterator<Item = &str> {
        let courses = self.courses.iter().map(|course| course.sentence.as_str());
        courses.chain([self.knee.sentence.as_str()]).chain(self.kept_up.as_deref())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweptStack {
    pub at: SweepValue,
    pub workload: String,
    pub iops: MeasuredFigure,
    pub bytes_per_s: MeasuredFigure,
    /// Mean latency, all directions together.
    pub latency: MeasuredFigure,
    /// Throughput over mean latency.
    pub power: MeasuredFigure,
    /// I/Os per second that the load offered, for an open loop.
    pub offered: Option<f64>,
    /// True if the offered rate was achieved; `None` without such a rate or without a figure.
    pub kept_up: Option<bool>,
    /// Costs against the baseline; writes have two, the baseline has none.
    pub costs: Vec<PointCost>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<PointDirection>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointDirection {
    pub direction: &'static str,
    pub iops: MeasuredFigure,
    pub bytes_per_s: MeasuredFigure,
    pub latency: MeasuredFigure,
    pub costs: Vec<PointCost>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointCost {
    /// `acknowledged` or `durable` for writes, else empty.
    pub quantity: &'static str,
    pub verdict: Verdict,
    pub masked: Option<MaskingCeiling>,
    pub ratio: MeasuredFigure,
    /// Interval of the ratio that holds for all points of the sweep at once; ratios of single
    /// directions are separate.
    pub simultaneous: Option<Interval>,
    /// Median latency of the stack over that of the baseline; for a mix, that of the first
    /// direction.
    pub median_latency: Option<MeasuredFigure>,
}

/// Knee of one stack along one curve, with its sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knee {
    #[serde(flatten)]
    pub place: KneePosition,
    pub sentence: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "knee", rename_all = "snake_case")]
pub enum KneePosition {
    Inside {
        at: SweepValue,
        /// Points whose power may be the greatest as well.
        not_told_apart: Vec<SweepValue>,
        /// Points without an interval.
        no_interval: Vec<SweepValue>,
    },
    /// At an edge of the curve: the knee may lie beyond it.
    Edge {
        at: SweepValue,
        not_told_apart: Vec<SweepValue>,
        no_interval: Vec<SweepValue>,
    },
    None {
        reason: String,
    },
}

impl KneePosition {
    pub fn not_told_apart(&self) -> &[SweepValue] {
        match self {
            KneePosition::Inside { not_told_apart, .. }
            | KneePosition::Edge { not_told_apart, .. } => not_told_apart,
            KneePosition::None { .. } => &[],
        }
    }
}

/// Change of a stack's cost along one curve, with its sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostCurve {
    pub quantity: &'static str,
    /// Number of points of the whole sweep for which the intervals hold at once.
    pub at_once: usize,
    #[serde(flatten)]
    pub change: CostTrend,
    pub sentence: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum CostTrend {
    /// The intervals of two points exclude each other.
    Changes {
        /// Point where the stack costs more.
        more: CurveEnd,
        /// Point where the stack costs less.
        less: CurveEnd,
        /// True if these are the largest and the smallest cost of all points.
        extremes: bool,
    },
    /// No change is visible: a ratio within these bounds fits every point.
    Same {
        /// Bounds of the rate over that of the baseline.
        ratio: Interval,
    },
    Unknown {
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurveEnd {
    pub at: SweepValue,
    /// Rate of the stack over that of the baseline.
    pub ratio: f64,
    /// Interval of the ratio that holds for all points at once.
    pub interval: Interval,
}

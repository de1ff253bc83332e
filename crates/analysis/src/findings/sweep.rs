//! The points of a sweep side by side.

use super::ceiling::MaskingCeiling;
use super::figure::{Interval, MeasuredFigure};
use iotax_stats::Verdict;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepFindings {
    /// Its name; its points' workloads carry it.
    pub name: String,
    /// `4k random reads over iodepth`.
    pub subject: String,
    /// The word along the axis.
    pub axis: String,
    /// Unit of its values, as in figures.
    pub unit: &'static str,
    /// The word that makes curves, of a grid.
    pub curve_word: Option<String>,
    /// What counts as throughput: `1/s`, or `B/s` where the block size is swept.
    pub throughput: &'static str,
    /// Points of all curves.
    pub points: usize,
    /// What its figures do not show, as a sentence.
    pub note: Option<&'static str>,
    /// One, or one for each value of the second word, from the smallest.
    pub curves: Vec<Curve>,
}

/// The points along the axis, at one value of the second word if there is one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The value of the second word.
    pub at: Option<SweepValue>,
    /// All stacks in the order of the scenario.
    pub stacks: Vec<StackCurve>,
}

/// A value of a swept word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SweepValue {
    /// In the unit of the word.
    pub value: u64,
    /// As it is written: `64k`.
    pub shown: String,
}

/// One stack along one curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackCurve {
    pub stack: String,
    /// Whether the others are compared with it.
    pub baseline: bool,
    /// Why its figures are not representative.
    pub emulated: Option<String>,
    /// From the smallest value to the largest.
    pub points: Vec<SweptStack>,
    /// Where its power is greatest.
    pub knee: Knee,
    /// Up to which offered rate it kept up, as a sentence; only of sweeps over a rate.
    pub kept_up: Option<String>,
    /// Whether its cost changes; writes have two, the baseline none.
    pub courses: Vec<CostCurve>,
}

impl StackCurve {
    /// All that is concluded, from the most asked for.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        let courses = self.courses.iter().map(|course| course.sentence.as_str());
        courses.chain([self.knee.sentence.as_str()]).chain(self.kept_up.as_deref())
    }
}

/// One stack at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweptStack {
    pub at: SweepValue,
    /// The workload that measured it.
    pub workload: String,
    pub iops: MeasuredFigure,
    /// Bytes a second (acknowledged).
    pub bytes_per_s: MeasuredFigure,
    /// Mean latency, all directions together.
    pub latency: MeasuredFigure,
    /// Throughput over mean latency.
    pub power: MeasuredFigure,
    /// I/Os a second that the load offered, of an open loop.
    pub offered: Option<f64>,
    /// Whether the offered rate was achieved, where there is one and a figure.
    pub kept_up: Option<bool>,
    /// Against the baseline; writes have two, the baseline none.
    pub costs: Vec<PointCost>,
    /// Reads and writes apart; only of a mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<PointDirection>,
}

/// One direction of a mix at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointDirection {
    pub direction: &'static str,
    pub iops: MeasuredFigure,
    /// Bytes a second (acknowledged).
    pub bytes_per_s: MeasuredFigure,
    pub latency: MeasuredFigure,
    /// Against the baseline; writes have two, the baseline none.
    pub costs: Vec<PointCost>,
}

/// A stack against the baseline at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointCost {
    /// `acknowledged` or `durable` of writes, else empty.
    pub quantity: &'static str,
    /// As at the point's workload.
    pub verdict: Verdict,
    /// What hides a cost: both run into it.
    pub masked: Option<MaskingCeiling>,
    /// Rate of the stack over that of the baseline.
    pub ratio: MeasuredFigure,
    /// The ratio's interval that holds for all points of the sweep at once: of its own kind, a
    /// direction's by itself.
    pub simultaneous: Option<Interval>,
    /// Median latency of the stack over that of the baseline, of a mix that of the first direction.
    pub median_latency: Option<MeasuredFigure>,
}

/// The knee of one stack along one curve, and the sentence that says it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knee {
    #[serde(flatten)]
    pub place: KneePosition,
    /// In words, naming the stack.
    pub sentence: String,
}

/// Where the greatest power is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "knee", rename_all = "snake_case")]
pub enum KneePosition {
    Inside {
        at: SweepValue,
        /// Points whose power may as well be the greatest.
        not_told_apart: Vec<SweepValue>,
        /// Points that say nothing.
        no_interval: Vec<SweepValue>,
    },
    /// At its edge: the knee may lie beyond.
    Edge {
        at: SweepValue,
        /// Points whose power may as well be the greatest.
        not_told_apart: Vec<SweepValue>,
        /// Points that say nothing.
        no_interval: Vec<SweepValue>,
    },
    /// Not to be said.
    None { reason: String },
}

impl KneePosition {
    /// The point of greatest power, at an edge too.
    pub fn knee_value(&self) -> Option<&SweepValue> {
        match self {
            KneePosition::Inside { at, .. } | KneePosition::Edge { at, .. } => Some(at),
            KneePosition::None { .. } => None,
        }
    }

    /// The points that may be the greatest as well.
    pub fn not_told_apart(&self) -> &[SweepValue] {
        match self {
            KneePosition::Inside { not_told_apart, .. }
            | KneePosition::Edge { not_told_apart, .. } => not_told_apart,
            KneePosition::None { .. } => &[],
        }
    }
}

/// How the cost of a stack goes over one curve, and the sentence that says it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostCurve {
    /// `acknowledged` or `durable` of writes, else empty.
    pub quantity: &'static str,
    /// Points of the whole sweep, for all of which the intervals hold at once.
    pub at_once: usize,
    #[serde(flatten)]
    pub change: CostTrend,
    /// In words, naming stack and baseline.
    pub sentence: String,
}

/// Whether the cost is the same at all points.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum CostTrend {
    /// Two points have intervals that exclude each other.
    Changes {
        /// Where the stack costs more.
        more: CurveEnd,
        /// Where it costs less.
        less: CurveEnd,
        /// Whether these are the largest and the smallest cost of all points.
        extremes: bool,
    },
    /// As far as can be told: a ratio within these bounds fits every point.
    Same {
        /// Of the rate to that of the baseline.
        ratio: Interval,
    },
    /// Not to be said.
    Unknown { reason: String },
}

/// A point with its ratio.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurveEnd {
    pub at: SweepValue,
    /// Rate of the stack over that of the baseline.
    pub ratio: f64,
    /// Its interval that holds for all points at once.
    pub interval: Interval,
}

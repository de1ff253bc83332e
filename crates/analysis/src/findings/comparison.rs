//! Comparison of one stack with another in rate, latency and CPU time.

use super::ceiling::MaskingCeiling;
use super::charge::ChargeFinding;
use super::direction::{DirectionCharge, DirectionComparison};
use super::figure::{Interval, MeasuredFigure};
use super::tail::TailFinding;
use iotax_stats::checks::{CarryOver, LengthCheck, LevelSplit};
use iotax_stats::{Phrase, Verdict};
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Acknowledged rate as the program sees it; for reads, the only figure.
    Acknowledged,
    /// Rate of writes over the time with the flush at the end.
    Durable,
}

impl Quantity {
    pub fn word(self) -> &'static str {
        match self {
            Quantity::Acknowledged => "acknowledged",
            Quantity::Durable => "durable",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonRole {
    #[default]
    Stack,
    /// The baseline against itself, or under `null`: a check of the ruler.
    Same,
    /// Another generator on the baseline, in a run that also has other stacks.
    Generator,
}

impl ComparisonRole {
    fn is_stack(&self) -> bool {
        *self == ComparisonRole::Stack
    }
}

/// Rate of a stack compared with that of the baseline, for all I/Os of a load or for one direction
/// of a mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateFinding {
    /// Compared rate in words: `4k random-read IOPS at iodepth 32 x 4`.
    pub quantity: String,
    /// Conclusion from the interval that holds for all figures of this kind in the run.
    pub verdict: Verdict,
    pub remedy: Option<String>,
    pub sentence: String,
    #[serde(skip)]
    pub phrase: Phrase,
    pub ratio: MeasuredFigure,
    /// Interval of the ratio that holds at once with those of the others of its kind in the run.
    pub simultaneous: Option<Interval>,
}

impl RateFinding {
    /// Creates a finding whose sentence, phrase, remedy and simultaneous interval are still empty.
    pub fn new(quantity: String, verdict: Verdict, ratio: MeasuredFigure) -> RateFinding {
        let (sentence, phrase) = (String::new(), Phrase::default());
        RateFinding { quantity, verdict, remedy: None, sentence, phrase, ratio, simultaneous: None }
    }

    /// Returns the ratio with the interval that holds at once with those of the others, if it has
    /// one.
    pub fn at_once(&self) -> MeasuredFigure {
        self.ratio.with_interval(self.simultaneous.as_ref())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    #[serde(skip_serializing_if = "ComparisonRole::is_stack")]
    pub role: ComparisonRole,
    pub stack: String,
    pub against: String,
    /// Figure of a write that is compared; `None` for reads.
    #[serde(skip)]
    pub of_write: Option<Quantity>,
    #[serde(flatten)]
    pub rate: RateFinding,
    pub masked: Option<MaskingCeiling>,
    pub checks: RatioChecks,
    /// Seconds of load on both stacks together.
    pub measured_s: f64,
    /// Percentiles of the stack over those of the baseline: `(direction, quantile, ratio)`.
    pub latency_ratios: Vec<(&'static str, f64, MeasuredFigure)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tails: Vec<TailFinding>,
    /// Reads and writes separately; only for a mix, and with the flush only writes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DirectionComparison>,
    /// True if the directions have sentences: they differ, or the scenario names figures of one.
    #[serde(skip)]
    pub says_directions: bool,
    pub emulated: Option<String>,
}

impl Comparison {
    /// Returns `acknowledged` or `durable` for writes, else an empty string.
    pub fn write_word(&self) -> &'static str {
        self.of_write.map_or("", Quantity::word)
    }

    pub fn rate_of(&self, direction: Option<&str>) -> Option<&RateFinding> {
        let Some(direction) = direction else { return Some(&self.rate) };
        self.directions.iter().find(|one| one.direction == direction).map(|one| &one.rate)
    }

    /// Returns the finding for all I/Os, then that of each direction of a mix.
    pub fn rates_mut(&mut self) -> impl Iterator<Item = &mut RateFinding> {
        std::iter::once(&mut self.rate).chain(self.directions.iter_mut().map(|one| &mut one.rate))
    }
}

/// Checks made in addition to the ratio; `None` where too little was measured for a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RatioChecks {
    pub level: Option<LevelSplit>,
    /// Carry-over from the slice before, of the baseline and of the stack.
    pub carry_over: [Option<CarryOver>; 2],
    pub length: Option<LengthCheck>,
}

/// Comparison of a stack with another in figures of which less is better.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Charges {
    pub stack: String,
    pub against: String,
    /// Mean latency under the matched load.
    pub latency: ChargeFinding,
    /// Latency percentiles under the matched load, stack over baseline: `(direction, quantile,
    /// ratio)`.
    pub percentiles: Vec<(&'static str, f64, MeasuredFigure)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DirectionCharge>,
    #[serde(skip)]
    pub says_directions: bool,
    /// CPU time per I/O of the workload, host and guest together.
    pub cpu: ChargeFinding,
    pub emulated: Option<String>,
}

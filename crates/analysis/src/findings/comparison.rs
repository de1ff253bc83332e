//! One stack against another.

use super::ceiling::MaskingCeiling;
use super::charge::ChargeFinding;
use super::direction::{DirectionCharge, DirectionComparison};
use super::figure::{Interval, MeasuredFigure};
use super::tail::TailFinding;
use iotax_stats::checks::{CarryOver, LengthCheck, LevelSplit};
use iotax_stats::{Phrase, Verdict};
use serde::Serialize;

/// Which of the two figures of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// What the program sees; of reads, all there is.
    Acknowledged,
    /// With the flush at the end.
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

/// What a comparison is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonRole {
    /// Two stacks that differ.
    #[default]
    Stack,
    /// A stack and itself, or `null` on it: a check of the ruler.
    Same,
    /// Another generator on the baseline, beside other stacks.
    Generator,
}

impl ComparisonRole {
    fn is_stack(&self) -> bool {
        *self == ComparisonRole::Stack
    }
}

/// A rate of a stack against the same of the baseline: of all I/Os of a load, or of one direction
/// of a mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateFinding {
    /// `4k random-read IOPS at iodepth 32 x 4`.
    pub quantity: String,
    /// The conclusion, with the others of its kind in the run in mind.
    pub verdict: Verdict,
    /// What would settle it, where something would.
    pub remedy: Option<String>,
    /// In words, naming stack, baseline and quantity.
    pub sentence: String,
    /// The sentence without its stacks, to be said of several at once.
    #[serde(skip)]
    pub phrase: Phrase,
    /// Rate of the stack over that of the baseline.
    pub ratio: MeasuredFigure,
    /// The ratio's interval that holds together with those of the others of its kind in the run.
    pub simultaneous: Option<Interval>,
}

impl RateFinding {
    /// Of a conclusion that is not in words yet.
    pub fn new(quantity: String, verdict: Verdict, ratio: MeasuredFigure) -> RateFinding {
        let (sentence, phrase) = (String::new(), Phrase::default());
        RateFinding { quantity, verdict, remedy: None, sentence, phrase, ratio, simultaneous: None }
    }

    /// The ratio with the interval that holds together with all others.
    pub fn at_once(&self) -> MeasuredFigure {
        self.ratio.with_interval(self.simultaneous.as_ref())
    }
}

/// One stack against the baseline in one quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What it is about.
    #[serde(skip_serializing_if = "ComparisonRole::is_stack")]
    pub role: ComparisonRole,
    pub stack: String,
    pub against: String,
    /// Which of the two figures of a write; `None` of reads.
    #[serde(skip)]
    pub of_write: Option<Quantity>,
    /// What is found of all I/Os, with all comparisons of the run in mind.
    #[serde(flatten)]
    pub rate: RateFinding,
    /// What hides a cost: both run into it.
    pub masked: Option<MaskingCeiling>,
    /// What else was looked for.
    pub checks: RatioChecks,
    /// Seconds of load on the two.
    pub measured_s: f64,
    /// Percentiles of the stack over those of the baseline: `(direction, quantile, ratio)`.
    pub latency_ratios: Vec<(&'static str, f64, MeasuredFigure)>,
    /// How many of the stack's I/Os take longer than percentiles of the baseline's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tails: Vec<TailFinding>,
    /// Reads and writes apart; only of a mix, and with the flush writes alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DirectionComparison>,
    /// Whether these have sentences: they differ, or the scenario names figures of one.
    #[serde(skip)]
    pub says_directions: bool,
    /// Why it is not representative.
    pub emulated: Option<String>,
}

impl Comparison {
    /// `acknowledged` or `durable` of writes, else empty.
    pub fn write_word(&self) -> &'static str {
        self.of_write.map_or("", Quantity::word)
    }

    /// What is found of all I/Os, or of one direction of a mix.
    pub fn rate_of(&self, direction: Option<&str>) -> Option<&RateFinding> {
        let Some(direction) = direction else { return Some(&self.rate) };
        self.directions.iter().find(|one| one.direction == direction).map(|one| &one.rate)
    }

    /// What is found of all I/Os, and after it of each direction of a mix.
    pub fn rates_mut(&mut self) -> impl Iterator<Item = &mut RateFinding> {
        std::iter::once(&mut self.rate).chain(self.directions.iter_mut().map(|one| &mut one.rate))
    }
}

/// What was looked for beside the ratio; `None` where too little was measured for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RatioChecks {
    /// A break of the level.
    pub level: Option<LevelSplit>,
    /// Whether a slice depends on whose slice ran before: of the baseline, of the stack.
    pub carry_over: [Option<CarryOver>; 2],
    /// Longer slices against the others.
    pub length: Option<LengthCheck>,
}

/// What a stack takes more or less than the baseline: figures of which less is better.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Charges {
    pub stack: String,
    pub against: String,
    /// Mean latency at the matched rate.
    pub latency: ChargeFinding,
    /// Percentiles at the matched rate, of the stack over those of the baseline: `(direction,
    /// quantile, ratio)`.
    pub percentiles: Vec<(&'static str, f64, MeasuredFigure)>,
    /// Mean latency of reads and writes apart; only of a mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DirectionCharge>,
    /// Whether these have sentences.
    #[serde(skip)]
    pub says_directions: bool,
    /// CPU time per I/O at load, host and guest together.
    pub cpu: ChargeFinding,
    /// Why it is not representative.
    pub emulated: Option<String>,
}

//! Why no verdict is given. A refusal is a result: it is stored and printed like one.

use super::checks::{CarryOver, LengthCheck, LevelSplit, Regime};
use super::shown::Digits;
use iotax_units::{counted, show_bytes};
use serde::Serialize;
use std::fmt;

/// The reason that a figure or verdict is withheld.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "refusal", rename_all = "snake_case")]
pub enum Refusal {
    /// Fewer rounds than the 16 batches that an interval needs.
    TooFewRounds {
        /// Rounds at hand.
        have: usize,
    },
    /// Fewer paired visits than an interval needs.
    TooFewVisits {
        /// Pairs at hand.
        have: usize,
    },
    /// Results of others that were not repeated often enough for their spread to be known.
    NoSpread {
        /// Runs of the baseline.
        baseline: usize,
        /// Runs of the other.
        other: usize,
    },
    /// The baseline completed nothing, so nothing can be divided by it.
    IdleBaseline,
    /// The stack completed nothing.
    IdleStack,
    /// A rate that is negative or not a number was handed in.
    NotARate,
    /// Batches still follow each other: the interval cannot be trusted.
    DependentBatches {
        /// Correlation of neighbouring batches.
        correlation: f64,
        /// What is allowed.
        bound: f64,
    },
    /// The interval includes zero and reaches beyond the zone of no difference.
    TooWide {
        /// The zone, a fraction.
        zone: f64,
    },
    /// The level broke and the ratio with it: two regimes, of which the mean is neither.
    Regimes {
        /// The break.
        split: LevelSplit,
    },
    /// From some round on both run alike and steadily: a limit hides the cost.
    RateLimited {
        /// The break.
        split: LevelSplit,
    },
    /// One side ran at a limit, which hides what it costs.
    AtLimit {
        /// Which: the baseline or the stack.
        of_baseline: bool,
        /// The limit, its size, and where it is set, in words.
        limit: String,
    },
    /// A slice depends on whose slice ran before it.
    CarryOver {
        /// Which stack's: the baseline's or the other's.
        of_baseline: bool,
        /// What was found.
        found: CarryOver,
    },
    /// Slices of another length tell another ratio.
    LengthMatters {
        /// What was found.
        found: LengthCheck,
    },
    /// The individual interval would give a conclusion, but the simultaneous interval over all
    /// comparisons of its kind includes zero.
    AmongMany {
        /// Number of comparisons of its kind in the run.
        many: usize,
    },
    /// Nothing shows that writes came past the caches.
    SteadyNotShown {
        /// Bytes that the least written drive got in the visit that wrote most.
        written: u64,
        /// The largest cache of writes that is known on the path, in bytes.
        known_cache: Option<u64>,
    },
    /// Too few I/Os lie beyond the percentile or threshold.
    ThinTail {
        /// I/Os beyond it.
        have: u64,
    },
    /// The slow I/Os came in so few rounds that their share has no lower bound above zero.
    TailInFewRounds {
        /// I/Os beyond the percentile.
        have: u64,
    },
    /// One side did not achieve the offered rate: its latency grows as long as a slice lasts.
    NotKeptUp {
        /// Which: the baseline or the stack.
        of_baseline: bool,
        /// Achieved share of the offered rate.
        share: f64,
    },
    /// Two runs differ by more than their own noise, but not by more than the machine may have
    /// drifted.
    Drift,
    /// There is nothing to judge, in words.
    NotMeasured {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooFewRounds { have } => {
                write!(out, "{have} whole rounds, an interval needs 16")
            }
            Refusal::TooFewVisits { have } => {
                write!(
                    out,
                    "{}, an interval needs 4",
                    counted(*have as u64, "paired visit", "paired visits")
                )
            }
            Refusal::NoSpread { baseline: 1, other: 1 } => {
                write!(out, "one run each: no spread is known")
            }
            Refusal::NoSpread { baseline, other } => {
                let runs = |count: &usize| counted(*count as u64, "run", "runs");
                write!(
                    out,
                    "{} against {}: the spread is not known, an interval needs 4 of each",
                    runs(other),
                    runs(baseline)
                )
            }
            Refusal::IdleBaseline => write!(out, "the baseline completed nothing"),
            Refusal::IdleStack => write!(out, "the stack completed nothing"),
            Refusal::NotARate => write!(out, "a rate is negative or not a number"),
            Refusal::DependentBatches { correlation, bound } => {
                let what = if *correlation > 0.0 {
                    "the noise outlasts a batch"
                } else {
                    "batches see-saw"
                };
                write!(
                    out,
                    "{what} (neighbouring ones correlate by {correlation:+.2}, allowed is {bound:.2})"
                )
            }
            Refusal::TooWide { zone } => {
                write!(out, "the interval includes zero and reaches beyond {} %", zone * 100.0)
            }
            Refusal::ThinTail { have } => {
                write!(
                    out,
                    "too few I/Os ({have} beyond, an interval needs 20): measure longer (--budget)"
                )
            }
            Refusal::TailInFewRounds { have } => {
                write!(
                    out,
                    "the {have} slowest I/Os came in too few rounds: measure longer (--budget)"
                )
            }
            Refusal::Regimes { split } => {
                write!(
                    out,
                    "the level broke in round {} and the cost with it: {}",
                    split.at,
                    regimes(split)
                )
            }
            Refusal::RateLimited { split } => write!(
                out,
                "from round {} on a rate limit makes both alike and hides the cost: {}",
                split.at,
                regimes(split)
            ),
            Refusal::AtLimit { of_baseline, limit } => {
                let who = if *of_baseline { "the baseline" } else { "the stack" };
                write!(out, "{who} ran at a limit, which hides its cost: {limit}")
            }
            Refusal::CarryOver { of_baseline, found } => {
                let whose = if *of_baseline { "the baseline" } else { "the stack" };
                write!(
                    out,
                    "slices of {whose} run at {:+.1} % after another's slice, so that switching is part of the figure",
                    100.0 * found.effect
                )
            }
            Refusal::LengthMatters { found } => write!(
                out,
                "longer slices tell another cost ({:.1} %, by {:+.1} points), so that starting is part of the figure",
                100.0 * (1.0 - found.ratio),
                -100.0 * found.difference * found.ratio
            ),
            Refusal::AmongMany { many } => {
                let among = if *many > 1 {
                    format!("all {many} comparisons")
                } else {
                    "all figures".to_owned()
                };
                write!(
                    out,
                    "the interval, which holds for {among} of the run together, includes zero"
                )
            }
            Refusal::SteadyNotShown { written, known_cache } => {
                let cache = match known_cache {
                    Some(bytes) => {
                        format!("does not fill the largest known cache of {}", show_bytes(*bytes))
                    }
                    None => "no cache on the path is known".to_owned(),
                };
                write!(
                    out,
                    "the steady regime was not shown: {} written to a drive in one visit, {cache}, and no lasting fall of pace with as much written behind it",
                    show_bytes(*written)
                )
            }
            Refusal::NotKeptUp { of_baseline, share } => {
                let who = if *of_baseline { "the baseline" } else { "the stack" };
                write!(
                    out,
                    "{who} did not keep up: it achieved {} of the offered rate",
                    short_of(*share)
                )
            }
            Refusal::Drift => write!(out, "drift of the machine between the runs could explain it"),
            Refusal::NotMeasured { reason } => write!(out, "{reason}"),
        }
    }
}

/// What keeps up achieves this part of the offered rate at least.
pub const KEPT_UP: f64 = 0.98;

/// A share below [`KEPT_UP`], with digits enough to be printed below it.
fn short_of(share: f64) -> String {
    let percent = 100.0 * share;
    let rounded = format!("{percent:.1}");
    let seems_to_keep_up = rounded.parse().is_ok_and(|rounded: f64| rounded >= 100.0 * KEPT_UP);
    match seems_to_keep_up && share < KEPT_UP {
        true => format!("{:.2} %", (100.0 * percent).floor() / 100.0),
        false => format!("{rounded} %"),
    }
}

/// Both sides of a break, a cost each.
fn regimes(split: &LevelSplit) -> String {
    let side = |regime: &Regime| {
        let [low, high] =
            [-1.0, 1.0].map(|way| 1.0 - regime.ratio * (-way * regime.half_width).exp());
        let cost = Digits::size(1.0 - regime.ratio, (low, high), true);
        format!("costs {} in {} rounds", cost.words(), regime.rounds)
    };
    format!("{} before, {} behind", side(&split.before), side(&split.after))
}

impl Refusal {
    /// Whether the slices themselves are spoilt, for whatever figure is made of them, and not only
    /// the interval of one.
    pub fn is_of_slices(&self) -> bool {
        matches!(
            self,
            Refusal::CarryOver { .. } | Refusal::LengthMatters { .. } | Refusal::Regimes { .. }
        )
    }

    /// One stable word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Refusal::TooFewRounds { .. } => "too_few_rounds",
            Refusal::TooFewVisits { .. } => "too_few_visits",
            Refusal::NoSpread { .. } => "no_spread",
            Refusal::IdleBaseline => "idle_baseline",
            Refusal::IdleStack => "idle_stack",
            Refusal::NotARate => "not_a_rate",
            Refusal::DependentBatches { .. } => "dependent_batches",
            Refusal::TooWide { .. } => "too_wide",
            Refusal::Regimes { .. } => "regimes",
            Refusal::RateLimited { .. } => "rate_limited",
            Refusal::AtLimit { .. } => "at_limit",
            Refusal::CarryOver { .. } => "carry_over",
            Refusal::LengthMatters { .. } => "length_matters",
            Refusal::AmongMany { .. } => "among_many",
            Refusal::SteadyNotShown { .. } => "steady_not_shown",
            Refusal::ThinTail { .. } => "thin_tail",
            Refusal::TailInFewRounds { .. } => "tail_in_few_rounds",
            Refusal::NotKeptUp { .. } => "not_kept_up",
            Refusal::Drift => "drift",
            Refusal::NotMeasured { .. } => "not_measured",
        }
    }

    /// What would settle it, where something would.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Refusal::TooFewRounds { .. } => Some("raise --budget"),
            Refusal::TooFewVisits { .. } => Some("raise --visits"),
            Refusal::NoSpread { .. } => Some("repeat each at least four times, in turns"),
            Refusal::DependentBatches { .. } => {
                Some("measure longer: raise --min-time, and --budget with it")
            }
            Refusal::TooWide { .. } => Some("raise --budget, or quieten the machine"),
            Refusal::Regimes { .. } => Some(
                "measure each regime by itself: start when the level has settled, or use --visits",
            ),
            Refusal::RateLimited { .. } => {
                Some("read latency at the matched rate and CPU per I/O, or lift the limit")
            }
            Refusal::AtLimit { .. } => Some(
                "lift the limit; for I/O, compare CPU per I/O, and latency at a matched rate below it (--matched-rate)",
            ),
            Refusal::CarryOver { .. } => Some("use longer slices (--slice), or visits"),
            Refusal::LengthMatters { .. } => Some("use longer slices (--slice)"),
            Refusal::AmongMany { .. } => {
                Some("measure this comparison alone, or with a smaller --precision")
            }
            Refusal::SteadyNotShown { .. } => {
                Some("raise --budget and --max-written, or name the cache with --write-cache")
            }
            Refusal::ThinTail { .. } | Refusal::TailInFewRounds { .. } => Some("measure longer"),
            Refusal::NotKeptUp { .. } => {
                Some("offer a lower rate: rate_iops, or --matched-rate 50% of `iotax run`")
            }
            Refusal::Drift => Some("measure both in one run, or keep a baseline in each"),
            Refusal::IdleBaseline
            | Refusal::IdleStack
            | Refusal::NotARate
            | Refusal::NotMeasured { .. } => None,
        }
    }
}

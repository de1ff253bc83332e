//! Why no verdict is given. A refusal is a result: it is stored and printed like one.

use super::checks::{CarryOver, LengthCheck, LevelSplit, Regime};
use super::shown::Digits;
use iotax_units::{count_noun, show_bytes};
use serde::Serialize;
use std::fmt;

/// The reason that a figure or verdict is withheld.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "refusal", rename_all = "snake_case")]
pub enum Refusal {
    /// Fewer rounds than the 16 batches that an interval needs.
    TooFewRounds {
        /// Number of rounds at hand.
        have: usize,
    },
    /// Fewer paired visits than an interval needs.
    TooFewVisits {
        /// Number of pairs at hand.
        have: usize,
    },
    /// Fewer hosts than pooling or comparing them needs.
    TooFewHosts {
        /// Number of hosts at hand.
        have: usize,
        /// Number of hosts that are needed.
        need: usize,
    },
    /// Imported results of runs that were repeated too rarely for their spread to be known.
    NoSpread {
        /// Number of runs of the baseline.
        baseline: usize,
        /// Number of runs of the stack that is compared with it.
        other: usize,
    },
    /// The baseline completed nothing, so nothing can be divided by it.
    IdleBaseline,
    /// The stack completed no I/O.
    IdleStack,
    /// A rate is negative or not a finite number.
    NotARate,
    /// Batches still depend on each other: the interval cannot be trusted.
    DependentBatches {
        /// Correlation of neighbouring batches.
        correlation: f64,
        /// Largest correlation that is allowed.
        bound: f64,
    },
    /// The interval includes zero and reaches beyond the zone of no difference.
    TooWide {
        /// Zone of no difference, as a fraction of the baseline.
        zone: f64,
    },
    /// The level broke in two and the ratio with it: there are two regimes, and their mean
    /// describes neither.
    Regimes {
        /// The break between the regimes.
        split: LevelSplit,
    },
    /// Both sides run alike and steadily from some round on: a limit hides the cost.
    RateLimited {
        /// The break at which this begins.
        split: LevelSplit,
    },
    /// One side ran at a limit, which hides what it costs.
    AtLimit {
        /// True if the baseline ran at the limit, false if the stack did.
        of_baseline: bool,
        /// Description of the limit in words: its size, and where it is set.
        limit: String,
    },
    /// The rate of a slice depends on the stack that ran before it, by more than is tolerated.
    CarryOver {
        /// True if this holds for the baseline's slices, false if for the stack's.
        of_baseline: bool,
        /// Carry-over that was found.
        found: CarryOver,
    },
    /// Slices of another length show another ratio.
    LengthMatters {
        /// Result of the length check.
        found: LengthCheck,
    },
    /// The individual interval would give a conclusion, but the simultaneous interval over all
    /// comparisons of its kind includes zero.
    AmongMany {
        /// Number of comparisons of its kind in the run.
        many: usize,
    },
    /// There is no evidence that writes came past the caches.
    SteadyNotShown {
        /// Bytes that the least written drive got in the visit that wrote most.
        written: u64,
        /// Size of the largest known write cache on the path, in bytes; `None` if no cache is
        /// known.
        known_cache: Option<u64>,
    },
    /// Too few I/Os lie beyond the percentile or threshold.
    ThinTail {
        /// Number of I/Os beyond it, over all rounds.
        have: u64,
    },
    /// The slow I/Os came in so few rounds that their share has no lower bound above zero.
    TailInFewRounds {
        /// Number of I/Os beyond the percentile.
        have: u64,
    },
    /// One side did not achieve the offered rate: its latency grows as long as a slice lasts.
    NotKeptUp {
        /// True if the baseline fell short, false if the stack did.
        of_baseline: bool,
        /// Achieved share of the offered rate.
        share: f64,
    },
    /// Two runs differ by more than their own noise, but not by more than the machine may have
    /// drifted.
    Drift,
    /// There is no measurement to judge.
    NotMeasured {
        /// Reason in words, for printing.
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
                    "{}, an interval needs 4 (or 3 attaches)",
                    count_noun(*have as u64, "paired visit", "paired visits")
                )
            }
            Refusal::TooFewHosts { have, need } => {
                let hosts = count_noun(*have as u64, "host", "hosts");
                write!(out, "{hosts}, at least {need} are needed to compare them")
            }
            Refusal::NoSpread { baseline: 1, other: 1 } => {
                write!(out, "one run each: no spread is known")
            }
            Refusal::NoSpread { baseline, other } => {
                let runs = |count: &usize| count_noun(*count as u64, "run", "runs");
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
                "longer slices show another cost ({:.1} %, by {:+.1} points), so that starting is part of the figure",
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
                    "the steady regime was not shown: {} written to a drive in one visit, {cache}, and no lasting fall of pace with as much written after it",
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

/// Smallest share of the offered rate that counts as keeping up.
pub const KEPT_UP: f64 = 0.98;

/// Formats a share as a percentage with one decimal, or with two, rounded down, if one below
/// [`KEPT_UP`] would otherwise be printed as keeping up.
fn short_of(share: f64) -> String {
    let percent = 100.0 * share;
    let rounded = format!("{percent:.1}");
    let seems_to_keep_up = rounded.parse().is_ok_and(|rounded: f64| rounded >= 100.0 * KEPT_UP);
    match seems_to_keep_up && share < KEPT_UP {
        true => format!("{:.2} %", (100.0 * percent).floor() / 100.0),
        false => format!("{rounded} %"),
    }
}

/// Describes both sides of a break, with the cost of each.
fn regimes(split: &LevelSplit) -> String {
    let side = |regime: &Regime| {
        let [low, high] =
            [-1.0, 1.0].map(|way| 1.0 - regime.ratio * (-way * regime.half_width).exp());
        let cost = Digits::size(1.0 - regime.ratio, (low, high), true);
        format!("costs {} in {} rounds", cost.to_words(), regime.rounds)
    };
    format!("{} before, {} after", side(&split.before), side(&split.after))
}

impl Refusal {
    /// Returns true if the slices themselves are spoilt, for any figure that is computed from them,
    /// and not only the interval of one figure.
    pub fn is_of_slices(&self) -> bool {
        matches!(
            self,
            Refusal::CarryOver { .. } | Refusal::LengthMatters { .. } | Refusal::Regimes { .. }
        )
    }

    /// Returns the name under which the refusal is stored: `too_few_rounds`.
    pub fn word(&self) -> &'static str {
        match self {
            Refusal::TooFewRounds { .. } => "too_few_rounds",
            Refusal::TooFewVisits { .. } => "too_few_visits",
            Refusal::TooFewHosts { .. } => "too_few_hosts",
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

    /// Returns what the user can do to get a verdict: `raise --budget`. `None` if there is nothing.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Refusal::TooFewRounds { .. } => Some("raise --budget"),
            Refusal::TooFewVisits { .. } => Some("raise --visits"),
            Refusal::TooFewHosts { .. } => Some("measure more hosts"),
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

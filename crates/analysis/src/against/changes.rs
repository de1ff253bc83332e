//! Changes of each stack's rate, latency and CPU time, new run over old: directly, and relative to
//! the baseline of each run. The verdict is about the relative change where it can be estimated.

use super::{
    ChargeLimit, LimitCall, LimitLine, RateChange, RegressionLimits, RunChange, ServiceLevelChange,
    ServiceLevels, StackChange, VerdictBasis, WorkloadChange, common_baseline,
};
use crate::compare::remedy::settle_words;
use crate::compare::standing::{FigureKind, LevelOfRun, over_baseline, stack_level};
use crate::findings::against::DirectionChange;
use crate::findings::slo::ServiceLevelFinding;
use crate::findings::{Interval, MeasuredFigure, SampleUnit};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::{IoDirection, StackSide};
use crate::gather::subject;
use crate::gather::subject::Quantity;
use crate::results::slo;
use crate::validity::neighbours;
use iotax_model::scenario::Regime;
use iotax_stats::exceedance::ServiceVerdict;
use iotax_stats::round::percent_up;
use iotax_stats::unpaired::{self, LimitOutcome};
use iotax_stats::{Concludes, Digits, Refusal, Verdict};

/// Assumed seconds between the starts of two runs if one cannot be read.
const UNKNOWN_APART_S: f64 = 365.0 * 86_400.0;

/// Time between two runs, in lengths of the shorter one, that is assumed for ratios to the baseline
/// of each run. Drift of the machine cancels in them. Their remaining variation was not seen to
/// grow with the time between runs (docs/decisions/unpaired-runs.md).
const ADJOINING: f64 = 1.0;

/// Largest factor by which the advice asks to lengthen both runs.
const BEARABLE: f64 = 50.0;

pub(super) struct MatchedWorkload<'a> {
    /// The workload in the old run and in the new one.
    pub(super) sides: [&'a WorkloadView<'a>; 2],
    /// Stacks that both runs have, by their indices in the old run and in the new one.
    pub(super) stacks: &'a [[usize; 2]],
    baseline: Option<[usize; 2]>,
    separation: f64,
}

impl<'a> MatchedWorkload<'a> {
    pub(super) fn new(
        sides: [&'a WorkloadView<'a>; 2],
        stacks: &'a [[usize; 2]],
        apart_s: Option<f64>,
    ) -> MatchedWorkload<'a> {
        let length =
            |reading: &WorkloadView| reading.sides.iter().map(|side| side.load_s).sum::<f64>();
        let shorter = length(sides[0]).min(length(sides[1])).max(1e-3);
        MatchedWorkload {
            sides,
            stacks,
            baseline: common_baseline(sides.map(|one| &one.run.start.scenario), stacks),
            separation: apart_s.unwrap_or(UNKNOWN_APART_S) / shorter,
        }
    }

    fn side(&self, run: usize, stack: [usize; 2]) -> &StackSide {
        &self.sides[run].sides[stack[run]]
    }

    fn directions(&self) -> &'static [IoDirection] {
        self.sides[1].mix_directions()
    }

    /// Returns the smaller of the two runs' zones: the largest negligible difference, as a
    /// fraction.
    fn zone(&self) -> f64 {
        let zone = |run: usize| self.sides[run].run.start.scenario.measure.equivalence;
        zone(0).min(zone(1))
    }

    /// Returns the reason why a stack has no rounds in one of the runs; `None` if it has in both.
    fn absence(&self, stack: [usize; 2]) -> Option<Refusal> {
        let absent = [0, 1].into_iter().find(|run| self.side(*run, stack).rounds.is_empty())?;
        let reason = match self.sides[absent].absence(stack[absent]) {
            MeasuredFigure::Failed { reason } => format!("it failed: {reason}"),
            MeasuredFigure::Missing { reason } => reason,
            MeasuredFigure::Known { .. } => "not measured".to_owned(),
        };
        Some(Refusal::NotMeasured {
            reason: format!("in the {} run: {reason}", super::WORDS[absent]),
        })
    }

    /// Returns the reason why a figure does not compare between the runs; `None` if it does. If the
    /// load has a schedule, fio's latencies begin when it issues an I/O, and iotax's when the I/O
    /// was due. CPU times do not compare if, in one of the runs, others used the processor all the
    /// time.
    fn incomparable_refusal(&self, stack: [usize; 2], of: FigureKind) -> Option<Refusal> {
        let reason = match of {
            FigureKind::Rate(..) => return None,
            FigureKind::Latency(_) => {
                let by_fio = |at: [usize; 2]| [0, 1].map(|run| self.sides[run].by_fio(at[run]));
                let differ =
                    |at: [usize; 2]| matches!(by_fio(at), [Some(old), Some(new)] if old != new);
                let any = [Some(stack), self.baseline].into_iter().flatten().any(differ);
                (any && self.sides[1].has_schedule()).then(|| {
                    "latencies of fio begin when it issues an I/O, the other run's when it was due".to_owned()
                })
            }
            FigureKind::Cpu => [0, 1].into_iter().find_map(|run| {
                let warning = neighbours::neighbour_warning(self.sides[run])?;
                Some(format!("in the {} run {warning}", super::WORDS[run]))
            }),
        };
        reason.map(|reason| Refusal::NotMeasured { reason })
    }

    /// Returns the reason why a stack is emulated, so that its figures are not representative, and
    /// true if only one of the runs is emulated, so that they do not compare either. `None` if
    /// neither is.
    fn emulated(&self, stack: [usize; 2]) -> Option<(String, bool)> {
        let of = |run: usize| self.sides[run].emulated(stack[run]);
        match (of(0), of(1)) {
            (None, None) => None,
            (Some(_), Some(reason)) => Some((format!("emulated in both runs: {reason}"), false)),
            (Some(reason), None) => Some((format!("emulated in the old run only: {reason}"), true)),
            (None, Some(reason)) => Some((format!("emulated in the new run only: {reason}"), true)),
        }
    }
}

pub(super) struct ChangeEstimate {
    pub(super) change: Result<unpaired::UnpairedChange, Refusal>,
    value: Option<f64>,
    unit: SampleUnit,
}

impl ChangeEstimate {
    pub(super) fn from_old(old: LevelOfRun, new: LevelOfRun, separation: f64) -> ChangeEstimate {
        let value = old.log.zip(new.log).map(|(old, new)| (new - old).exp());
        let levels = old.level.and_then(|old| Ok((old, new.level?)));
        let unit = match (old.unit, new.unit) {
            (old, new) if old == new => old,
            (SampleUnit::Runs, _) | (_, SampleUnit::Runs) => SampleUnit::RunsAndRounds,
            _ => SampleUnit::Rounds,
        };
        ChangeEstimate {
            change: levels.map(|(old, new)| unpaired::compare_levels(&old, &new, separation)),
            value,
            unit,
        }
    }

    pub(super) fn from_refusal(reason: Refusal) -> ChangeEstimate {
        ChangeEstimate { change: Err(reason), value: None, unit: SampleUnit::Rounds }
    }

    pub(super) fn change_figure(&self) -> MeasuredFigure {
        let known = |value, n: usize, interval, caution| MeasuredFigure::Known {
            value,
            unit: "1",
            n: n as u64,
            of: self.unit,
            interval,
            caution,
        };
        match (&self.change, self.value) {
            (Ok(found), _) => {
                let interval = Interval::from_bounds(found.low, found.high);
                let caution = found.drift_could_explain().then(|| Refusal::Drift.to_string());
                known(found.ratio, found.units, interval, caution)
            }
            (Err(reason), Some(value)) => {
                let have = match reason {
                    Refusal::TooFewRounds { have } | Refusal::TooFewVisits { have } => *have,
                    Refusal::NoSpread { baseline, other } => *baseline.min(other),
                    _ => 0,
                };
                known(value, have, Interval::Missing { missing: reason.to_string() }, None)
            }
            (Err(reason), None) => MeasuredFigure::missing(reason),
        }
    }
}

/// Estimates the change of a stack's figure, new over old: directly, and relative to the baseline
/// of each run.
fn estimate_changes(
    matched: &MatchedWorkload,
    stack: [usize; 2],
    of: FigureKind,
) -> (ChangeEstimate, ChangeEstimate) {
    if let Some(reason) = matched.absence(stack) {
        return (
            ChangeEstimate::from_refusal(reason.clone()),
            ChangeEstimate::from_refusal(reason),
        );
    }
    if let Some(reason) = matched.incomparable_refusal(stack, of) {
        return (
            ChangeEstimate::from_refusal(reason.clone()),
            ChangeEstimate::from_refusal(reason),
        );
    }
    let by_bytes = matched.sides[0].workload.writes();
    let plain = [0, 1].map(|run| stack_level(matched.side(run, stack), of, by_bytes));
    let [old, new] = plain;
    let plain = ChangeEstimate::from_old(old, new, matched.separation);
    let none =
        |reason: &str| ChangeEstimate::from_refusal(Refusal::NotMeasured { reason: reason.into() });
    let own = match matched.baseline {
        None => none("the runs have no baseline in common"),
        Some(baseline) if baseline == stack => none("it is the baseline"),
        Some(baseline) => match matched.absence(baseline) {
            Some(reason) => none(&format!("the baseline is missing {reason}")),
            None => {
                let [old, new] = [0, 1].map(|run| {
                    over_baseline(
                        matched.side(run, baseline),
                        matched.side(run, stack),
                        of,
                        by_bytes,
                    )
                });
                ChangeEstimate::from_old(old, new, ADJOINING)
            }
        },
    };
    (plain, own)
}

fn run_change(matched: &MatchedWorkload, stack: [usize; 2], of: FigureKind) -> RunChange {
    let (plain, own) = estimate_changes(matched, stack, of);
    RunChange { direct: plain.change_figure(), against_own_baseline: own.change_figure() }
}

pub(super) fn workload(
    matched: &MatchedWorkload,
    limits: RegressionLimits,
    levels: &ServiceLevels,
) -> WorkloadChange {
    let workload = matched.sides[1].workload;
    WorkloadChange {
        name: workload.name.clone(),
        subject: workload.subject(),
        of: SampleUnit::Rounds,
        stacks: matched
            .stacks
            .iter()
            .map(|at| stack_change(matched, *at, limits, levels))
            .collect(),
    }
}

fn stack_change(
    matched: &MatchedWorkload,
    at: [usize; 2],
    limits: RegressionLimits,
    levels: &ServiceLevels,
) -> StackChange {
    let known = &matched.sides[1].run.start.scenario.stacks[at[1]];
    let quantities: &[Quantity] = match matched.sides[1].workload.writes() {
        true => &[Quantity::Acknowledged, Quantity::Durable],
        false => &[Quantity::Acknowledged],
    };
    let rounds = [0, 1].map(|run| matched.side(run, at).rounds.len() as u64);
    StackChange {
        stack: known.name.clone(),
        text: known.text.clone(),
        baseline: matched.baseline == Some(at),
        emulated: matched.emulated(at).map(|(reason, _)| reason),
        rounds: (rounds[0], rounds[1]),
        rates: quantities
            .iter()
            .map(|which| rate_change(matched, at, *which, limits.rate))
            .collect(),
        directions: matched.directions().iter().map(|way| direction(matched, at, *way)).collect(),
        latency: run_change(matched, at, FigureKind::Latency(None)),
        cpu: run_change(matched, at, FigureKind::Cpu),
        charges: [(FigureKind::Latency(None), limits.latency), (FigureKind::Cpu, limits.cpu)]
            .into_iter()
            .filter_map(|(of, limit)| Some(charge(matched, at, of, limit?)))
            .collect(),
        slo: service_levels(matched, at, levels),
    }
}

fn charge(matched: &MatchedWorkload, at: [usize; 2], of: FigureKind, limit: f64) -> ChargeLimit {
    let (plain, own) = estimate_changes(matched, at, of);
    let (judged, used) = match own.change {
        Ok(_) => (VerdictBasis::AgainstOwnBaseline, own),
        Err(_) => (VerdictBasis::Direct, plain),
    };
    let figure = if let FigureKind::Cpu = of { "CPU per I/O" } else { "mean latency" };
    let emulated = label(matched, at, judged);
    let regime = matched.sides.iter().find_map(|side| side.writes.regime_refusal());
    let call = match (&emulated, regime) {
        (Some((true, _)), _) => undetermined("only one of the runs is emulated"),
        (_, Some(reason)) => undetermined(&reason.to_string()),
        _ => judge_rise(&used.change, judged, limit),
    };
    ChargeLimit {
        figure,
        judged,
        sentence: charge_sentence(
            matched.sides[1].name(at[1]),
            figure,
            &used,
            emulated.map_or("", |(_, words)| words),
        ),
        limit: call,
    }
}

/// Returns the sentence on a mean latency or a CPU time: `loop, new against old: mean latency +12.1
/// % +- 2.0 %`. `words` follow `against old`.
pub(super) fn charge_sentence(
    stack: &str,
    figure: &str,
    found: &ChangeEstimate,
    words: &str,
) -> String {
    let change = match (&found.change, found.value) {
        (Ok(found), _) => iotax_stats::RatioChange::of_ratio(found.ratio, found.low, found.high)
            .digits()
            .to_words(),
        (_, Some(value)) => Digits::format_change(value - 1.0, None).to_words(),
        (Err(_), None) => "no figure".to_owned(),
    };
    format!("{stack}, new against old{words}: {figure} {change}")
}

fn service_levels(
    matched: &MatchedWorkload,
    at: [usize; 2],
    levels: &ServiceLevels,
) -> Vec<ServiceLevelChange> {
    let [old, new] =
        [0, 1].map(|run| slo::of_stack(matched.sides[run], at[run], &levels.levels, levels.many));
    let change = |(old, new): (ServiceLevelFinding, ServiceLevelFinding)| {
        let call = match (old.verdict, new.verdict) {
            (ServiceVerdict::Broken, ServiceVerdict::Broken) | (_, ServiceVerdict::Kept) => {
                LimitCall::Passes
            }
            (_, ServiceVerdict::Broken) => LimitCall::Fails,
            (_, ServiceVerdict::Unresolved) => LimitCall::Undetermined,
        };
        let before = format!("{} in the old run", old.verdict.word());
        let sentence = match call {
            LimitCall::Fails => format!("{}; {before}: fails", new.sentence),
            LimitCall::Passes | LimitCall::Undetermined => format!("{}; {before}", new.sentence),
        };
        ServiceLevelChange { level: new.level, old: old.verdict, new: new.verdict, call, sentence }
    };
    old.into_iter().zip(new).map(change).collect()
}

fn direction(matched: &MatchedWorkload, at: [usize; 2], way: IoDirection) -> DirectionChange {
    DirectionChange {
        direction: way.word(),
        rate: run_change(matched, at, FigureKind::Rate(Quantity::Acknowledged, Some(way))),
        latency: run_change(matched, at, FigureKind::Latency(Some(way))),
    }
}

fn rate_change(
    matched: &MatchedWorkload,
    at: [usize; 2],
    which: Quantity,
    limit: Option<f64>,
) -> RateChange {
    let (plain, own) = estimate_changes(matched, at, FigureKind::Rate(which, None));
    let (judged, used) = match own.change {
        Ok(_) => (VerdictBasis::AgainstOwnBaseline, &own),
        Err(_) => (VerdictBasis::Direct, &plain),
    };
    let found = match &used.change {
        Ok(found) => found.verdict(matched.zone()),
        Err(reason) => Verdict::from_refusal(reason.clone()),
    };
    let withheld = withheld_by_regime(matched, at, judged, which, &found);
    let (verdict, of_run) = withheld.clone().unwrap_or((found, ""));
    let stacks = &matched.sides[1].run.start.scenario.stacks;
    let [old, new] = matched.sides.map(|side| side.run.start.scenario.measure.regime);
    let regime = (old == new).then_some(new);
    let quantity = subject::quantity(matched.sides[1].workload, which, regime, None);
    let emulated = label(matched, at, judged);
    let words = emulated.as_ref().map_or("", |(_, words)| words);
    let mixed = emulated.is_some_and(|(mixed, _)| mixed);
    let limit = limit.map(|limit| match withheld {
        _ if mixed => undetermined("only one of the runs is emulated"),
        Some(_) => undetermined("there is no verdict"),
        None => judge(&used.change, judged, limit),
    });
    // If the limit says what would settle it, that settles the verdict too.
    let settle = match &limit {
        Some(limit) if limit.sentence.contains(SETTLE) => String::new(),
        _ => verdict.reason().and_then(Refusal::remedy).map(settle_words).unwrap_or_default(),
    };
    RateChange {
        sentence: format!(
            "{}, new against old{words}: {}{of_run}{settle}",
            stacks[at[1]].name,
            verdict.sentence(&quantity),
        ),
        why: why(matched, judged, &own),
        drift_could_explain: used
            .change
            .as_ref()
            .is_ok_and(unpaired::UnpairedChange::drift_could_explain),
        limit,
        change: RunChange {
            direct: plain.change_figure(),
            against_own_baseline: own.change_figure(),
        },
        judged,
        verdict,
        quantity,
    }
}

/// Returns the verdict that replaces `found` if the regime of writes allows none: the regimes of
/// the runs differ, or one of the runs has no verdict in its own report. The text names that run,
/// and is empty if the regimes differ.
fn withheld_by_regime(
    matched: &MatchedWorkload,
    at: [usize; 2],
    judged: VerdictBasis,
    which: Quantity,
    found: &Verdict,
) -> Option<(Verdict, &'static str)> {
    let regimes = matched.sides.map(|side| side.run.start.scenario.measure.regime);
    if matched.sides[1].workload.writes() && regimes[0] != regimes[1] {
        let [old, new] = regimes.map(Regime::regime_word);
        let reason = format!("the old run's writes are judged as {old}, the new one's as {new}");
        let reason = Refusal::NotMeasured { reason };
        return Some((Verdict::from_refusal(reason), ""));
    }
    let against =
        matched.baseline.filter(|_| judged == VerdictBasis::AgainstOwnBaseline).unwrap_or(at);
    [(0, " (in the old run)"), (1, " (in the new run)")].into_iter().find_map(|(run, words)| {
        let verdict =
            matched.sides[run].writes.verdict(found.clone(), which, [against[run], at[run]]);
        (verdict != *found && !verdict.is_resolved()).then_some((verdict, words))
    })
}

/// Returns true if only one of the runs is emulated, and the label to print; `None` if neither is.
/// The baseline counts too if the verdict is relative to it.
fn label(
    matched: &MatchedWorkload,
    at: [usize; 2],
    judged: VerdictBasis,
) -> Option<(bool, &'static str)> {
    let baseline = matched.baseline.filter(|_| judged == VerdictBasis::AgainstOwnBaseline);
    let all: Vec<(String, bool)> = [Some(at), baseline]
        .into_iter()
        .flatten()
        .filter_map(|stack| matched.emulated(stack))
        .collect();
    match (all.is_empty(), all.iter().any(|(_, mixed)| *mixed)) {
        (true, _) => None,
        (_, true) => Some((true, " (only one of the runs is emulated: not comparable)")),
        _ => Some((false, " ~")),
    }
}

fn why(matched: &MatchedWorkload, judged: VerdictBasis, own: &ChangeEstimate) -> String {
    match (judged, &own.change, matched.baseline) {
        (VerdictBasis::AgainstOwnBaseline, _, Some(baseline)) => {
            let name = &matched.sides[1].run.start.scenario.stacks[baseline[1]].name;
            format!("against {name}, the baseline of its own run: what affected both cancels")
        }
        (_, Err(reason), _) => {
            format!(
                "by its direct change, with the drift between the runs in the interval: {reason}"
            )
        }
        _ => "by its direct change".to_owned(),
    }
}

pub(super) fn undetermined(reason: &str) -> LimitLine {
    LimitLine { call: LimitCall::Undetermined, sentence: format!("cannot be determined: {reason}") }
}

/// Judges the change of a rate against `limit`, the largest accepted loss as a fraction.
pub(super) fn judge(
    found: &Result<unpaired::UnpairedChange, Refusal>,
    judged: VerdictBasis,
    limit: f64,
) -> LimitLine {
    judged_in_words(found, judged, limit, &format!("a loss beyond {}", percent_word(limit)))
}

/// Judges the change of a figure of which less is better against `limit`, the largest accepted rise
/// as a fraction. It is judged as a loss of speed: 1.25 times the time is 0.8 of the speed.
pub(super) fn judge_rise(
    found: &Result<unpaired::UnpairedChange, Refusal>,
    judged: VerdictBasis,
    limit: f64,
) -> LimitLine {
    let speed = found.clone().map(|found| unpaired::UnpairedChange {
        ratio: 1.0 / found.ratio,
        low: 1.0 / found.high,
        high: 1.0 / found.low,
        ..found
    });
    let words = format!("a rise beyond {}", percent_word(limit));
    judged_in_words(&speed, judged, limit / (1.0 + limit), &words)
}

fn judged_in_words(
    found: &Result<unpaired::UnpairedChange, Refusal>,
    judged: VerdictBasis,
    limit: f64,
    beyond: &str,
) -> LimitLine {
    let found = match found {
        Ok(found) => found,
        Err(reason) => return undetermined(&reason.to_string()),
    };
    let outcome = LimitOutcome::against_limit(found.ratio, found.low, found.high, limit);
    limit_line(outcome, beyond, || settling_advice(found, judged, limit))
}

/// Puts an outcome into words. `beyond` names what is not accepted, such as `a loss beyond 5 %`;
/// `settle` returns advice, for outcomes that are undetermined.
pub(super) fn limit_line(
    outcome: LimitOutcome,
    beyond: &str,
    settle: impl Fn() -> String,
) -> LimitLine {
    let (call, sentence) = match outcome {
        LimitOutcome::Fails => {
            (LimitCall::Fails, format!("fails: all of the interval is {beyond}"))
        }
        LimitOutcome::Passes => {
            (LimitCall::Passes, format!("passes: no part of the interval is {beyond}"))
        }
        LimitOutcome::PerhapsBeyond => (
            LimitCall::Undetermined,
            format!(
                "cannot be determined: the estimate is {beyond}, the interval is not; {}",
                settle()
            ),
        ),
        LimitOutcome::PerhapsWithin => (
            LimitCall::Undetermined,
            format!(
                "cannot be determined: the estimate is not {beyond}, the interval reaches there; {}",
                settle()
            ),
        ),
    };
    LimitLine { call, sentence }
}

const SETTLE: &str = "to settle it:";

/// Returns advice on what would show whether the change is beyond the limit.
fn settling_advice(found: &unpaired::UnpairedChange, judged: VerdictBasis, limit: f64) -> String {
    let distance = (found.ratio / (1.0 - limit)).ln().abs();
    match found.longer(distance).filter(|times| *times <= BEARABLE) {
        Some(times) => {
            format!("{SETTLE} make both runs about {} times as long", times.ceil().max(2.0))
        }
        None => {
            let drift = match found.drift.exp_m1() {
                drift if drift > 1.0 => "larger than any loss".to_owned(),
                drift => percent_up(drift),
            };
            let instead = match judged {
                VerdictBasis::Direct => {
                    "give both runs a baseline that stays as it is, or measure old and new in one run"
                }
                VerdictBasis::AgainstOwnBaseline => {
                    "measure old and new in one run, or repeat both runs in turns"
                }
            };
            format!("longer runs do not help, drift alone may be {drift}; {SETTLE} {instead}")
        }
    }
}

pub(super) fn percent_word(fraction: f64) -> String {
    // A fraction that was read from a percentage has more digits than were written.
    format!("{} %", (fraction * 1e8).round() / 1e6)
}

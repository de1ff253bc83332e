//! Costs of a stack over the baseline: latency where both get the same load, CPU time per I/O at
//! load. In a closed loop a latency only repeats the rate; an open loop at one rate keeps the two
//! apart.

use crate::compare::directions;
use crate::compare::ratio::{AddedPerIo, EstimatedRatio, over_attaches};
use crate::compare::remedy::{MeasuredEffort, settle_words};
use crate::compare::rows;
use crate::compare::tails;
use crate::compare::verdicts::at_once;
use crate::findings::{
    ChargeFinding, Charges, DirectionCharge, MatchedFindings, MatchedRow, MeasuredFigure,
};
use crate::gather::reading::{CommonLoad, WorkloadView};
use crate::gather::rounds::{IoDirection, RoundTotal, StackSide};
use crate::gather::subject::comparison_subject;
use crate::validity::conservation;
use iotax_stats::family::{self, Family};
use iotax_stats::ratio::{Difference, Total};
use iotax_stats::{Charge, Concludes, Phrase, Refusal, Verdict};
use iotax_units::grouped;

pub struct ChargedStack {
    pub charges: Charges,
    pub latency: Option<EstimatedRatio>,
    pub cpu: Option<EstimatedRatio>,
    pub directions: Vec<Option<EstimatedRatio>>,
}

/// Compares latency and CPU time of the second stack with those of the first. `throughput` is the
/// verdict on the rates of the same slices: a problem of these slices also withholds the verdict on
/// CPU time.
pub fn of_pair(
    reading: &WorkloadView,
    [base, at]: [usize; 2],
    throughput: Option<&Verdict>,
) -> ChargedStack {
    let (stack, against) = (reading.name(at).to_owned(), reading.name(base).to_owned());
    let emulated = reading.emulated_pair(base, at);
    let spoilt =
        throughput.and_then(Verdict::reason).filter(|reason| reason.is_of_slices()).cloned();
    let pair = ChargedPair { reading, base, at, emulated: emulated.is_some(), spoilt };
    let load = reading.matched_load();
    let percentiles =
        load.as_ref().map(|load| percentiles(reading, load, base, at)).unwrap_or_default();
    let ((latency, of_latency), (cpu, of_cpu)) = (pair.latency(load.as_ref(), None), pair.cpu());
    let direction = |way: &IoDirection| {
        let (latency, found) = pair.latency(load.as_ref(), Some(*way));
        (DirectionCharge { direction: way.word(), latency }, found)
    };
    let (directions, of_directions): (Vec<DirectionCharge>, _) =
        reading.mix_directions().iter().map(direction).unzip();
    let ratios: Vec<&MeasuredFigure> = directions.iter().map(|one| &one.latency.ratio).collect();
    let says_directions = directions::are_apart(&ratios) || directions::are_asked(reading, None);
    let charges = Charges {
        latency,
        percentiles,
        directions,
        says_directions,
        cpu,
        stack,
        against,
        emulated,
    };
    ChargedStack { charges, latency: of_latency, cpu: of_cpu, directions: of_directions }
}

/// Gives a charge the interval that holds for its whole family at once, and a verdict that agrees
/// with it. A verdict that was withheld for another reason stays withheld.
pub fn conclude_charge(
    one: &mut ChargeFinding,
    who: &str,
    found: &EstimatedRatio,
    family: Family,
    zone: f64,
) {
    one.ratio = one.ratio.with_interval(Some(&found.simultaneous(family)));
    one.difference = one.difference.stretched(family::stretch(family, found.log().freedom));
    let Some(held) =
        at_once::<Charge>(one.verdict.reason(), one.verdict.change(), found, family, zone)
    else {
        return;
    };
    let remedy = match held.reason() == one.verdict.reason() {
        true => one.remedy.take(),
        false => held.reason().and_then(Refusal::remedy).map(str::to_owned),
    };
    one.verdict = held;
    let phrase = match one.quantity.strip_prefix(CPU_PER_IO) {
        Some(subject) => {
            one.verdict.about_cpu(difference(&one.difference).as_ref(), one.ratio.value(), subject)
        }
        None => one.verdict.phrase_about(&one.quantity),
    };
    one.put_into_words(who, phrase, remedy);
}

/// Prefix of the quantity's name for CPU times.
const CPU_PER_IO: &str = "CPU per I/O of ";

fn difference(figure: &MeasuredFigure) -> Option<Difference> {
    let (value, (_, high)) = (figure.value()?, figure.bounds()?);
    Some(Difference { value, half_width: high - value, rounds: 0 })
}

impl ChargeFinding {
    /// Sets the phrase and the sentence of the verdict, with what would settle it.
    fn put_into_words(&mut self, who: &str, phrase: Phrase, remedy: Option<String>) {
        let settle = remedy.as_deref().map(settle_words).unwrap_or_default();
        self.remedy = remedy;
        self.phrase = phrase.with_words(over_attaches(&self.ratio)).with_words(settle);
        self.sentence = format!("{who}: {}", self.phrase);
    }
}

/// Returns the latencies under the matched load, one row per stack. `None` if there is no such
/// load, or if the workload is its own matched load, since its rows have them.
pub fn matched(reading: &WorkloadView) -> Option<MatchedFindings> {
    let load = reading.matched_load().ok().filter(|load| !load.is_own())?;
    let row = |at: usize| {
        let side = &load.sides()[at];
        MatchedRow {
            stack: reading.name(at).to_owned(),
            baseline: at == reading.run.start.scenario.baseline,
            emulated: reading.emulated(at),
            iops: rows::of_side(side, "1/s", |round| Some((round.window_s, round.ios)))
                .unwrap_or_else(|| MeasuredFigure::missing("no whole round at the matched rate")),
            kept_up: load.offered_rate().and_then(|rate| side.kept_up(rate, reading.schedules(at))),
            caught_up: load.offered_rate().and_then(|rate| caught_up(side, rate)),
            latency: rows::latencies(reading, side),
            service: rows::service(reading, side),
        }
    };
    Some(MatchedFindings {
        rate_iops: load.offered_rate(),
        subject: at_load(reading, &load),
        origin: load.origin().to_owned(),
        rows: (0..load.sides().len()).map(row).collect(),
    })
}

fn at_load(reading: &WorkloadView, load: &CommonLoad) -> String {
    let what = reading.workload.kind_subject();
    match load.offered_rate() {
        Some(rate) => format!("{what} at {} I/Os a second", grouped(rate)),
        None => format!("{what} at iodepth 1"),
    }
}

/// Surplus over the offered rate from which on it is reported, as a fraction.
const AHEAD: f64 = 0.005;

/// Returns true if a surplus over the offered rate was due in the discarded starts of the slices.
/// An open loop's schedule begins with the slice and never runs ahead, so start and window together
/// hold no more I/Os than were offered. `None` if there is no surplus.
fn caught_up(side: &StackSide, offered: f64) -> Option<bool> {
    let sum = |of: fn(&RoundTotal) -> f64| side.rounds.values().map(of).sum::<f64>();
    let most = (1.0 + AHEAD) * offered;
    let whole_s = sum(|round| round.window_s) + sum(|round| round.discarded_s);
    (side.achieved(offered)? > 1.0 + AHEAD).then(|| sum(|round| round.all_ios) <= most * whole_s)
}

type ChargeEstimate = (ChargeFinding, Option<EstimatedRatio>);

struct ChargedPair<'a> {
    reading: &'a WorkloadView<'a>,
    base: usize,
    at: usize,
    emulated: bool,
    /// Reason why the slices of the workload's own load allow no verdict on any figure.
    spoilt: Option<Refusal>,
}

impl ChargedPair<'_> {
    fn latency(
        &self,
        load: Result<&CommonLoad, &Refusal>,
        way: Option<IoDirection>,
    ) -> ChargeEstimate {
        let what = way.map(|way| format!("{} ", way.word())).unwrap_or_default();
        let load = match load {
            Ok(load) => load,
            Err(reason) => {
                let kind = self.reading.workload.kind_subject();
                return self.refused_estimate(
                    format!("the mean {what}latency of {kind} at a matched rate"),
                    reason,
                );
            }
        };
        let without = WorkloadView::without_lost_places(load.sides(), [self.base, self.at]);
        let subject = format!("the mean {what}latency of {}{without}", at_load(self.reading, load));
        let [a, b] = [self.base, self.at].map(|at| &load.sides()[at]);
        let regime = || self.reading.writes.regime_refusal().cloned();
        if let Some(reason) = self
            .load_refusal(load)
            .or_else(|| conservation::refusal(self.reading, [self.base, self.at]))
            .or_else(|| {
                directions::absent_direction(self.reading, [self.base, self.at], way?, load.sides())
            })
            .or_else(regime)
            .or_else(|| self.reading.unlike_clocks([self.base, self.at]))
            .or_else(|| not_kept_up(self.reading, [self.base, self.at], load))
        {
            return self.refused_estimate(subject, &reason);
        }
        let taken =
            AddedPerIo::between_stacks(a, b, &self.reading.pair(a, b), directions::wait_total(way));
        let verdict: Charge = EstimatedRatio::conclude_estimate(&taken.ratio, self.reading.zone());
        let phrase = verdict.phrase_about(&subject);
        self.finding(subject, verdict, phrase, &taken)
    }

    fn cpu(&self) -> ChargeEstimate {
        let without = WorkloadView::without_lost_places(&self.reading.sides, [self.base, self.at]);
        let subject = format!("{}{without}", self.reading.workload.subject());
        let quantity = format!("{CPU_PER_IO}{subject}");
        let [a, b] = [self.base, self.at].map(|at| &self.reading.sides[at]);
        let absent =
            [self.base, self.at].into_iter().find(|at| self.reading.sides[*at].rounds.is_empty());
        let reason = absent.map(|at| self.reading.not_measured(at));
        let lacking = || {
            let pair = [self.base, self.at];
            conservation::refusal(self.reading, pair)
                .or_else(|| self.reading.cpu_incomparable(pair))
        };
        let regime = || self.reading.writes.regime_refusal().cloned();
        if let Some(reason) =
            reason.or_else(lacking).or_else(regime).or_else(|| self.spoilt.clone())
        {
            return self.refused_estimate(quantity, &reason);
        }
        let taken = AddedPerIo::between_stacks(a, b, &self.reading.pair(a, b), cpu);
        let verdict: Charge = EstimatedRatio::conclude_estimate(&taken.ratio, self.reading.zone());
        let ratio = taken.ratio_figure().value();
        let phrase = verdict.about_cpu(taken.difference.as_ref().ok(), ratio, &subject);
        self.finding(quantity, verdict, phrase, &taken)
    }

    /// Returns the refusal if one of the stacks has no whole round of the matched load.
    fn load_refusal(&self, load: &CommonLoad) -> Option<Refusal> {
        let lacking =
            [self.base, self.at].into_iter().find(|at| load.sides()[*at].rounds.is_empty())?;
        let reason = format!("{}: no whole round at the matched rate", self.reading.name(lacking));
        Some(Refusal::NotMeasured { reason })
    }

    fn refused_estimate(&self, subject: String, reason: &Refusal) -> ChargeEstimate {
        let verdict = Charge::from_refusal(reason.clone());
        let phrase = match reason {
            Refusal::NotMeasured { reason } => {
                Phrase::default().with_words(format!("{subject}: not measured: {reason}"))
            }
            _ => verdict.phrase_about(&subject),
        };
        self.finding(subject, verdict, phrase, &AddedPerIo::from_refusal(reason))
    }

    fn finding(
        &self,
        quantity: String,
        verdict: Charge,
        phrase: Phrase,
        taken: &AddedPerIo,
    ) -> ChargeEstimate {
        let who = comparison_subject(
            self.reading.name(self.at),
            self.reading.name(self.base),
            self.emulated,
        );
        let effort = MeasuredEffort::from_reading(self.reading);
        let remedy = verdict.reason().and_then(|reason| effort.remedy(reason));
        let mut found = ChargeFinding {
            sentence: String::new(),
            phrase: Phrase::default(),
            ratio: taken.ratio_figure(),
            difference: taken.added(),
            quantity,
            verdict,
            remedy: None,
        };
        found.put_into_words(&who, phrase, remedy);
        (found, taken.ratio.as_ref().ok().copied())
    }
}

/// Returns the CPU time of a round in ns, and all I/Os that it was for; `None` if it was not
/// recorded.
pub fn cpu(round: &RoundTotal) -> Option<Total> {
    round.cpu_ns.map(|sum| Total { sum, items: round.all_ios })
}

fn not_kept_up(reading: &WorkloadView, pair: [usize; 2], load: &CommonLoad) -> Option<Refusal> {
    let rate = load.offered_rate()?;
    let late = |(which, at): (usize, usize)| {
        let side = &load.sides()[at];
        let is_late = side.kept_up(rate, reading.schedules(at)) == Some(false);
        let share = side.achieved(rate).filter(|_| is_late)?;
        Some(Refusal::NotKeptUp { of_baseline: which == 0, share })
    };
    pair.into_iter().enumerate().find_map(late)
}

/// Returns the ratios of latency percentiles. There are none if a stack did not keep up, since its
/// latencies then grow during a slice, or if the stacks' clocks differ.
fn percentiles(
    reading: &WorkloadView,
    load: &CommonLoad,
    base: usize,
    at: usize,
) -> Vec<(&'static str, f64, MeasuredFigure)> {
    let (a, b) = (&load.sides()[base], &load.sides()[at]);
    if not_kept_up(reading, [base, at], load).is_some()
        || reading.unlike_clocks([base, at]).is_some()
    {
        return Vec::new();
    }
    let paired = reading.pair(a, b);
    tails::ratios(reading, [a, b], &paired)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_may_make_up_for_the_start_before_it_and_for_no_more() {
        let told = |ios: f64, discarded: f64| {
            let mut round = RoundTotal::default();
            (round.window_s, round.discarded_s) = (0.05, 0.005);
            (round.ios, round.all_ios) = (ios, ios + discarded);
            let mut side = StackSide::default();
            side.rounds.insert((0, 0), round);
            caught_up(&side, 1000.0)
        };
        assert_eq!([told(50.0, 5.0), told(50.2, 4.8), told(48.0, 7.0)], [None; 3]);
        assert_eq!(told(52.0, 3.0), Some(true));
        assert_eq!(told(55.0, 5.0), Some(false), "more than was offered from the start on");
    }
}

//! Throughput of each stack against the baseline, and the effect of many simultaneous comparisons.

use crate::ceilings::at_limit;
use crate::ceilings::masking;
use crate::compare::charges;
use crate::compare::directions;
use crate::compare::ratio::{EstimatedRatio, RateComparison, over_attaches};
use crate::compare::remedy::{MeasuredEffort, resumable, settle_words};
use crate::compare::tails;
use crate::findings::{
    ChargeFinding, Charges, Comparison, ComparisonRole, Interval, MeasuredFigure, RateFinding,
    WorkloadFindings,
};
use crate::gather::pairing::RoundBasis;
use crate::gather::reading::WorkloadView;
use crate::gather::subject;
use crate::gather::subject::{Quantity, comparison_subject};
use iotax_stats::family::{self, Family};
use iotax_stats::{Concludes, RatioChange, Refusal};
use iotax_store::RunData;

pub struct ComparedPair {
    pub comparison: Comparison,
    pub estimated: Option<EstimatedRatio>,
    pub directions: Vec<Option<EstimatedRatio>>,
}

/// Compares the rates of the second stack with those of the first, which is the baseline or the
/// same array as it was set up: the acknowledged rate and, if the load writes, the durable one.
pub fn of_pair(reading: &WorkloadView, pair: [usize; 2]) -> Vec<ComparedPair> {
    let quantities: &[Quantity] = match reading.workload.writes() {
        true => &[Quantity::Acknowledged, Quantity::Durable],
        false => &[Quantity::Acknowledged],
    };
    quantities.iter().map(|which| compared(reading, pair, *which)).collect()
}

fn compared(reading: &WorkloadView, [base, at]: [usize; 2], which: Quantity) -> ComparedPair {
    let (a, b) = (&reading.sides[base], &reading.sides[at]);
    let paired = reading.pair(a, b);
    let incomparable = reading.incomparable([base, at]);
    let found = match &incomparable {
        Some(reason) => RateComparison::from_refusal(reason.clone()),
        None => RateComparison::estimate(
            reading,
            [base, at],
            &paired,
            RoundBasis { quantity: which, ..reading.basis() },
        ),
    };
    let verdict = reading.writes.verdict(found.verdict.clone(), which, [base, at]);
    let verdict = at_limit::withheld_at_limit(
        reading,
        [base, at],
        verdict,
        found.estimated.as_ref().ok().map(EstimatedRatio::ratio_change),
    );
    let scenario = &reading.run.start.scenario;
    let role = match () {
        () if scenario.is_same(base, at) => ComparisonRole::Same,
        () if scenario.ruler() == Some(at) => ComparisonRole::Generator,
        () => ComparisonRole::Stack,
    };
    let limited = matches!(verdict.reason(), Some(Refusal::AtLimit { .. }));
    let whole = if limited { &verdict } else { &found.verdict };
    let whole = incomparable.as_ref().map_or(Ok(whole), Err);
    let directions = directions::of_pair(reading, [base, at], &paired, which, whole);
    let ratios: Vec<&MeasuredFigure> =
        directions.iter().map(|one| &one.direction.rate.ratio).collect();
    let says_directions =
        directions::are_apart(&ratios) || directions::are_asked(reading, Some(which));
    let (directions, of_directions) =
        directions.into_iter().map(|one| (one.direction, one.estimated)).unzip();
    let quantity = subject::quantity(reading.workload, which, Some(scenario.measure.regime), None)
        + &WorkloadView::without_lost_places(&reading.sides, [base, at]);
    let has_latencies = reading.own_clocks_unlike([base, at]).is_none();
    let comparison = Comparison {
        role,
        stack: reading.name(at).to_owned(),
        against: reading.name(base).to_owned(),
        of_write: reading.workload.writes().then_some(which),
        masked: masking::of_pair(reading, [base, at], &verdict),
        rate: RateFinding::new(quantity, verdict, found.rate_ratio_figure()),
        checks: found.checks,
        measured_s: a.load_s + b.load_s,
        latency_ratios: match has_latencies {
            true => tails::ratios(reading, [a, b], &paired),
            false => Vec::new(),
        },
        tails: match has_latencies && which == Quantity::Acknowledged {
            true => tails::tail_findings(reading, [base, at], &paired),
            false => Vec::new(),
        },
        directions,
        says_directions,
        emulated: reading.emulated_pair(base, at),
    };
    ComparedPair { comparison, estimated: found.estimated.ok(), directions: of_directions }
}

/// Returns the number of throughput comparisons that are judged together. They include the lines of
/// a bill that are not comparisons with the baseline, and the states of an array against the
/// healthy array: readers read them like the others.
pub fn judged_together(
    estimates: &[Vec<Option<EstimatedRatio>>],
    bills: &[Vec<Option<EstimatedRatio>>],
) -> usize {
    estimates.iter().flatten().flatten().count()
        + bills.iter().flat_map(|bill| own_lines(bill)).flatten().count()
}

/// Gives all throughput verdicts of a run the intervals that hold for all of them at once
/// (Bonferroni), and verdicts that agree with these. For each workload, `estimates` has those of
/// all comparisons, then of the states, and `bills` those of the lines and the total of its bill.
pub fn settle_throughput(
    workloads: &mut [WorkloadFindings],
    estimates: &[Vec<Option<EstimatedRatio>>],
    bills: &[Vec<Option<EstimatedRatio>>],
    family: Family,
    zone: f64,
) {
    for ((workload, estimates), bill_estimates) in workloads.iter_mut().zip(estimates).zip(bills) {
        let (all, bill) = workload.jointly_judged();
        for (one, estimated) in all.zip(estimates) {
            let Some(estimated) = estimated else { continue };
            conclude_rate(&mut one.rate, estimated, family, zone);
        }
        let lines =
            bill.into_iter().flat_map(|bill| bill.lines.iter_mut().chain([&mut bill.total]));
        for (line, estimated) in lines.zip(bill_estimates) {
            let Some(estimated) = estimated else { continue };
            line.ratio = line.ratio.with_interval(Some(&estimated.simultaneous(family)));
            line.of_baseline =
                line.of_baseline.stretched(family::stretch(family, estimated.log().freedom));
            let held =
                at_once(line.verdict.reason(), line.verdict.change(), estimated, family, zone);
            line.verdict = held.unwrap_or_else(|| line.verdict.clone());
        }
    }
}

/// Returns the estimates of the lines of a bill that are not comparisons with the baseline: all but
/// the first and the total.
fn own_lines<T>(bill: &[T]) -> &[T] {
    bill.get(1..bill.len().saturating_sub(1)).unwrap_or_default()
}

/// Gives a rate the interval that holds for its whole family at once, and a verdict that agrees
/// with it. A conclusion that was withheld for another reason stays withheld.
pub fn conclude_rate(
    rate: &mut RateFinding,
    estimated: &EstimatedRatio,
    family: Family,
    zone: f64,
) {
    rate.simultaneous = Some(estimated.simultaneous(family));
    if let Some(held) =
        at_once(rate.verdict.reason(), rate.verdict.change(), estimated, family, zone)
    {
        rate.verdict = held;
    }
}

/// Returns the conclusion by the interval that holds for the whole family at once, so that it never
/// contradicts the printed interval. `reason` and `change` are of the conclusion by the individual
/// interval: a reason other than its width stays. `None` if nothing changes.
pub fn at_once<C: Concludes>(
    reason: Option<&Refusal>,
    change: Option<RatioChange>,
    estimated: &EstimatedRatio,
    family: Family,
    zone: f64,
) -> Option<C> {
    let Interval::Bounds { low, high, .. } = estimated.simultaneous(family) else { return None };
    let ratio = 1.0 + estimated.ratio_change().value;
    let is_wide = low <= 1.0 && high >= 1.0 && (1.0 - low).max(high - 1.0) > zone;
    let held = RatioChange::of_ratio(ratio, low, high);
    match reason {
        None if is_wide => Some(C::unresolved(held, Refusal::AmongMany { many: family.many })),
        None | Some(Refusal::TooWide { .. }) => Some(C::of_interval(ratio, low, high, zone)),
        Some(reason) => change.map(|_| C::unresolved(held, reason.clone())),
    }
}

/// Gives the charges that `pick` returns the intervals that hold for all of them at once, and
/// verdicts that agree with these. `estimates` has one for each charge, in the same order.
pub fn settle_charges(
    workloads: &mut [WorkloadFindings],
    estimates: &[Option<EstimatedRatio>],
    family: Family,
    zone: f64,
    pick: fn(&mut Charges) -> Vec<&mut ChargeFinding>,
) {
    let all = workloads.iter_mut().flat_map(WorkloadFindings::charged).flat_map(|charges| {
        let who = comparison_subject(&charges.stack, &charges.against, charges.emulated.is_some());
        pick(charges).into_iter().map(move |one| (who.clone(), one))
    });
    for ((who, one), found) in all.zip(estimates) {
        let Some(found) = found else { continue };
        charges::conclude_charge(one, &who, found, family, zone);
    }
}

/// Gives the CPU times of a bill's first line and of its total the intervals of the same
/// comparisons with the baseline.
pub fn same_in_the_bill(workload: &mut WorkloadFindings) {
    let Some(bill) = &mut workload.bill else { return };
    let last = bill.lines.last().map(|line| line.layer.clone());
    let first = bill.lines.first_mut().map(|line| (line.layer.clone(), line));
    for (layer, line) in first.into_iter().chain(last.map(|layer| (layer, &mut bill.total))) {
        if let Some(same) = workload.charges.iter().find(|one| one.stack == layer) {
            line.added_cpu = same.cpu.difference.clone();
        }
    }
}

/// Puts the verdicts about all I/Os, and about each direction, into words. A ceiling that masks the
/// whole load also masks its directions.
pub fn say(run: &RunData, workloads: &mut [WorkloadFindings]) {
    let measure = &run.start.scenario.measure;
    for workload in workloads {
        let slice_ns = workload.design.as_ref().map(|design| design.slice_ns);
        let (ended, loads) = (workload.ended.clone(), run.start.scenario.workloads.len());
        let effort = MeasuredEffort { measure, slice_ns, ended, loads, resumes: resumable(run) };
        for comparison in workload.jointly_judged().0 {
            let who = comparison_subject(
                &comparison.stack,
                &comparison.against,
                comparison.emulated.is_some(),
            );
            let masked = comparison.masked.as_ref().map(|masked| format!("; {}", masked.words));
            let masked = masked.unwrap_or_default();
            for one in comparison.rates_mut() {
                one.remedy = one.verdict.reason().and_then(|reason| effort.remedy(reason));
                let over = over_attaches(&one.ratio);
                let settle = one.remedy.as_deref().map(settle_words).unwrap_or_default();
                one.phrase = one
                    .verdict
                    .phrase_about(&one.quantity)
                    .with_words(over)
                    .with_words(&masked)
                    .with_words(settle);
                one.sentence = format!("{who}: {}", one.phrase);
            }
        }
    }
}

/// Returns the number of a run's throughput comparisons with an interval, with the lines of bills
/// except the first, which repeats a comparison.
pub fn simultaneous_comparisons(workloads: &[WorkloadFindings]) -> usize {
    let comparisons = workloads.iter().flat_map(WorkloadFindings::all_comparisons);
    let lines = workloads
        .iter()
        .flat_map(|workload| &workload.bill)
        .flat_map(|bill| bill.lines.iter().skip(1));
    let known = comparisons.filter(|one| one.rate.simultaneous.is_some()).count();
    known + lines.filter(|line| line.ratio.bounds().is_some()).count()
}

//! Throughput of each stack against the baseline, and what many comparisons at once leave of it.

use super::at_limit;
use super::ceiling;
use super::charges;
use super::compare::{Estimated, RateComparison, over_attaches};
use super::directions;
use super::findings::{ChargeFinding, Charges, Comparison, Figure, RateFinding, Role, WorkloadFindings};
use super::pairing::Basis;
use super::reading::WorkloadView;
use super::remedy::{Effort, resumable, settle_words};
use super::subject::{self, Quantity, who};
use iotax_stats::family::holm;
use iotax_stats::{Concludes, Refusal, Verdict};
use iotax_store::RunData;

/// One comparison with the estimate behind it.
pub struct Compared {
    /// As it is found by itself.
    pub comparison: Comparison,
    /// `None`: nothing to estimate.
    pub estimated: Option<Estimated>,
    /// Of reads and writes apart.
    pub directions: Vec<Option<Estimated>>,
}

/// The second stack against the first, which is the baseline or the same array as it was set up: reads have one quantity,
/// writes two.
pub fn of_pair(reading: &WorkloadView, pair: [usize; 2]) -> Vec<Compared> {
    let quantities: &[Quantity] = match reading.workload.writes() {
        true => &[Quantity::Acknowledged, Quantity::Durable],
        false => &[Quantity::Acknowledged],
    };
    quantities.iter().map(|which| compared(reading, pair, *which)).collect()
}

fn compared(reading: &WorkloadView, [base, at]: [usize; 2], which: Quantity) -> Compared {
    let (a, b) = (&reading.sides[base], &reading.sides[at]);
    let paired = reading.pair(a, b);
    let incomparable = reading.incomparable([base, at]);
    let found = match &incomparable {
        Some(reason) => RateComparison::refused(reason.clone()),
        None => {
            RateComparison::of(reading, [base, at], &paired, Basis { quantity: which, ..reading.basis() })
        }
    };
    let verdict = reading.writes.verdict(found.verdict.clone(), which, [base, at]);
    let verdict = at_limit::withheld(
        reading,
        [base, at],
        verdict,
        found.estimated.as_ref().ok().map(Estimated::change),
    );
    let scenario = &reading.run.start.scenario;
    let role = match () {
        () if scenario.is_same(base, at) => Role::Same,
        () if scenario.ruler() == Some(at) => Role::Generator,
        () => Role::Stack,
    };
    let limited = matches!(verdict.reason(), Some(Refusal::AtLimit { .. }));
    let whole = if limited { &verdict } else { &found.verdict };
    let whole = incomparable.as_ref().map_or(Ok(whole), Err);
    let directions = directions::of_pair(reading, [base, at], &paired, which, whole);
    let ratios: Vec<&Figure> = directions.iter().map(|one| &one.direction.rate.ratio).collect();
    let says_directions = directions::are_apart(&ratios) || directions::are_asked(reading, Some(which));
    let (directions, of_directions) =
        directions.into_iter().map(|one| (one.direction, one.estimated)).unzip();
    let quantity = subject::quantity(reading.workload, which, Some(scenario.measure.regime), None)
        + &WorkloadView::without(&reading.sides, [base, at]);
    let comparison = Comparison {
        role,
        stack: reading.name(at).to_owned(),
        against: reading.name(base).to_owned(),
        of_write: reading.workload.writes().then_some(which),
        masked: ceiling::of_pair(reading, [base, at], &verdict),
        rate: RateFinding::new(quantity, verdict, found.figure()),
        checks: found.checks,
        measured_s: a.load_s + b.load_s,
        latency_ratios: match reading.own_clocks_unlike([base, at]) {
            Some(_) => Vec::new(),
            None => charges::ratios(reading, [a, b], &paired),
        },
        directions,
        says_directions,
        emulated: reading.emulated_pair(base, at),
    };
    Compared { comparison, estimated: found.estimated.ok(), directions: of_directions }
}

/// Holds all verdicts of throughput of a run against each other (Holm), and gives each the interval that holds with all
/// others. Lines of a bill that are no comparison with the baseline take part, and so do states of
/// an array against its healthy one: they are read like the others. `estimates` are those of all comparisons, states
/// behind the rest, `lines` those of the bills' lines, workload by workload.
pub fn settle(
    workloads: &mut [WorkloadFindings],
    estimates: &[Vec<Option<Estimated>>],
    lines: &[Vec<Option<Estimated>>],
) {
    let mut members: Vec<(f64, &mut Verdict)> = Vec::new();
    let known = estimates.iter().flatten().chain(lines.iter().flat_map(|bill| bill.iter().skip(1))).flatten();
    let many = known.count();
    for ((workload, estimates), lines) in workloads.iter_mut().zip(estimates).zip(lines) {
        let (all, bill) = workload.judged();
        for (one, estimated) in all.zip(estimates) {
            let Some(estimated) = estimated else { continue };
            one.rate.simultaneous = Some(estimated.simultaneous(many));
            members.push((estimated.log().p_zero(), &mut one.rate.verdict));
        }
        // The first line is the first comparison.
        let bill = bill.into_iter().flat_map(|bill| &mut bill.lines).zip(lines).skip(1);
        members.extend(
            bill.filter_map(|(line, found)| Some((found.as_ref()?.log().p_zero(), &mut line.verdict))),
        );
    }
    let sure = holm(&members.iter().map(|(p, _)| *p).collect::<Vec<_>>());
    // A family of one is told by its own interval.
    members
        .into_iter()
        .zip(sure)
        .filter(|(_, sure)| many > 1 && !sure)
        .for_each(|((_, verdict), _)| unsettle(verdict, many));
    workloads.iter_mut().for_each(same_in_the_bill);
}

/// The same of latencies, of those of reads and writes apart, or of CPU times: each is a family of its own, as they stand in a column
/// of their own.
pub fn settle_charges(
    workloads: &mut [WorkloadFindings],
    estimates: &[Option<Estimated>],
    pick: fn(&mut Charges) -> Vec<&mut ChargeFinding>,
) {
    let all = workloads.iter_mut().flat_map(WorkloadFindings::charged).flat_map(|charges| {
        let who = who(&charges.stack, &charges.against, charges.emulated.is_some());
        pick(charges).into_iter().map(move |one| (who.clone(), one))
    });
    let known = all.zip(estimates).filter_map(|(one, found)| Some((one, found.as_ref()?.log().p_zero())));
    let known: Vec<((String, &mut ChargeFinding), f64)> = known.collect();
    let many = known.len();
    let sure = holm(&known.iter().map(|(_, p)| *p).collect::<Vec<_>>());
    let unsure = known.into_iter().zip(sure).filter(|(_, sure)| many > 1 && !sure);
    unsure.for_each(|(((who, one), _), _)| charges::unsettle(one, &who, many));
}

/// A difference that chance makes too often among so many.
fn unsettle(verdict: &mut Verdict, many: usize) {
    if let Some(change) = verdict.change().filter(|_| verdict.is_resolved()) {
        *verdict = Verdict::unresolved(change, Refusal::AmongMany { many });
    }
}

/// A line that is a comparison with the baseline says what that says.
fn same_in_the_bill(workload: &mut WorkloadFindings) {
    let Some(bill) = &mut workload.bill else { return };
    let last = bill.lines.last().map(|line| line.layer.clone());
    let first = bill.lines.first_mut().map(|line| (line.layer.clone(), line));
    let ends = first.into_iter().chain(last.map(|layer| (layer, &mut bill.total)));
    for (layer, line) in ends {
        let same = workload.comparisons.iter().find(|one| one.stack == layer);
        if let Some(Verdict::Unresolved { reason: Refusal::AmongMany { many }, .. }) =
            same.map(|one| &one.rate.verdict)
        {
            unsettle(&mut line.verdict, *many);
        }
    }
}

/// Puts what is concluded of all I/Os and of each direction of them into words: what masks the whole masks its parts.
pub fn say(run: &RunData, workloads: &mut [WorkloadFindings]) {
    let measure = &run.start.scenario.measure;
    for workload in workloads {
        let slice_ns = workload.design.as_ref().map(|design| design.slice_ns);
        let effort = Effort { measure, slice_ns, ended: workload.ended.clone(), resumes: resumable(run) };
        for comparison in workload.judged().0 {
            let who = who(&comparison.stack, &comparison.against, comparison.emulated.is_some());
            let masked = comparison.masked.as_ref().map(|masked| format!("; {}", masked.words));
            let masked = masked.unwrap_or_default();
            for one in comparison.rates_mut() {
                one.remedy = one.verdict.reason().and_then(|reason| effort.remedy(reason));
                let over = over_attaches(&one.ratio);
                let settle = one.remedy.as_deref().map(settle_words).unwrap_or_default();
                one.phrase = one.verdict.about(&one.quantity).words(over).words(&masked).words(settle);
                one.sentence = format!("{who}: {}", one.phrase);
            }
        }
    }
}

/// How many comparisons of throughput with an interval a run has.
pub fn many(workloads: &[WorkloadFindings]) -> usize {
    let comparisons = workloads.iter().flat_map(WorkloadFindings::all_comparisons);
    let lines =
        workloads.iter().flat_map(|workload| &workload.bill).flat_map(|bill| bill.lines.iter().skip(1));
    let known = comparisons.filter(|one| one.rate.simultaneous.is_some()).count();
    known + lines.filter(|line| line.ratio.bounds().is_some()).count()
}

//! Bill of a stack: each prefix against the one below it, the total, and what the lines leave
//! unexplained. The ratios of the lines multiply to that of the total. A missing prefix makes its
//! line and the next one missing, never 1 or 0.

use crate::ceilings::masking;
use crate::compare::charges::cpu;
use crate::compare::directions;
use crate::compare::ratio::{
    AddedPerIo, EstimatedRatio, ONLY_AT_ONE, RateComparison, rates, round_values,
};
use crate::findings::{
    Bill, BillDirection, BillLine, Interval, JointBill, MeasuredFigure, SampleUnit,
    WorkloadFindings,
};
use crate::gather::pairing::PairedUnits;
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::{RoundId, RoundTotal, StackSide};
use crate::gather::subject::Quantity;
use crate::validity::conservation;
use iotax_load::Job;
use iotax_model::scenario::last_layer_name;
use iotax_model::scenario::{BILL_DEPTHS, Workload};
use iotax_stats::ratio;
use iotax_stats::spread::MeanSpread;
use iotax_stats::{Concludes, Refusal, Verdict, visits};

/// Returns the bill of one workload, and the estimates of its lines, bottom first, and of its
/// total. `None` is an estimate that is missing.
pub fn bill(reading: &WorkloadView) -> (Bill, Vec<Option<EstimatedRatio>>) {
    let usable = usable_prefixes(reading);
    let common = common_rounds(reading, &usable);
    let last = reading.sides.len() - 1;
    let measured: Vec<PrefixLine> =
        (1..=last).map(|at| prefix_line(reading, &usable, &common, at - 1, at)).collect();
    let total = prefix_line(reading, &usable, &common, 0, last);
    let unexplained = unexplained(reading, &total, &measured);
    let estimates = measured.iter().chain([&total]).map(|line| line.estimated).collect();
    let lines = measured.into_iter().map(|line| line.shown).collect();
    (
        Bill { lines, total: BillLine { layer: "total".into(), ..total.shown }, unexplained },
        estimates,
    )
}

/// Returns a bill for each workload at depth 1 that has a deeper one with the same jobs: added
/// latencies are from depth 1, rates and CPU times from the deepest.
pub fn joint(workloads: &[Workload], found: &[WorkloadFindings]) -> Vec<JointBill> {
    let sole = matches!(workloads, [one, two] if is_default(one, BILL_DEPTHS[0]) && is_default(two, BILL_DEPTHS[1]));
    let shallow = workloads.iter().zip(found).filter(|(workload, _)| depth(workload) == 1);
    let joined = |(one, shallow): (&Workload, &WorkloadFindings)| {
        let alike = workloads
            .iter()
            .zip(found)
            .filter(|(other, _)| jobs_without_depth(other) == jobs_without_depth(one));
        let (deepest, deep) = alike.max_by_key(|(other, _)| depth(other))?;
        let (from, to) = (shallow.bill.as_ref()?, deep.bill.as_ref()?);
        let subject = format!(
            "{}: microseconds at iodepth 1, rate and CPU at iodepth {}",
            one.kind_subject(),
            depth(deepest)
        );
        let names = (shallow.name.clone(), deep.name.clone());
        (depth(deepest) > 1).then(|| JointBill {
            subject,
            shallow: names.0,
            deep: names.1,
            sole,
            bill: both(from, to),
        })
    };
    shallow.filter_map(joined).collect()
}

fn both(shallow: &Bill, deep: &Bill) -> Bill {
    let of_direction = |(to, from): (&BillDirection, &BillDirection)| BillDirection {
        added_latency: from.added_latency.clone(),
        ..to.clone()
    };
    let one = |from: &BillLine, to: &BillLine| BillLine {
        added_latency: from.added_latency.clone(),
        directions: to.directions.iter().zip(&from.directions).map(of_direction).collect(),
        ..to.clone()
    };
    Bill {
        lines: shallow.lines.iter().zip(&deep.lines).map(|(from, to)| one(from, to)).collect(),
        total: one(&shallow.total, &deep.total),
        unexplained: one(&shallow.unexplained, &deep.unexplained),
    }
}

fn depth(workload: &Workload) -> u32 {
    workload.jobs.iter().map(|job| job.iodepth).max().unwrap_or(0)
}

/// Returns the jobs without names and with one I/O in flight, so that loads compare equal that
/// differ only in depth.
fn jobs_without_depth(workload: &Workload) -> Vec<Job> {
    workload
        .jobs
        .iter()
        .map(|job| Job { name: String::new(), iodepth: 1, numjobs: 1, ..job.clone() })
        .collect()
}

/// Returns true for the load that `--bill` measures at this depth if the user names none. Its size
/// does not matter.
fn is_default(workload: &Workload, iodepth: u32) -> bool {
    let default = Job { iodepth, ..Job::default() };
    let sized = |job: &Job| Job { name: String::new(), size: None, ..job.clone() };
    workload.sweep.is_none()
        && matches!(workload.jobs.as_slice(), [job] if sized(job) == sized(&default))
}

struct PrefixLine {
    shown: BillLine,
    estimated: Option<EstimatedRatio>,
    residuals: Option<Vec<f64>>,
}

/// Returns for each prefix whether it is usable. One that stopped early would cost all others their
/// rounds, so it is not if it has less than half of the most rounds of any.
fn usable_prefixes(reading: &WorkloadView) -> Vec<bool> {
    let most = reading.sides.iter().map(|side| side.rounds.len()).max().unwrap_or(0);
    reading
        .sides
        .iter()
        .map(|side| !side.rounds.is_empty() && side.rounds.len() * 2 >= most)
        .collect()
}

/// Returns the rounds in which every usable prefix was measured; empty if there are enough visits
/// to serve as the statistical unit.
fn common_rounds(reading: &WorkloadView, usable: &[bool]) -> Vec<RoundId> {
    let sides: Vec<&StackSide> = reading
        .sides
        .iter()
        .zip(usable)
        .filter(|(_, usable)| **usable)
        .map(|(side, _)| side)
        .collect();
    let Some((first, others)) = sides.split_first() else {
        return Vec::new();
    };
    let shared = |id: &&RoundId| others.iter().all(|side| side.rounds.contains_key(*id));
    let common: Vec<RoundId> = first.rounds.keys().filter(shared).copied().collect();
    let mut visits: Vec<u32> = common.iter().map(|id| id.0).collect();
    visits.dedup();
    let attaches = reading.run.start.scenario.measure.attaches as usize;
    let least =
        if attaches >= visits::LEAST_ATTACHES { visits::LEAST_ATTACHES } else { visits::LEAST };
    if visits.len() >= least { Vec::new() } else { common }
}

fn prefix_line(
    reading: &WorkloadView,
    usable: &[bool],
    common: &[RoundId],
    from: usize,
    to: usize,
) -> PrefixLine {
    match (usable[to], usable[from]) {
        (false, _) => return absent_line(reading, from, to, reading.absence(to)),
        (_, false) => {
            let reason = format!("{} below it was not measured", reading.name(from));
            return absent_line(reading, from, to, MeasuredFigure::missing(reason));
        }
        _ => {}
    }
    if let Some(reason) = conservation::refusal(reading, [from, to]) {
        return absent_line(reading, from, to, MeasuredFigure::missing(reason.to_string()));
    }
    let (a, b) = (&reading.sides[from], &reading.sides[to]);
    let paired =
        if common.is_empty() { reading.pair(a, b) } else { PairedUnits::Rounds(common.to_vec()) };
    let found = RateComparison::estimate(reading, [from, to], &paired, reading.basis());
    let verdict = reading.writes.verdict(found.verdict.clone(), Quantity::Acknowledged, [from, to]);
    let taken = match reading.cpu_incomparable([from, to]) {
        Some(reason) => AddedPerIo::from_refusal(&reason),
        None => AddedPerIo::between_stacks(a, b, &paired, cpu),
    };
    let shown = BillLine {
        layer: last_layer_name(&reading.run.start.scenario.stacks[to]),
        on: reading.name(from).to_owned(),
        ratio: found.rate_ratio_figure(),
        masked: masking::of_pair(reading, [from, to], &verdict),
        verdict,
        of_baseline: of_baseline(reading, [from, to], common),
        added_latency: match reading.own_clocks_unlike([from, to]) {
            Some(reason) => MeasuredFigure::missing(reason),
            None => added_latency(reading, [from, to], &paired),
        },
        directions: directions::of_line(reading, [from, to], &paired, reading.is_deep()),
        added_cpu: taken.added(),
        emulated: reading.emulated_pair(from, to),
    };
    PrefixLine {
        shown,
        estimated: found.estimated.ok(),
        residuals: residuals(reading, a, b, &paired),
    }
}

fn absent_line(
    reading: &WorkloadView,
    from: usize,
    to: usize,
    figure: MeasuredFigure,
) -> PrefixLine {
    let reason = match &figure {
        MeasuredFigure::Failed { reason } | MeasuredFigure::Missing { reason } => reason.clone(),
        MeasuredFigure::Known { .. } => String::new(),
    };
    let shown = BillLine {
        layer: last_layer_name(&reading.run.start.scenario.stacks[to]),
        on: reading.name(from).to_owned(),
        ratio: figure.clone(),
        of_baseline: figure.clone(),
        verdict: Verdict::from_refusal(Refusal::NotMeasured { reason }),
        masked: None,
        added_latency: figure.clone(),
        directions: Vec::new(),
        added_cpu: figure,
        emulated: None,
    };
    PrefixLine { shown, estimated: None, residuals: None }
}

/// Returns the mean latency that prefix `to` adds to prefix `from`. At depth 1 the load itself
/// shows it; at another depth a second load with one I/O at a time does, if there is one.
fn added_latency(
    reading: &WorkloadView,
    [from, to]: [usize; 2],
    paired: &PairedUnits,
) -> MeasuredFigure {
    let apart =
        reading.matched_load().ok().filter(|load| !load.is_own() && load.offered_rate().is_none());
    match apart {
        Some(load) => {
            let (a, b) = (&load.sides()[from], &load.sides()[to]);
            AddedPerIo::between_stacks(a, b, &reading.pair(a, b), RoundTotal::latency_total).added()
        }
        None if reading.is_deep() => MeasuredFigure::missing(ONLY_AT_ONE),
        None => AddedPerIo::between_stacks(
            &reading.sides[from],
            &reading.sides[to],
            paired,
            RoundTotal::latency_total,
        )
        .added(),
    }
}

/// Returns the rate of prefix `to` less that of prefix `from`, as a share of the baseline's rate,
/// plus 1. It is of rounds that all prefixes share.
fn of_baseline(
    reading: &WorkloadView,
    [from, to]: [usize; 2],
    common: &[RoundId],
) -> MeasuredFigure {
    if common.is_empty() {
        return MeasuredFigure::missing("only where all stacks are up together");
    }
    let sides = [0, from, to].map(|at| &reading.sides[at]);
    let strata = sides[0].strata.split(common).into_iter();
    let rates: Result<Vec<_>, Refusal> =
        strata.map(|ids| rates(sides, &ids, reading.basis())).collect();
    match rates.and_then(|rates| ratio::share_of_base(&rates)) {
        Ok(found) => {
            let share = 1.0 + found.value;
            let interval =
                Interval::from_bounds(share - found.half_width, share + found.half_width);
            MeasuredFigure::known_value(
                share,
                "1",
                (found.rounds as u64, SampleUnit::Rounds),
                interval,
            )
        }
        Err(reason) => MeasuredFigure::missing(reason.to_string()),
    }
}

fn residuals(
    reading: &WorkloadView,
    a: &StackSide,
    b: &StackSide,
    paired: &PairedUnits,
) -> Option<Vec<f64>> {
    let PairedUnits::Rounds(ids) = paired else {
        return None;
    };
    // Each stratum has its own, as in the ratio of the line.
    let stratum = |ids: Vec<RoundId>| {
        let values = round_values(a, b, &ids, reading.basis()).ok()?;
        let ratio = ratio::ratio_of_totals(&values).ok()?;
        Some(ratio::residuals(&values, ratio))
    };
    let strata: Option<Vec<Vec<f64>>> = a.strata.split(ids).into_iter().map(stratum).collect();
    strata.map(|strata| strata.concat())
}

/// Returns the line of what is unexplained: the total over the product of the lines. If all lines
/// are of the same rounds, the product telescopes, and only the ratios of missing lines remain.
/// Otherwise the interval is that of independent lines.
fn unexplained(reading: &WorkloadView, total: &PrefixLine, lines: &[PrefixLine]) -> BillLine {
    let missing: Vec<&str> = lines
        .iter()
        .filter(|line| line.shown.ratio.value().is_none())
        .map(|line| line.shown.layer.as_str())
        .collect();
    let layer = match missing.as_slice() {
        [] => "unexplained".to_owned(),
        names => format!("unexplained (with {})", names.join(", ")),
    };
    let known: Vec<&PrefixLine> =
        lines.iter().filter(|line| line.shown.ratio.value().is_some()).collect();
    let ratio = left_over(total, &known);
    let verdict = match ratio.value().zip(ratio.bounds()) {
        Some((value, (low, high))) => Verdict::of_interval(value, low, high, reading.zone()),
        None => Verdict::from_refusal(Refusal::NotMeasured {
            reason: "there is no total to explain".into(),
        }),
    };
    BillLine {
        layer,
        on: total.shown.on.clone(),
        verdict,
        masked: None,
        ratio,
        of_baseline: MeasuredFigure::missing("see the ratio"),
        added_latency: MeasuredFigure::missing("see the ratio"),
        directions: Vec::new(),
        added_cpu: MeasuredFigure::missing("see the ratio"),
        emulated: reading.emulated_pair(0, reading.sides.len() - 1),
    }
}

fn left_over(total: &PrefixLine, lines: &[&PrefixLine]) -> MeasuredFigure {
    let MeasuredFigure::Known { value, n, of, .. } = &total.shown.ratio else {
        return total.shown.ratio.clone();
    };
    let product: f64 = lines.iter().filter_map(|line| line.shown.ratio.value()).product();
    let Some(half_width) =
        joint_half_width(total, lines).or_else(|| independent_half_width(total, lines))
    else {
        return MeasuredFigure::missing("a line has no interval");
    };
    let ratio = value / product;
    let interval = Interval::from_bounds(ratio * (-half_width).exp(), ratio * half_width.exp());
    MeasuredFigure::Known { value: ratio, unit: "1", n: *n, of: *of, interval, caution: None }
}

fn joint_half_width(total: &PrefixLine, lines: &[&PrefixLine]) -> Option<f64> {
    let mut left = total.residuals.clone()?;
    for line in lines {
        let taken = line.residuals.as_ref().filter(|taken| taken.len() == left.len())?;
        left.iter_mut().zip(taken).for_each(|(left, taken)| *left -= taken);
    }
    MeanSpread::from_residuals(&left).ok().map(|spread| spread.half_width())
}

fn independent_half_width(total: &PrefixLine, lines: &[&PrefixLine]) -> Option<f64> {
    let squares: Option<f64> = std::iter::once(total)
        .chain(lines.iter().copied())
        .map(|line| {
            let (low, high) = line.shown.ratio.bounds()?;
            Some(((high / low).ln() / 2.0).powi(2))
        })
        .sum();
    squares.map(f64::sqrt)
}

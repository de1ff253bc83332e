//! Causes that the figures of a run do not exclude. A report without this list would say more than
//! was measured.

use crate::compare::verdicts;
use crate::findings::{Comparison, MeasuredFigure, SampleUnit, WorkloadFindings};
use crate::gather::reading::WorkloadView;
use crate::gather::steady;
use iotax_stats::checks::TIMES;
use iotax_stats::length::LEAST;
use iotax_stats::round::rounded_up;

pub fn not_excluded(readings: &[WorkloadView], workloads: &[WorkloadFindings]) -> Vec<String> {
    let sweep =
        |reading: &WorkloadView| reading.workload.sweep.as_ref().map(|sweep| sweep.sweep.clone());
    let groups = readings.chunk_by(|a, b| sweep(a).is_some() && sweep(a) == sweep(b));
    let mut lines: Vec<String> = groups.filter_map(stalls).collect();
    let comparisons: Vec<&Comparison> =
        workloads.iter().flat_map(WorkloadFindings::all_comparisons).collect();
    if comparisons
        .iter()
        .any(|one| matches!(one.rate.ratio, MeasuredFigure::Known { of: SampleUnit::Rounds, .. }))
    {
        lines.push(
            "another set-up: the figures hold for this attach, placement and boot only".into(),
        );
    }
    if comparisons.iter().any(|one| one.rate.ratio.value().is_some()) {
        lines.push(
            "a ceiling that stacks share and the record does not show (link, drive): it hides a cost in throughput, not in CPU time".into(),
        );
    }
    lines.extend(chance(verdicts::simultaneous_comparisons(workloads)));
    lines.extend(unchecked(&comparisons));
    lines.extend(steady::not_excluded(
        &readings.iter().map(|reading| &reading.writes).collect::<Vec<_>>(),
    ));
    lines
}

/// Returns the caveat about rare stalls for one workload, or for all points of a sweep together.
fn stalls(readings: &[WorkloadView]) -> Option<String> {
    let sides = readings.iter().flat_map(|reading| &reading.sides);
    let shortest = sides.map(|side| side.load_s).filter(|seconds| *seconds > 0.0);
    let every = rounded_up(shortest.min_by(f64::total_cmp)? / 3.0, 1);
    let workload = readings.first()?.workload;
    let name = workload.sweep.as_ref().map_or(&workload.name, |sweep| &sweep.sweep);
    Some(format!("{name}: stalls of a stack that are rarer than one in {every} s"))
}

/// Returns the caveat about chance, for `many` comparisons: how often such a run reports a false
/// difference. `None` without comparisons.
fn chance(many: usize) -> Option<String> {
    (many > 0).then(|| {
        "chance: at most 5 in 100 such runs report any false difference, in throughput, latencies and CPU times together".to_owned()
    })
}

/// Returns lines on the checks that some comparisons lack because too little was measured.
fn unchecked(comparisons: &[&Comparison]) -> Vec<String> {
    let of_rounds = || {
        comparisons.iter().filter(|one| {
            matches!(one.rate.ratio, MeasuredFigure::Known { of: SampleUnit::Rounds, .. })
        })
    };
    let without = |lacks: fn(&Comparison) -> bool| of_rounds().filter(|one| lacks(one)).count();
    let known = of_rounds().count();
    let lines = [
        (
            without(|one| one.checks.length.is_none()),
            format!(
                "what happens at the start of a slice: not held against slices {TIMES} times as long (fewer than {LEAST} such rounds)"
            ),
        ),
        (
            without(|one| one.checks.carry_over.iter().any(Option::is_none)),
            "what a slice leaves for the next one: too few rounds to check it, or each order twice in a round"
                .to_owned(),
        ),
    ];
    let said = |(lacking, line): (usize, String)| match lacking {
        0 => None,
        all if all == known => Some(line),
        some => Some(format!("{line}, in {some} of {known} comparisons")),
    };
    lines.into_iter().filter_map(said).collect()
}

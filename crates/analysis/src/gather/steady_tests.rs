//! Writes with a cache that is named, one that shows, and none.

use super::*;
use crate::findings::{Findings, MeasuredFigure};
use crate::{findings, twin};
use iotax_model::record::precondition::{Preconditioned, PreconditionedStack};

const MIB: u64 = 1 << 20;
/// The twin's two stacks write one file: four slices of 4096 blocks of 4 KiB in a round.
const ROUND: u64 = 64 * MIB;

fn writes(regime: Regime, cache: Option<u64>) -> RunData {
    let mut run = twin::writes();
    run.start.scenario.measure.regime = regime;
    let named =
        |bytes| WriteCache { name: "write_cache, as given".into(), bytes, stacks: Vec::new() };
    run.start.write_caches = cache.map(named).into_iter().collect();
    run
}

/// Returns the run with all slices from round `at` on taking three times as long, and the second
/// stack's half as much again.
fn with_cliff(mut run: RunData, at: u32) -> RunData {
    let second = run.start.scenario.stacks[1].name.clone();
    for slice in run.slices.iter_mut().filter(|slice| slice.round >= at) {
        let times = if slice.stack == second { 9 } else { 6 };
        slice.window_ns = slice.window_ns * times / 2;
    }
    run
}

fn kinds(found: &Findings) -> Vec<&str> {
    found.warnings.iter().map(|warning| warning.kind.as_str()).collect()
}

fn ratio(found: &Findings) -> (f64, u64) {
    match &found.workloads[0].comparisons[0].rate.ratio {
        MeasuredFigure::Known { value, n, .. } => (*value, *n),
        other => panic!("no ratio: {other:?}"),
    }
}

#[test]
fn behind_a_named_cache_only_the_later_rounds_count() {
    let found = findings(&writes(Regime::Steady, Some(16 * ROUND)));
    let workload = &found.workloads[0];
    // The cache is exceeded in round 16, counted from 0.
    assert_eq!(workload.rows.iter().map(|row| row.rounds).collect::<Vec<_>>(), [31, 31]);
    assert_eq!(ratio(&found).1, 31);
    assert!(
        workload
            .comparisons
            .iter()
            .all(|one| one.rate.quantity.contains("steady") && one.rate.verdict.is_resolved())
    );
    let all = findings(&writes(Regime::Burst, None));
    let (MeasuredFigure::Known { n: some, .. }, MeasuredFigure::Known { n: every, .. }) =
        (&workload.rows[0].latency[0].p50, &all.workloads[0].rows[0].latency[0].p50)
    else {
        panic!("no latency");
    };
    assert_eq!(some * 48, every * 31, "latencies are of the same rounds");
    assert!(workload.measured_s < 0.8 * all.workloads[0].measured_s);
    let report = workload.writes.as_ref().unwrap();
    assert_eq!(report.visits[0].steady_from, Some(17));
    assert_eq!(
        report.sentences,
        [
            "writes, steady: known caches on the path: write_cache, as given, 1 GiB",
            "steady after the largest known cache, 1 GiB: 31 of 48 rounds count, 3 GiB written to a drive"
        ]
    );
    assert!(
        found.not_excluded.iter().any(|line| line.starts_with("a cache of writes that is larger"))
    );
    assert!(!found.not_excluded.iter().any(|line| line.starts_with("the steady state")));
}

#[test]
fn what_is_not_shown_to_be_steady_has_figures_and_no_verdict() {
    for cache in [None, Some(48 * ROUND)] {
        let found = findings(&writes(Regime::Steady, cache));
        for one in &found.workloads[0].comparisons {
            let Verdict::Unresolved {
                reason: Refusal::SteadyNotShown { written, known_cache },
                ..
            } = one.rate.verdict
            else {
                panic!("{}", one.rate.sentence);
            };
            assert_eq!((written, known_cache), (48 * ROUND, cache));
        }
        assert_eq!(found.workloads[0].rows[0].rounds, 48);
        assert_eq!(found.headline, None, "no figure of it makes a headline");
        let charges = &found.workloads[0].charges[0];
        assert!(
            matches!(charges.cpu.verdict.reason(), Some(Refusal::SteadyNotShown { .. })),
            "{:?}",
            charges.cpu
        );
        let sentences = &found.workloads[0].writes.as_ref().unwrap().sentences;
        assert_eq!(sentences[1], "steady was not reached with 3 GiB written to a drive");
    }
}

#[test]
fn what_a_flush_empties_is_never_full() {
    let above = |regime| {
        let mut run = writes(regime, Some(16 * ROUND));
        run.start.write_caches[0].stacks = vec![run.start.scenario.stacks[1].name.clone()];
        findings(&run)
    };
    let steady = above(Regime::Steady);
    let [acknowledged, durable] = steady.workloads[0].comparisons.as_slice() else {
        panic!("two figures")
    };
    assert!(
        acknowledged.rate.sentence.contains("fs(ext4) acknowledges from write_cache, as given"),
        "{acknowledged:?}"
    );
    assert!(!acknowledged.rate.verdict.is_resolved() && durable.rate.verdict.is_resolved());
    let burst = above(Regime::Burst);
    assert!(
        burst.workloads[0].comparisons.iter().all(|one| one.rate.verdict.is_resolved()),
        "a burst may be cached"
    );
}

/// A cache that a flush does not empty can be full, and has no durable figure.
#[test]
fn a_flush_that_does_nothing_has_no_durable_verdict_and_empties_no_cache() {
    for (layer, options, what) in [
        ("zfs", ("sync", "disabled"), "zfs(sync=disabled)"),
        ("vm", ("cache", "unsafe"), "vm(cache=unsafe)"),
        ("vm", ("snapshot", "on"), "vm(snapshot=on)"),
    ] {
        for regime in [Regime::Burst, Regime::Steady] {
            let mut run = writes(regime, Some(16 * ROUND));
            run.start.write_caches[0].stacks = vec![run.start.scenario.stacks[1].name.clone()];
            run.start.scenario.stacks[1].layers = vec![twin::layer(layer, &[options])];
            let found = findings(&run);
            let [acknowledged, durable] = found.workloads[0].comparisons.as_slice() else {
                panic!("two figures")
            };
            assert!(acknowledged.rate.verdict.is_resolved(), "{acknowledged:?}");
            assert!(!durable.rate.verdict.is_resolved());
            let why = format!("a flush does nothing on fs(ext4), by {what}: ");
            assert!(durable.rate.sentence.contains(&why), "{}", durable.rate.sentence);
        }
    }
}

#[test]
fn a_bill_of_writes_that_are_not_shown_to_be_steady_concludes_nothing() {
    let mut run = writes(Regime::Steady, None);
    run.start.scenario.bill = true;
    let found = findings(&run);
    let bill = found.workloads[0].bill.as_ref().unwrap();
    for line in bill.lines.iter().chain([&bill.total]) {
        assert!(matches!(line.verdict.reason(), Some(Refusal::SteadyNotShown { .. })), "{line:?}");
        assert!(line.ratio.bounds().is_some(), "the figures are there");
    }
}

#[test]
fn what_long_rounds_write_fills_the_cache_too() {
    let mut run = writes(Regime::Steady, Some(16 * ROUND));
    // Every other of the first sixteen rounds has a long one of four times the bytes beside it.
    let long: Vec<_> = run
        .slices
        .iter()
        .filter(|slice| slice.round < 16 && slice.round % 2 == 1)
        .cloned()
        .collect();
    for mut slice in long {
        slice.purpose = Purpose::Long;
        slice.window_ns *= 4;
        let written = slice.samples.iter_mut().filter(|sample| sample.metric.starts_with("write."));
        written.for_each(|sample| {
            if let iotax_model::record::SampleValue::Value(value) = &mut sample.value {
                *value *= 4.0;
            }
        });
        run.slices.push(slice);
    }
    let found = findings(&run);
    let visit = &found.workloads[0].writes.as_ref().unwrap().visits[0];
    assert_eq!(visit.written, (48 + 4 * 8) as f64 * ROUND as f64);
    // Six rounds and three long ones of four write eighteen rounds' bytes.
    assert_eq!((visit.rounds, visit.steady_from, ratio(&found).1), (48, Some(6), 42));
}

#[test]
fn behind_a_cliff_the_layer_s_cost_there_is_found() {
    let found = findings(&with_cliff(writes(Regime::Steady, None), 20));
    let (value, n) = ratio(&found);
    assert_eq!(n, 27, "the round at the cliff does not count");
    // 40 to 48 in all rounds, and a half more time after the cliff.
    assert!((value - 40.0 / 48.0 / 1.5).abs() < 0.02, "{value}");
    let report = found.workloads[0].writes.as_ref().unwrap();
    assert_eq!(report.visits[0].changes.len(), 2);
    let change = &report.visits[0].changes[0];
    assert_eq!(change.written, 20.0 * ROUND as f64);
    assert!(
        report.sentences[1].starts_with("file: burst ")
            && report.sentences[1].contains(" until 1.25 GiB, then steady ")
    );
    assert!(!found.not_excluded.iter().any(|line| line.starts_with("a cache of writes")));
}

#[test]
fn a_burst_that_outlived_a_cache_says_so() {
    let found = findings(&with_cliff(writes(Regime::Burst, None), 20));
    assert_eq!(kinds(&found).iter().filter(|kind| **kind == "two_regimes").count(), 2);
    assert_eq!(ratio(&found).1, 48);
    let calm = findings(&writes(Regime::Burst, None));
    assert!(!kinds(&calm).contains(&"two_regimes"));
    assert_eq!(
        calm.workloads[0].writes.as_ref().unwrap().sentences,
        ["writes, burst: no cache on the path is known"]
    );
    assert!(calm.not_excluded.iter().any(|line| line.starts_with("the steady state of writes")));
}

#[test]
fn a_slope_is_warned_of_and_judged() {
    let mut run = writes(Regime::Steady, Some(16 * ROUND));
    for slice in &mut run.slices {
        slice.window_ns = (slice.window_ns as f64 * (1.0 + f64::from(slice.round) / 60.0)) as u64;
    }
    let found = findings(&run);
    assert_eq!(kinds(&found).iter().filter(|kind| **kind == "not_level").count(), 2);
    assert_eq!(ratio(&found).1, 31);
}

#[test]
fn reads_have_no_regime() {
    let mut run = twin::bill();
    run.start.scenario.measure.regime = Regime::Steady;
    let found = findings(&run);
    assert_eq!(found.workloads[0].writes, None);
    assert!(found.workloads[0].comparisons.iter().all(|one| !one.rate.quantity.contains("steady")));
    assert!(
        !found
            .not_excluded
            .iter()
            .any(|line| line.contains("burst") || line.contains("cache of writes"))
    );
}

#[test]
fn the_gate_s_waits_are_a_share_of_the_time() {
    let mut run = twin::writes();
    let row = |run: &RunData| findings(run).workloads[0].rows[0].debt.clone().unwrap();
    let debt = row(&run);
    assert_eq!(debt.slices, 96);
    // Each wait takes as long as a slice with its flush, discarded start and drain.
    let name = run.start.scenario.stacks[0].name.clone();
    let each_s = debt.busy_s / 96.0;
    for slice in run.slices.iter_mut().filter(|slice| slice.stack == name) {
        slice.gate.as_mut().unwrap().waited_ns = (each_s * 1e9) as u64;
    }
    assert!((row(&run).share().unwrap() - 0.5).abs() < 1e-6);
    let load_s: f64 = run
        .slices
        .iter()
        .filter(|slice| slice.stack == name)
        .map(|slice| (slice.window_ns + slice.discarded_ns + slice.drain_ns) as f64 * 1e-9)
        .sum();
    assert!(debt.busy_s > load_s, "the flushes are part of it");
}

/// The first six rounds preconditioned.
fn preconditioned(mut run: RunData, steady: bool) -> RunData {
    run.slices.iter_mut().filter(|slice| slice.round < 6).for_each(|slice| {
        slice.purpose = Purpose::Precondition;
        // The made-up drive drifts more than is level.
        slice.window_ns = 90_000_000 + if steady { 0 } else { 30_000_000 * u64::from(slice.round) };
    });
    let stack = |stack: &iotax_model::stack::Stack| PreconditionedStack {
        stack: stack.name.clone(),
        steady,
        ..PreconditionedStack::default()
    };
    run.preconditioned = vec![Preconditioned {
        workload: run.start.scenario.workloads[0].name.clone(),
        rounds: 6,
        stacks: run.start.scenario.stacks.iter().map(stack).collect(),
        ..Preconditioned::default()
    }];
    run
}

#[test]
fn what_was_preconditioned_until_it_was_level_is_steady() {
    let found = findings(&preconditioned(writes(Regime::Steady, None), true));
    let workload = &found.workloads[0];
    assert!(
        workload.comparisons.iter().all(|one| one.rate.verdict.is_resolved()),
        "{:?}",
        workload.comparisons
    );
    let report = workload.writes.as_ref().unwrap();
    let visit = &report.visits[0];
    assert_eq!(
        (visit.why, visit.rounds, visit.steady_from),
        (Why::Preconditioned { rounds: 6 }, 42, Some(0))
    );
    assert!(
        report
            .sentences
            .iter()
            .any(|line| line.contains("after 6 rounds of preconditioning: 42 of 42"))
    );
    assert!(!kinds(&found).contains(&"not_preconditioned"));
    // The preconditioning fills a known cache.
    let found = findings(&preconditioned(writes(Regime::Steady, Some(10 * ROUND)), true));
    assert_eq!(found.workloads[0].writes.as_ref().unwrap().visits[0].steady_from, Some(5));
    let found = findings(&preconditioned(writes(Regime::Steady, None), false));
    assert!(
        !found.workloads[0].writes.as_ref().unwrap().visits[0]
            .why
            .eq(&Why::Preconditioned { rounds: 6 })
    );
    assert!(found.workloads[0].comparisons.iter().all(|one| !one.rate.verdict.is_resolved()));
}

#[test]
fn a_burst_of_what_was_preconditioned_leaves_another_burst_open() {
    let open = |run: RunData| findings(&run).not_excluded.join("\n");
    let [steady, burst] = ["the steady state of writes", "the burst of a drive that is fresh"];
    let plain = open(writes(Regime::Burst, None));
    assert!(plain.contains(steady) && !plain.contains(burst), "{plain}");
    let level = open(preconditioned(writes(Regime::Burst, None), true));
    assert!(!level.contains(steady) && level.contains(burst), "{level}");
    let not = open(preconditioned(writes(Regime::Burst, None), false));
    assert!(not.contains(steady) && !not.contains(burst), "{not}");
    let found = findings(&preconditioned(writes(Regime::Burst, None), false));
    assert!(kinds(&found).contains(&"not_preconditioned"));
}

//! Known change in, known change out, and what two runs have in common or not.

use super::{
    LimitCall, RateChange, RegressionLimits, RunComparison, RunMismatch, StackChange, VerdictBasis,
    compare_runs,
};
use crate::findings::{Interval, MeasuredFigure, SampleUnit};
use crate::{RunData, twin};
use iotax_load::Job;
use iotax_model::record::SampleValue;
use iotax_model::scenario::{Regime, ServiceLevel};
use iotax_stats::exceedance::ServiceVerdict;
use iotax_stats::{Refusal, Verdict};

const LIMITS: RegressionLimits = RegressionLimits { rate: Some(0.05), latency: None, cpu: None };

const LOOP_NS: f64 = 93_700.0;

fn compared(old: &RunData, new: &RunData) -> RunComparison {
    compare_runs(old, new, LIMITS).unwrap()
}

fn stack<'a>(found: &'a RunComparison, name: &str) -> &'a StackChange {
    found.workloads[0].stacks.iter().find(|one| one.stack == name).unwrap()
}

fn rate<'a>(found: &'a RunComparison, name: &str) -> &'a RateChange {
    &stack(found, name).rates[0]
}

fn call(found: &RunComparison, name: &str) -> LimitCall {
    rate(found, name).limit.as_ref().unwrap().call
}

fn holds(figure: &MeasuredFigure, truth: f64) -> bool {
    figure.bounds().is_some_and(|(low, high)| low <= truth && truth <= high)
}

/// The run with its id and nothing else changed.
fn renamed(mut run: RunData) -> RunData {
    run.start.id = "20260102-000000-abcd".into();
    run
}

/// All completions of a run times `factor`: the machine was at another level.
fn scaled(mut run: RunData, factor: f64) -> RunData {
    for sample in run.slices.iter_mut().flat_map(|slice| &mut slice.samples) {
        match &mut sample.value {
            SampleValue::Value(value) if sample.metric.ends_with(".ios") => *value *= factor,
            _ => {}
        }
    }
    run
}

/// Only so many rounds.
fn shortened(mut run: RunData, rounds: u32) -> RunData {
    run.slices.retain(|slice| slice.round < rounds);
    run
}

#[test]
fn nothing_changed_is_covered_and_fails_nothing() {
    const PAIRS: u64 = 20;
    let (mut own, mut plain, mut width) = (0, 0, 0.0);
    for seed in 0..PAIRS {
        let found =
            compared(&twin::bill_of_seed(500 + seed), &twin::a_week_later(700 + seed, LOOP_NS));
        assert!(!found.fails(), "{:?}", found.result);
        for one in found.workloads[0].stacks.iter().filter(|one| !one.baseline) {
            let change = &one.rates[0].change;
            own += u64::from(holds(&change.against_own_baseline, 1.0));
            plain += u64::from(holds(&change.direct, 1.0));
            let (low, high) = change.against_own_baseline.bounds().unwrap();
            width += (high / low).ln() / 2.0 / (3 * PAIRS) as f64;
        }
    }
    assert!(own as f64 >= 0.93 * (3 * PAIRS) as f64, "{own}");
    assert!(plain as f64 >= 0.93 * (3 * PAIRS) as f64, "{plain}");
    assert!(width < 0.04, "+- {width}");
}

#[test]
fn a_slower_layer_is_found_against_its_own_baseline_and_fails() {
    let found = compared(&twin::a_week_before(21), &twin::a_week_later(22, 130_000.0));
    let loops = rate(&found, "loop");
    assert_eq!(loops.judged, VerdictBasis::AgainstOwnBaseline);
    assert!(holds(&loops.change.against_own_baseline, LOOP_NS / 130_000.0), "{loops:?}");
    assert!(matches!(loops.verdict, Verdict::Costs { .. }), "{loops:?}");
    assert!(loops.sentence.starts_with("loop, new against old: costs"), "{}", loops.sentence);
    assert_eq!(call(&found, "loop"), LimitCall::Fails);
    assert!(
        found.fails()
            && found.result.as_deref().unwrap().contains("5 %: fails; of 4 verdicts 1 fail")
    );
    for unchanged in ["file", "fs(xfs)", "delay(us=10)"] {
        assert_ne!(call(&found, unchanged), LimitCall::Fails, "{unchanged}");
    }
    let latency = &stack(&found, "loop").latency.against_own_baseline;
    assert!(holds(latency, 130_000.0 / LOOP_NS), "{latency:?}");
    // CPU time per I/O is 3 us and a fiftieth of the latency: (3 + 2.6) / (3 + 1.874) by the twin's
    // formula.
    let cpu = &stack(&found, "loop").cpu.against_own_baseline;
    assert!(cpu.value().is_some_and(|value| (1.05..1.3).contains(&value)), "{cpu:?}");
}

#[test]
fn the_baseline_is_judged_by_its_direct_change() {
    let found = compared(&twin::a_week_before(21), &twin::a_week_later(22, LOOP_NS));
    let file = rate(&found, "file");
    assert_eq!(file.judged, VerdictBasis::Direct);
    assert!(file.why.ends_with("it is the baseline"), "{}", file.why);
    assert_eq!(file.change.against_own_baseline, MeasuredFigure::missing("it is the baseline"));
    assert!(stack(&found, "file").baseline && !stack(&found, "loop").baseline);
}

#[test]
fn drift_is_named_where_it_could_explain_a_difference() {
    let (old, new) = (twin::bill_of_seed(31), renamed(scaled(twin::bill_of_seed(31), 0.93)));
    let found = compared(&old, &new);
    let file = rate(&found, "file");
    assert!(file.drift_could_explain, "{file:?}");
    assert!(matches!(file.verdict, Verdict::Unresolved { reason: Refusal::Drift, .. }), "{file:?}");
    assert!(file.sentence.contains("drift of the machine between the runs could explain it"));
    let limit = file.limit.as_ref().unwrap();
    assert_eq!(limit.call, LimitCall::Undetermined);
    assert!(limit.sentence.contains("the estimate is a loss beyond 5 %"), "{}", limit.sentence);
    assert!(limit.sentence.contains("to settle it"), "{}", limit.sentence);
    // A change that affects all stacks alike is no change of any of them.
    for other in ["loop", "fs(xfs)", "delay(us=10)"] {
        let change = &rate(&found, other).change.against_own_baseline;
        assert!((change.value().unwrap() - 1.0).abs() < 1e-9, "{other}: {change:?}");
        assert_eq!(call(&found, other), LimitCall::Passes, "{other}");
    }
}

#[test]
fn time_between_the_runs_widens_the_interval() {
    let width = |new: &RunData| {
        let found = compared(&twin::bill_of_seed(41), new);
        let (low, high) = rate(&found, "file").change.direct.bounds().unwrap();
        (found.apart_s, (high / low).ln())
    };
    let (soon, late, never) = (
        width(&renamed(twin::bill_of_seed(42))),
        width(&twin::a_week_later(42, LOOP_NS)),
        width(&RunData { ..unreadable_start(twin::bill_of_seed(42)) }),
    );
    assert_eq!((soon.0, late.0, never.0), (Some(0.0), Some(604_800.0), None));
    assert!(soon.1 < late.1 && late.1 < never.1, "{soon:?} {late:?} {never:?}");
}

fn unreadable_start(mut run: RunData) -> RunData {
    run.start.at = "yesterday".into();
    run
}

#[test]
fn without_a_common_baseline_stacks_are_judged_as_they_stand() {
    let mut new = twin::a_week_later(52, 130_000.0);
    new.start.scenario.baseline = 1;
    let found = compared(&twin::bill_of_seed(51), &new);
    for one in &found.workloads[0].stacks {
        assert_eq!(one.rates[0].judged, VerdictBasis::Direct, "{}", one.stack);
        assert!(
            one.rates[0].why.ends_with("the runs have no baseline in common"),
            "{}",
            one.rates[0].why
        );
    }
    assert!(found.warnings.iter().any(
        |one| one.to_sentence() == "baseline: was file in the old run, is loop in the new one"
    ));
}

#[test]
fn wrong_data_of_either_run_are_the_first_warning() {
    let found = compared(&twin::verified(), &renamed(twin::verified()));
    let said = |at: usize| found.warnings[at].to_sentence();
    assert!(
        said(0).starts_with("wrong_data (old run): WRONG DATA from file | loop"),
        "{}",
        said(0)
    );
    assert!(said(1).starts_with("wrong_data (new run): "), "{}", said(1));
    let right = || {
        let mut run = twin::verified();
        run.verified.retain(|one| one.found.wrong() == 0);
        run
    };
    let none = compared(&right(), &renamed(right()));
    assert!(none.warnings.iter().all(|one| one.kind != "wrong_data"));
}

#[test]
fn there_must_be_something_to_compare() {
    let run = || twin::bill_of_seed(61);
    let refused = |old: &RunData, new: &RunData| {
        compare_runs(old, new, RegressionLimits::default()).unwrap_err()
    };
    assert_eq!(refused(&run(), &run()), RunMismatch::SameRun("20260101-120000-0061".into()));
    let empty = renamed(shortened(run(), 0));
    assert_eq!(
        refused(&run(), &empty),
        RunMismatch::NothingMeasured("20260102-000000-abcd".into())
    );
    let trials = twin::durability();
    assert_eq!(refused(&run(), &trials), RunMismatch::Trials(trials.start.id.clone()));
    let other = refused(&run(), &twin::a_against_a());
    assert!(other.to_string().contains(
        "no workload in common: the old one has 4k-randread-qd1, the new one 4k-randread-qd32"
    ));
    let mut elsewhere = renamed(run());
    for stack in &mut elsewhere.start.scenario.stacks {
        (stack.name, stack.text) = (format!("{}-2", stack.name), format!("/dev/sdz{}", stack.text));
        elsewhere
            .slices
            .iter_mut()
            .filter(|one| stack.name == format!("{}-2", one.stack))
            .for_each(|one| one.stack += "-2");
    }
    assert!(refused(&run(), &elsewhere).to_string().contains("no stack in common"));
}

#[test]
fn workloads_match_by_their_jobs_and_what_is_left_over_is_listed() {
    let mut new = renamed(twin::bill_of_seed(71));
    new.start.scenario.workloads[0].name = "boot".into();
    new.start.scenario.workloads[0].jobs[0].name = "section".into();
    new.slices.iter_mut().for_each(|slice| slice.workload = "boot".into());
    let mut named_alike = new.start.scenario.workloads[0].clone();
    named_alike.name = "4k-randread-qd1".into();
    named_alike.jobs = vec![Job { iodepth: 8, ..Job::default() }];
    new.start.scenario.workloads.push(named_alike);
    let mut old = twin::bill();
    old.start.scenario.stacks.remove(3);
    let found = compared(&old, &new);
    assert_eq!(found.workloads.len(), 1);
    assert_eq!(found.workloads[0].name, "boot");
    assert!(rate(&found, "loop").change.direct.bounds().is_some());
    let said: Vec<String> = found.only.iter().map(super::OnlyIn::to_sentence).collect();
    assert_eq!(
        said,
        [
            "only in the old run: workload 4k-randread-qd32 (4k random reads at iodepth 32)",
            "only in the new run: workload 4k-randread-qd1 (4k random reads at iodepth 8; the other run has other jobs under this name)",
            "only in the new run: stack delay(us=10) (file:/srv/iotax.img,size=4GiB | loop | fs(xfs) | delay(us=10))",
        ]
    );
}

#[test]
fn stacks_match_by_text_then_by_name_with_a_warning() {
    let mut new = renamed(twin::bill_of_seed(81));
    let text = "file:/mnt/iotax.img,size=4GiB | loop".to_owned();
    new.start.scenario.stacks[1].text.clone_from(&text);
    new.start.scenario.stacks[2].name = "xfs".into();
    new.slices
        .iter_mut()
        .filter(|one| one.stack == "fs(xfs)")
        .for_each(|one| one.stack = "xfs".into());
    let found = compared(&twin::bill_of_seed(80), &new);
    assert!(found.only.is_empty(), "{:?}", found.only);
    assert!(rate(&found, "xfs").change.direct.bounds().is_some());
    let said: Vec<String> = found
        .warnings
        .iter()
        .map(|one| one.to_sentence())
        .filter(|one| one.starts_with("stack"))
        .collect();
    assert_eq!(
        said,
        [
            format!(
                "stack (loop): only the name is the same: it was \"file:/srv/iotax.img,size=4GiB | loop\" in the old run and is \"{text}\" in the new one"
            ),
            "stack (xfs): it is called fs(xfs) in the old run".to_owned(),
        ]
    );
}

#[test]
fn one_emulated_run_is_labelled_and_never_fails() {
    let old = twin::guest();
    let mut new = renamed(scaled(twin::guest(), 0.5));
    new.places.iter_mut().for_each(|place| place.emulated = None);
    let found = compared(&old, &new);
    let vm = rate(&found, "vm(vcpus=2)");
    assert!(
        vm.sentence
            .contains("new against old (only one of the runs is emulated: not comparable): "),
        "{}",
        vm.sentence
    );
    assert_eq!(
        vm.limit.as_ref().unwrap().sentence,
        "cannot be determined: only one of the runs is emulated"
    );
    assert!(
        stack(&found, "vm(vcpus=2)")
            .emulated
            .as_ref()
            .unwrap()
            .starts_with("emulated in the old run only")
    );
    assert!(
        found.warnings.iter().any(
            |one| one.kind == "emulated" && one.text.contains("is not emulated in the new one")
        )
    );
    // The file below was not emulated in either.
    assert!(!rate(&found, "file").sentence.contains("emulated"));
    let both = compared(&old, &renamed(twin::guest()));
    assert!(rate(&both, "vm(vcpus=2)").sentence.contains("new against old ~: "));
    assert_eq!(both.emulated.len(), 2);
}

#[test]
fn what_differs_between_the_runs_is_said() {
    let mut new = twin::a_week_later(92, LOOP_NS);
    new.start.scenario.measure.slice_ns = Some(100_000_000);
    new.workers
        .iter_mut()
        .for_each(|worker| (worker.engine, worker.bytes) = ("sync".to_owned().into(), 1 << 30));
    let found = compared(&twin::a_week_before(91), &new);
    let said: Vec<String> = found.warnings.iter().map(|one| one.to_sentence()).collect();
    for expected in [
        "slice: was auto in the old run, is 100 ms in the new one",
        "kernel (host): was 6.1.0 in the old run, is 6.12.9 in the new one",
        "engine (loop, 4k-randread-qd1): was uring in the old run, is sync in the new one",
        "region (file, 4k-randread-qd1): was 4 GiB in the old run, is 1 GiB in the new one",
    ] {
        assert!(said.contains(&expected.to_owned()), "{expected} is not among {said:#?}");
    }
    assert!(said.iter().any(|one| one.starts_with("boot: was 0000")));
    let swapped = compared(&new, &twin::a_week_before(91));
    assert!(swapped.warnings.iter().any(|one| one.kind == "order"));
    let same = compared(&twin::bill_of_seed(93), &renamed(twin::bill_of_seed(94)));
    assert!(same.warnings.is_empty(), "{:?}", same.warnings);
}

#[test]
fn partial_runs_are_compared_as_far_as_they_go_and_say_so() {
    let old = twin::bill_of_seed(5);
    let found = compared(&old, &renamed(twin::partial()));
    let kinds: Vec<&str> = found.warnings.iter().map(|one| one.kind.as_str()).collect();
    assert!(kinds.contains(&"killed") && kinds.contains(&"torn_frames"), "{kinds:?}");
    let loops = rate(&found, "loop");
    assert!(
        matches!(
            &loops.change.direct,
            MeasuredFigure::Known { interval: Interval::Missing { .. }, n: 9, .. }
        ),
        "{loops:?}"
    );
    assert!(matches!(
        loops.verdict,
        Verdict::Unresolved { reason: Refusal::TooFewRounds { have: 9 }, .. }
    ));
    assert_eq!(call(&found, "loop"), LimitCall::Undetermined);
    let mut interrupted = renamed(twin::bill_of_seed(6));
    interrupted.outcome = Some("interrupted".into());
    let found = compared(&old, &interrupted);
    assert!(
        found
            .warnings
            .iter()
            .any(|one| one.to_sentence()
                == "partial (new run): it ended before its time: interrupted")
    );
}

#[test]
fn a_stack_that_failed_in_one_run_is_missing_with_its_reason() {
    let found = compared(&twin::bill_of_seed(1), &twin::failed());
    let loops = rate(&found, "loop");
    let reason = match &loops.change.direct {
        MeasuredFigure::Missing { reason } => reason.clone(),
        other => panic!("{other:?}"),
    };
    assert!(reason.starts_with("in the new run: it failed: 3 I/Os failed"), "{reason}");
    assert_eq!(call(&found, "loop"), LimitCall::Undetermined);
    assert!(rate(&found, "fs(xfs)").change.against_own_baseline.bounds().is_some());
}

#[test]
fn writes_of_another_regime_or_without_a_steady_state_fail_nothing() {
    let written = |regime| {
        let mut run = scaled_bytes(twin::writes(), 1.0);
        run.start.scenario.measure.regime = regime;
        run
    };
    let slower = |regime| renamed(scaled_bytes(written(regime), 0.5));
    let other = compared(&written(Regime::Burst), &slower(Regime::Steady));
    let not_shown = compared(&written(Regime::Steady), &slower(Regime::Steady));
    for (found, why) in
        [(&other, "the old run's writes are judged as burst"), (&not_shown, " (in the old run)")]
    {
        let rates = found.workloads[0].stacks.iter().flat_map(|stack| &stack.rates);
        for rate in rates {
            assert!(!rate.verdict.is_resolved(), "{}", rate.sentence);
            let limit = rate.limit.as_ref().unwrap();
            assert!(limit.call == LimitCall::Undetermined, "{}", limit.sentence);
            assert!(rate.sentence.contains(why), "{}", rate.sentence);
        }
    }
    assert!(other.warnings.iter().any(|one| one.kind == "regime"));
}

#[test]
fn writes_have_two_rates_and_visits_are_their_own_unit() {
    let found = compared(&twin::writes(), &renamed(scaled_bytes(twin::writes(), 0.5)));
    let fs = stack(&found, "fs(ext4)");
    assert!(
        fs.rates[0].quantity.contains("acknowledged") && fs.rates[1].quantity.contains("durable")
    );
    let file = stack(&found, "file");
    for rate in &file.rates {
        let value = rate.change.direct.value().unwrap();
        assert!((value - 0.5).abs() < 1e-9, "{rate:?}");
        assert_eq!(rate.limit.as_ref().unwrap().call, LimitCall::Fails, "{rate:?}");
    }
    let visits = compared(&twin::visits(), &renamed(twin::visits()));
    let lvm = rate(&visits, "lvm");
    for figure in [&lvm.change.direct, &lvm.change.against_own_baseline] {
        assert!(
            matches!(figure, MeasuredFigure::Known { of: SampleUnit::Visits, n: 6, .. }),
            "{figure:?}"
        );
    }
    assert_eq!(lvm.judged, VerdictBasis::AgainstOwnBaseline);
}

#[test]
fn reads_and_writes_apart_have_their_own_known_change() {
    // Half of the writes: of all bytes three quarters are left.
    let found = compared(&twin::mixed(), &renamed(scaled_bytes(twin::mixed(), 0.5)));
    let file = stack(&found, "file");
    assert!((file.rates[0].change.direct.value().unwrap() - 0.75).abs() < 0.01);
    let [read, write] = file.directions.as_slice() else { panic!("{file:?}") };
    for (one, truth) in [(read, 1.0), (write, 0.5)] {
        assert!((one.rate.direct.value().unwrap() - truth).abs() < 1e-9, "{one:?}");
        assert!((one.latency.direct.value().unwrap() - 1.0).abs() < 1e-9, "{one:?}");
    }
    let own = &stack(&found, "loop").directions[1].rate.against_own_baseline;
    assert!(holds(own, 1.0), "both stacks lost half: {own:?}");
    assert!(
        compared(&twin::writes(), &renamed(twin::writes())).workloads[0].stacks[0]
            .directions
            .is_empty()
    );
}

/// Each slice of a byte-bound load wrote less in its time.
fn scaled_bytes(mut run: RunData, factor: f64) -> RunData {
    for sample in run.slices.iter_mut().flat_map(|slice| &mut slice.samples) {
        match &mut sample.value {
            SampleValue::Value(value) if sample.metric == "write.bytes" => *value *= factor,
            _ => {}
        }
    }
    run
}

#[test]
fn latencies_by_other_clocks_and_cpu_time_with_a_neighbours_in_it_do_not_compare() {
    let missing = |figure: &MeasuredFigure| match figure {
        MeasuredFigure::Missing { reason } => reason.clone(),
        other => panic!("{other:?}"),
    };
    let scheduled = |engine: &str| {
        let mut run = twin::bill_of_seed(9);
        run.start.scenario.workloads[0].jobs[0].rate_iops = Some(1_000_000);
        let ours = run.workers.iter_mut().filter(|worker| worker.stack == "loop");
        ours.for_each(|worker| worker.engine = engine.to_owned().into());
        run
    };
    let found = compared(&scheduled("uring"), &renamed(scheduled("fio 3.33")));
    let latency = &stack(&found, "loop").latency;
    assert!(missing(&latency.direct).starts_with("latencies of fio begin when it issues an I/O"));
    assert!(missing(&latency.against_own_baseline).contains("when it was due"));
    assert!(stack(&found, "fs(xfs)").latency.direct.value().is_some());
    let found = compared(&scheduled("fio 3.33"), &renamed(scheduled("fio 3.33")));
    assert!(stack(&found, "loop").latency.direct.value().is_some());
    // The new run had company.
    let mut new = renamed(twin::bill_of_seed(9));
    for slice in &mut new.slices {
        slice.cpu.as_mut().unwrap().user_ns +=
            2 * (slice.window_ns + slice.discarded_ns + slice.drain_ns);
    }
    let found = compared(&twin::bill_of_seed(9), &new);
    let told = missing(&stack(&found, "loop").cpu.direct);
    assert!(told.starts_with("in the new run 2.0 processors of this host were busy"), "{told}");
    assert!(stack(&found, "loop").latency.direct.value().is_some());
}

#[test]
fn latency_and_cpu_have_limits_of_their_own() {
    let (old, new) = (twin::bill_of_seed(42), twin::a_week_later(43, 2.0 * LOOP_NS));
    let held = |latency: f64, cpu: f64| {
        let limits = RegressionLimits { rate: None, latency: Some(latency), cpu: Some(cpu) };
        compare_runs(&old, &new, limits).unwrap()
    };
    let calls = |found: &RunComparison, name: &str| {
        stack(found, name)
            .charges
            .iter()
            .map(|one| (one.figure, one.limit.call))
            .collect::<Vec<_>>()
    };
    let found = held(0.05, 0.05);
    assert!(found.fails());
    assert!(rate(&found, "loop").limit.is_none(), "only what is named is judged");
    assert_eq!(calls(&found, "loop")[0], ("mean latency", LimitCall::Fails));
    let loose = held(10.0, 10.0);
    assert!(!loose.fails());
    assert_eq!(
        calls(&loose, "loop"),
        [("mean latency", LimitCall::Passes), ("CPU per I/O", LimitCall::Passes)]
    );
    let said = &stack(&found, "loop").charges[0];
    assert!(
        said.sentence.starts_with("loop, new against old: mean latency +"),
        "{}",
        said.sentence
    );
    assert_eq!(said.limit.sentence, "fails: all of the interval is a rise beyond 5 %");
    assert!(found.result.as_ref().unwrap().starts_with("--fail-above latency=5 %,cpu=5 %: fails;"));
}

#[test]
fn a_service_level_fails_where_the_new_run_breaks_what_the_old_one_did_not() {
    let (old, mut new) = (twin::bill_of_seed(42), twin::a_week_later(43, 2.0 * LOOP_NS));
    let mean = |run: &RunData| {
        let found = crate::findings(run);
        let row = found.workloads[0].rows.iter().find(|row| row.stack == "loop").unwrap().latency
            [0]
        .clone();
        row.p50.value().unwrap()
    };
    let between = (mean(&old) * mean(&new)).sqrt();
    let level =
        |below_ns: f64| ServiceLevel { metric: None, percent: 50.0, below_ns: below_ns as u64 };
    new.start.scenario.measure.slo = vec![level(between), level(1.0), level(1e12)];
    let found = compare_runs(&old, &new, RegressionLimits::default()).unwrap();
    let calls: Vec<_> =
        stack(&found, "loop").slo.iter().map(|one| (one.old, one.new, one.call)).collect();
    assert_eq!(
        calls,
        [
            (ServiceVerdict::Kept, ServiceVerdict::Broken, LimitCall::Fails),
            (ServiceVerdict::Broken, ServiceVerdict::Broken, LimitCall::Passes),
            (ServiceVerdict::Kept, ServiceVerdict::Kept, LimitCall::Passes),
        ]
    );
    assert!(
        found.fails() && found.result.as_ref().unwrap().starts_with("service levels: fails; of ")
    );
    let said = &stack(&found, "loop").slo[0].sentence;
    assert!(
        said.starts_with("loop breaks read p50 < ")
            && said.ends_with("; kept in the old run: fails"),
        "{said}"
    );
    let plain =
        compare_runs(&old, &twin::a_week_later(43, LOOP_NS), RegressionLimits::default()).unwrap();
    assert!(plain.result.is_none() && stack(&plain, "loop").slo.is_empty());
}

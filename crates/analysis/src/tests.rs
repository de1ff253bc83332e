//! Known truth in, known truth out: the twin's costs must be found within their intervals.

use crate::findings::{BillLine, Interval, MeasuredFigure, SampleUnit};
use crate::{Findings, RunData, findings, twin};
use iotax_load::Job;
use iotax_model::record::{
    DesignUp, Place, PlaceFacts, Purpose, SampleValue, Slice, Warning, WorkerUp,
};
use iotax_stats::pilot::Pattern;
use iotax_stats::{Concludes, Refusal, Verdict};

fn covers(figure: &MeasuredFigure, truth: f64) -> bool {
    figure.bounds().is_some_and(|(low, high)| low <= truth && truth <= high)
}

/// Widest interval that still says something.
fn narrow(figure: &MeasuredFigure, percent: f64) -> bool {
    figure.bounds().is_some_and(|(low, high)| (high / low - 1.0).abs() * 50.0 <= percent)
}

#[test]
fn the_bill_finds_each_layer_and_explains_the_total() {
    let found = findings(&twin::bill());
    let bill = found.workloads[0].bill.as_ref().unwrap();
    let truths = [90_000.0 / 93_700.0, 93_700.0 / 96_600.0, 96_600.0 / 106_600.0];
    let added = [3_700.0, 2_900.0, 10_000.0].map(|ns| ns * (0.08f64).exp() * 1.035);
    assert_eq!(bill.lines.len(), 3);
    for ((line, truth), added) in bill.lines.iter().zip(truths).zip(added) {
        assert!(
            covers(&line.ratio, truth) && narrow(&line.ratio, 6.0),
            "{}: {:?}, {truth}",
            line.layer,
            line.ratio
        );
        let (low, high) = line.added_latency.bounds().unwrap();
        assert!(
            low < added && added < high && high - low < 5_000.0,
            "{}: {low} {high} {added}",
            line.layer
        );
    }
    assert!(covers(&bill.total.ratio, 90.0 / 106.6));
    // Points of the baseline's rate add up, each within its interval.
    let rates = [1e9 / 90_000.0, 1e9 / 93_700.0, 1e9 / 96_600.0, 1e9 / 106_600.0];
    let points = |line: &BillLine| line.of_baseline.value().unwrap() - 1.0;
    for (line, pair) in bill.lines.iter().zip(rates.windows(2)) {
        assert!(
            covers(&line.of_baseline, 1.0 + (pair[1] - pair[0]) / rates[0]),
            "{:?}",
            line.of_baseline
        );
    }
    assert!((bill.lines.iter().map(points).sum::<f64>() - points(&bill.total)).abs() < 1e-9);
    let left = &bill.unexplained.ratio;
    assert!((left.value().unwrap() - 1.0).abs() < 1e-9 && narrow(left, 1e-6), "{left:?}");
    let deep: &BillLine = &found.workloads[1].bill.as_ref().unwrap().lines[0];
    assert_eq!(deep.added_latency, MeasuredFigure::missing("only at iodepth 1"));
}

#[test]
fn the_lines_of_many_bills_are_covered() {
    const SEEDS: u64 = 50;
    let truths = [90_000.0 / 93_700.0, 93_700.0 / 96_600.0, 96_600.0 / 106_600.0];
    let covered: usize = (100..100 + SEEDS)
        .map(|seed| {
            let bill = findings(&twin::bill_of_seed(seed)).workloads.remove(0).bill.unwrap();
            bill.lines
                .iter()
                .zip(truths)
                .filter(|(line, truth)| covers(&line.ratio, *truth))
                .count()
        })
        .sum();
    let share = covered as f64 / (3 * SEEDS) as f64;
    // The intervals hold for all lines simultaneously.
    assert!(share >= 0.97, "{share}");
}

#[test]
fn the_headline_is_the_largest_real_difference() {
    let found = findings(&twin::bill());
    let headline = found.headline.unwrap();
    assert!(headline.starts_with("delay(us=10) against file: costs 1"), "{headline}");
    assert!(headline.contains("of 4k random-read IOPS at iodepth"), "{headline}");
}

#[test]
fn the_answer_of_a_single_stack_of_several_layers_names_its_bill() {
    let alone = |name: &str| {
        let mut run = twin::bill();
        run.start.scenario.bill = false;
        run.start.scenario.stacks.retain(|stack| stack.name == name);
        run.slices.retain(|slice| slice.stack == name);
        findings(&run).no_headline
    };
    let nothing = "one stack only: nothing to compare";
    assert_eq!(alone("file").as_deref(), Some(nothing));
    let with_bill = format!("{nothing}; --bill measures each of its layers");
    assert_eq!(alone("loop"), Some(with_bill));
}

#[test]
fn a_against_a_is_no_difference_and_no_headline() {
    let found = findings(&twin::a_against_a());
    let verdict = &found.workloads[0].comparisons[0].rate.verdict;
    assert!(matches!(verdict, Verdict::NoDifference { .. }), "{verdict:?}");
    assert_eq!(found.headline, None);
    assert_eq!(
        found.no_headline.unwrap(),
        "only a stack and itself were compared: a check of the ruler"
    );
    let ruler = found.ruler.unwrap();
    assert!(ruler.holds, "{}", ruler.sentence);
    assert!(
        ruler
            .sentence
            .starts_with("Check of the ruler: file-again against file: no difference above ")
    );
    assert!(ruler.sentence.ends_with(" % (1 of 1)"), "{}", ruler.sentence);
}

#[test]
fn a_difference_of_a_stack_from_itself_is_the_rulers_error_and_no_headline() {
    let plain = findings(&twin::faster());
    assert!(plain.headline.is_some() && plain.ruler.is_none());
    let mut run = twin::faster();
    let base = run.start.scenario.stacks[0].layers.clone();
    run.start.scenario.stacks[1].layers =
        base.into_iter().chain([twin::layer("null", &[])]).collect();
    let found = findings(&run);
    assert_eq!(
        (found.headline, found.workloads[0].comparisons[0].rate.verdict.is_resolved()),
        (None, true)
    );
    let ruler = found.ruler.unwrap();
    assert!(
        !ruler.holds && ruler.sentence.starts_with("Check of the ruler FAILED: "),
        "{}",
        ruler.sentence
    );
    assert!(ruler.sentence.contains("treat differences below "), "{}", ruler.sentence);
}

#[test]
fn a_headline_of_many_has_the_interval_that_holds_over_all() {
    let found = findings(&twin::many(6, 10));
    let headline = found.headline.unwrap();
    let (stack, quantity) = found.headline_of.unwrap();
    let mut all = found.workloads.iter().flat_map(|workload| &workload.comparisons);
    let one = all.find(|one| one.stack == stack && one.rate.quantity == quantity).unwrap();
    let Some(Interval::Bounds { low, high, .. }) = one.rate.simultaneous else { panic!("{one:?}") };
    let at_once =
        Verdict::of_interval(one.rate.ratio.value().unwrap(), low, high, 0.0).sentence(&quantity);
    let end = "(the largest difference; the interval holds for all 60 comparisons together)";
    assert_eq!(headline, format!("s6 against file: {at_once} {end}"));
    assert_eq!(
        one.rate.sentence,
        format!("s6 against file: {at_once}"),
        "one interval for one number"
    );
}

/// Checks that a conclusion agrees with the interval printed beside it.
fn agrees(verdict: &Verdict, ratio: &MeasuredFigure, what: &str) {
    let Some((low, high)) = ratio.bounds() else { return };
    match verdict {
        Verdict::Costs { low: least, high: most, .. } => {
            assert!(
                high < 1.0 && (1.0 - high - least).abs() < 1e-9 && (1.0 - low - most).abs() < 1e-9,
                "{what}"
            );
        }
        Verdict::Gains { low: least, high: most, .. } => {
            assert!(
                low > 1.0 && (low - 1.0 - least).abs() < 1e-9 && (high - 1.0 - most).abs() < 1e-9,
                "{what}"
            );
        }
        Verdict::NoDifference { above } => {
            assert!(
                low <= 1.0 && high >= 1.0 && (1.0 - low).max(high - 1.0) <= above + 1e-9,
                "{what}"
            );
        }
        Verdict::Unresolved { change, reason, .. } => {
            if let Some(change) = change {
                assert!(
                    (change.low + 1.0 - low).abs() < 1e-9
                        && (change.high + 1.0 - high).abs() < 1e-9,
                    "{what}"
                );
            }
            if matches!(reason, Refusal::AmongMany { .. } | Refusal::TooWide { .. }) {
                assert!(
                    low <= 1.0 && high >= 1.0,
                    "unresolved, and the interval excludes zero: {what}"
                );
            }
        }
    }
}

#[test]
fn a_verdict_and_its_interval_never_contradict_each_other_and_comparisons_are_counted_alike() {
    let runs = [
        twin::many(6, 10),
        twin::matrix(),
        twin::bill(),
        twin::mixed(),
        twin::writes(),
        twin::visits(),
    ];
    for run in runs {
        let found = findings(&run);
        let mut counts = std::collections::BTreeSet::new();
        let mut families = 0;
        for workload in &found.workloads {
            for one in workload.all_comparisons() {
                let rates =
                    std::iter::once(&one.rate).chain(one.directions.iter().map(|one| &one.rate));
                rates.for_each(|rate| agrees(&rate.verdict, &rate.at_once(), &rate.sentence));
                families += usize::from(one.rate.simultaneous.is_some());
                if let Some(Refusal::AmongMany { many }) = one.rate.verdict.reason() {
                    counts.insert(*many);
                }
            }
            for line in workload.bill.iter().flat_map(|bill| bill.lines.iter().chain([&bill.total]))
            {
                agrees(&line.verdict, &line.ratio, &line.layer);
            }
            if let Some(bill) = &workload.bill {
                families += bill.lines.len() - 1;
            }
            for charges in workload.all_charges() {
                let excludes =
                    charges.cpu.ratio.bounds().map(|(low, high)| low > 1.0 || high < 1.0);
                let of_interval = |reason: &Refusal| matches!(reason, Refusal::AmongMany { .. });
                if charges.cpu.verdict.reason().is_some_and(of_interval) {
                    assert_eq!(excludes, Some(false), "{}", charges.cpu.sentence);
                }
            }
        }
        assert!(counts.iter().all(|many| *many == families), "{counts:?} of {families}");
        let said = found.headline.or(found.no_headline).unwrap();
        if families > 1 {
            assert!(
                said.contains(&format!("{families} comparisons")) || said.contains("a limit"),
                "{said}"
            );
        }
    }
}

#[test]
fn a_difference_that_does_not_hold_over_all_is_no_headline() {
    let mut run = twin::matrix();
    run.start
        .scenario
        .stacks
        .iter_mut()
        .for_each(|stack| stack.layers.push(twin::layer(&stack.name, &[])));
    let among = |found: &Findings| {
        let all = found.workloads.iter().flat_map(|workload| &workload.comparisons);
        all.filter(|one| {
            matches!(
                one.rate.verdict,
                Verdict::Unresolved { reason: Refusal::AmongMany { .. }, .. }
            )
        })
        .count()
    };
    // Without the one stack that costs something all that is left is chance.
    run.slices.retain(|slice| slice.stack != "loop");
    let found = findings(&run);
    assert!(among(&found) > 0 && found.headline.is_none(), "{:?}", found.headline);
    let why = found.no_headline.unwrap();
    assert!(
        why.starts_with("no difference above ")
            && why.contains(" of 24 comparisons, the others unresolved"),
        "{why}"
    );
}

#[test]
fn emulated_figures_are_labelled_and_make_no_headline() {
    let found = findings(&twin::guest());
    assert_eq!(found.headline, None);
    assert_eq!(
        found.no_headline.as_deref(),
        Some("the guests are emulated, and emulated figures are never the headline")
    );
    assert!(
        found.workloads[0].comparisons[0].rate.sentence.starts_with("vm(vcpus=2) against file ~: ")
    );
    assert!(found.emulated[0].contains("figures of vm are emulated"));
    assert!(
        found.workloads[0].rows[0].emulated.is_none()
            && found.workloads[0].rows[1].emulated.is_some()
    );
}

#[test]
fn many_emulated_guests_are_named_once_by_their_ends() {
    let mut run = twin::guest();
    let guest = run.places.pop().unwrap();
    for visit in 0..2 {
        let named = |number| PlaceFacts {
            place: Place::Guest(format!("vm{}", number + 16 * visit)),
            ..guest.clone()
        };
        run.places.extend((0..16).map(named));
    }
    assert_eq!(
        findings(&run).emulated,
        [
            "figures of vm0 to vm31 are emulated and not representative: no usable KVM, QEMU runs with TCG"
        ]
    );
}

#[test]
fn too_few_rounds_name_the_budget_that_would_be_enough() {
    let mut run = twin::partial();
    let workload = run.start.scenario.workloads[0].name.clone();
    run.ends = vec![(workload, "budget".to_owned())];
    run.start.scenario.measure.budget_ns = 30_000_000_000;
    let remedy =
        |run: &RunData| findings(run).workloads[0].comparisons[0].rate.remedy.clone().unwrap();
    let rounds = findings(&run).workloads[0].rows[1].rounds as f64;
    let enough = (30.0 * 1.15 * 16.0 / rounds).ceil();
    run.start.scenario.measure.slice_ns = None;
    assert_eq!(remedy(&run), format!("raise --budget, to about {enough}s"));
    run.start.scenario.measure.slice_ns = Some(200_000_000);
    assert_eq!(remedy(&run), format!("raise --budget, to about {enough}s, or shorten --slice"));
    let workload = run.start.scenario.workloads[0].name.clone();
    run.designs.push(DesignUp {
        workload,
        slice_ns: 1_000_000_000,
        pattern: Pattern::Mirror,
        period_ns: None,
        pilot_slices: 0,
        series: None,
        why: "the least that fio's clock and start-up allow, where 200 ms were asked for".into(),
    });
    assert_eq!(
        remedy(&run),
        format!("raise --budget, to about {enough}s"),
        "shorter ones cannot be had"
    );
}

#[test]
fn a_killed_run_is_read_without_its_lopsided_round() {
    let found = findings(&twin::partial());
    assert_eq!(found.run.state, "killed");
    let running = findings(&RunData { is_running: true, ..twin::partial() });
    assert_eq!((running.run.state, &running.run.failure), ("running", &None));
    let failed =
        findings(&RunData { outcome: Some("guest vm0: no room".into()), ..twin::partial() });
    assert_eq!(failed.run.state_said(), "failed: guest vm0: no room");
    for (found, kind) in [(&found, "killed"), (&running, "running")] {
        let kinds: Vec<&str> = found.warnings.iter().map(|one| one.kind.as_str()).collect();
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    let row = &found.workloads[0].rows[1];
    assert_eq!(row.rounds + findings_dropped(&found), 10);
    assert!(
        matches!(&row.iops, MeasuredFigure::Known { interval: Interval::Missing { missing }, .. } if missing.contains("16"))
    );
    let verdict = &found.workloads[0].comparisons[0].rate.verdict;
    assert!(
        matches!(verdict, Verdict::Unresolved { reason: Refusal::TooFewRounds { .. }, .. }),
        "{verdict:?}"
    );
    let one = &found.workloads[0].comparisons[0];
    assert!(
        one.rate.ratio.value().is_some() && one.rate.ratio.bounds().is_none(),
        "a value for which there is no interval yet"
    );
    assert_eq!(one.rate.remedy, Some(format!("iotax resume {}", found.run.id)));
    let mut swapped = twin::partial();
    swapped.start.siblings = 2;
    let swapped = findings(&swapped).workloads[0].comparisons[0].rate.remedy.clone();
    assert_eq!(swapped.as_deref(), Some("let it run to its end"), "it cannot be resumed");
    let cpu = &found.workloads[0].charges[0].cpu;
    assert!(cpu.difference.value().is_some() && cpu.difference.bounds().is_none(), "{cpu:?}");
    for kind in ["killed", "torn_frames", "partial_rounds"] {
        assert!(found.warnings.iter().any(|warning| warning.kind == kind), "{kind}");
    }
}

fn findings_dropped(found: &Findings) -> u64 {
    u64::from(
        found
            .warnings
            .iter()
            .any(|warning| warning.kind == "partial_rounds" && warning.subject == "loop"),
    )
}

#[test]
fn a_run_is_readable_after_any_slice() {
    for length in 0..80 {
        let mut run = twin::failed();
        run.slices.truncate(length);
        run.outcome = None;
        let found = findings(&run);
        assert_eq!(found.workloads[0].rows.len(), 4);
        assert!(found.workloads[0].measured_s.is_sign_positive(), "no -0.0 s of load");
        assert!(
            found.workloads[0]
                .comparisons
                .iter()
                .all(|one| length > 0 || !one.rate.verdict.is_resolved())
        );
    }
}

#[test]
fn writes_have_two_figures_a_regime_and_a_debt() {
    let found = findings(&twin::writes());
    let workload = &found.workloads[0];
    let quantities: Vec<&str> =
        workload.comparisons.iter().map(|one| one.rate.quantity.as_str()).collect();
    assert_eq!(
        quantities,
        [
            "4k random-write IOPS (acknowledged, burst) at iodepth 8",
            "4k random-write IOPS (durable, burst) at iodepth 8"
        ]
    );
    // Time per byte is compared, yet a slower stack still costs.
    for one in &workload.comparisons {
        assert!(
            covers(&one.rate.ratio, 40.0 / 48.0) && narrow(&one.rate.ratio, 2.0),
            "{:?}",
            one.rate.ratio
        );
        assert!(matches!(one.rate.verdict, Verdict::Costs { .. }));
    }
    let row = &workload.rows[0];
    let (fast, slow) = (
        row.bytes_per_s.value().unwrap(),
        row.durable_bytes_per_s.as_ref().unwrap().value().unwrap(),
    );
    assert!((fast / slow - 1.3).abs() < 1e-6);
    assert!((row.debt.as_ref().unwrap().waited_s - 96.0 * 0.004).abs() < 1e-9);
}

#[test]
fn ios_in_flight_that_one_gate_does_not_know_are_not_zero() {
    let mut run = twin::writes();
    let stack = run.start.scenario.stacks[0].name.clone();
    for in_flight in [Some(3), None] {
        let slice = run.slices.iter_mut().find(|slice| slice.stack == stack).unwrap();
        slice.gate.as_mut().unwrap().in_flight = in_flight;
        assert_eq!(findings(&run).workloads[0].rows[0].debt.as_ref().unwrap().in_flight, in_flight);
    }
}

#[test]
fn a_write_without_a_recorded_flush_is_not_called_durable() {
    let mut run = twin::writes();
    run.slices[0].samples.retain(|sample| sample.metric != "flush");
    let found = findings(&run);
    assert!(!found.workloads[0].comparisons[1].rate.verdict.is_resolved());
    assert!(found.workloads[0].comparisons[0].rate.verdict.is_resolved());
    assert_eq!(
        found.workloads[0].rows[1].durable_bytes_per_s.as_ref().unwrap().value().is_some(),
        run.slices[0].stack == "file"
    );
}

#[test]
fn a_failed_layer_is_failed_and_its_cost_is_left_unexplained() {
    let found = findings(&twin::failed());
    let workload = &found.workloads[0];
    assert!(
        matches!(&workload.rows[1].iops, MeasuredFigure::Failed { reason } if reason.contains("Input/output error (os error 5)"))
    );
    let bill = workload.bill.as_ref().unwrap();
    assert!(matches!(bill.lines[0].ratio, MeasuredFigure::Failed { .. }));
    assert!(
        matches!(&bill.lines[1].ratio, MeasuredFigure::Missing { reason } if reason.contains("loop below it"))
    );
    assert_eq!(bill.unexplained.layer, "unexplained (with loop, fs(xfs))");
    assert!(covers(&bill.unexplained.ratio, 90.0 / 96.6) && narrow(&bill.unexplained.ratio, 2.0));
    assert!(workload.comparisons[0].rate.sentence.contains("loop failed: 3 I/Os failed"));
}

#[test]
fn stacks_that_are_never_up_together_are_paired_by_visits() {
    let found = findings(&twin::visits());
    let one = &found.workloads[0].comparisons[0];
    assert!(
        matches!(one.rate.ratio, MeasuredFigure::Known { n: 6, of: SampleUnit::Visits, .. }),
        "{:?}",
        one.rate.ratio
    );
    assert!(covers(&one.rate.ratio, 200.0 / 150.0), "{:?}", one.rate.ratio);
    assert!(matches!(one.rate.verdict, Verdict::Gains { .. }));
    assert!(!found.not_excluded.iter().any(|line| line.contains("this attach")));
}

#[test]
fn a_failed_sample_spoils_its_round_only() {
    let mut run = twin::a_against_a();
    run.slices[5].samples[0].value = SampleValue::Failed("worker said nothing".into());
    let found = findings(&run);
    let rows = &found.workloads[0].rows;
    assert_eq!(rows[0].rounds + rows[1].rounds, 95);
    assert!(matches!(
        found.workloads[0].comparisons[0].rate.ratio,
        MeasuredFigure::Known { n: 47, .. }
    ));
}

#[test]
fn torn_histograms_are_said_and_the_rest_is_used() {
    let mut run = twin::a_against_a();
    let whole = run.histograms;
    run.histograms =
        iotax_store::SegmentSource::new(
            move |offset: u64| if offset == 0 { None } else { whole.read_at(offset) },
        );
    let found = findings(&run);
    assert!(found.warnings.iter().any(|warning| warning.kind == "torn_histograms"));
    assert!(found.workloads[0].rows.iter().all(|row| row.latency[0].p50.value().is_some()));
}

#[test]
fn recorded_warnings_are_not_said_twice() {
    let with = |warned: bool, goes_on: bool| {
        let mut run = twin::a_against_a();
        let jobs = run.start.scenario.workloads.iter_mut().flat_map(|workload| &mut workload.jobs);
        jobs.for_each(|job| job.continue_on_error = goes_on);
        run.slices[3].errors = 2;
        let stack = run.slices[3].stack.clone();
        if warned {
            run.warnings.push(Warning {
                kind: "io_errors".into(),
                subject: stack,
                text: "2 reads failed: EIO".into(),
            });
        }
        findings(&run).warnings.iter().filter(|warning| warning.kind == "io_errors").count()
    };
    assert_eq!((with(false, false), with(true, false)), (1, 1));
    assert_eq!(with(true, true), 2, "what the record tells is of the first slice alone");
}

#[test]
fn latency_figures_are_ordered_and_come_from_merged_histograms() {
    let found = findings(&twin::bill());
    for row in found.workloads.iter().flat_map(|workload| &workload.rows) {
        let latency = &row.latency[0];
        let values: Vec<f64> = [&latency.p50, &latency.p99, &latency.p999]
            .iter()
            .filter_map(|figure| figure.value())
            .collect();
        assert!(
            values.len() >= 2 && values.windows(2).all(|pair| pair[0] < pair[1]),
            "{}: {latency:?}",
            row.stack
        );
        assert!(latency.p50.value() < latency.mean.value(), "a tail draws the mean up");
    }
}

#[test]
fn every_known_figure_holds_its_value_inside_its_interval() {
    let runs: [fn() -> RunData; 12] = [
        twin::bill,
        twin::failed,
        twin::a_against_a,
        twin::guest,
        twin::partial,
        twin::writes,
        twin::visits,
        twin::three_figures,
        twin::late,
        twin::masked,
        twin::attaches,
        twin::disturbed,
    ];
    for run in runs {
        let json = serde_json::to_value(findings(&run())).unwrap();
        walk(&json, &mut |figure| {
            let number = |key: &str| figure["interval"][key].as_f64();
            if let (Some(low), Some(high)) = (number("low"), number("high")) {
                let value = figure["value"].as_f64().unwrap();
                assert!(low <= value && value <= high, "{figure}");
            }
        });
    }
}

#[test]
fn a_guest_without_a_cost_in_throughput_has_one_in_latency_and_cpu() {
    let found = findings(&twin::three_figures());
    let (workload, charges) = (&found.workloads[0], &found.workloads[0].charges[0]);
    assert!(
        matches!(workload.comparisons[0].rate.verdict, Verdict::NoDifference { .. }),
        "{:?}",
        workload.comparisons
    );
    assert!(covers(
        &charges.latency.ratio,
        105_750.0 / 90_000.0 * (1.0 - 40_000.0 * 90e-6 / 8e3)
            / (1.0 - 40_000.0 * 105.75e-6 / 9.4e3)
    ));
    assert!(matches!(*charges.latency.verdict, Verdict::Costs { .. }));
    // The host's own 2.3 us beside what the guest computes.
    let (low, high) = charges.cpu.difference.bounds().unwrap();
    assert!(low < 2_300.0 + 100.0 && high > 2_300.0 - 100.0 && high - low < 400.0, "{low} {high}");
    let row = |at: usize| {
        workload.rows[at].cpu.value().unwrap() - workload.rows[at].cpu_place.value().unwrap()
    };
    assert!(
        row(0).abs() < 1e-6 && (row(1) - 2_300.0).abs() < 100.0,
        "only the guest has a host below it"
    );
    assert_eq!(found.headline, None, "latency makes no headline");
    let why = found.no_headline.as_deref().unwrap();
    assert!(
        why.starts_with("no difference above ") && why.contains(" in throughput (1 comparison)"),
        "{why}"
    );
    let matched = workload.matched.as_ref().unwrap();
    assert_eq!(
        (matched.rate_iops, matched.origin.as_str()),
        (Some(40_000.0), "taken from vm(vcpus=2), the slowest")
    );
    // Runs of several sets did not name a slowest stack that was not up when the rate was fixed.
    let mut nameless = twin::three_figures();
    nameless.matched[0].slowest.clear();
    let origin = findings(&nameless).workloads.remove(0).matched.map(|matched| matched.origin);
    assert_eq!(origin.as_deref(), Some("taken from the slowest stack"));
    assert!(matched.rows.iter().all(|row| row.kept_up == Some(true)));
    let design = workload.design.as_ref().unwrap();
    assert!(
        design.sentence.starts_with("slices of 20.0 ms in ")
            && design.period_ns == Some(81_000_000)
    );
    assert!(workload.beside.as_ref().unwrap().sentence.contains("no difference above"));
    assert!(workload.comparisons[0].checks.length.is_some_and(|found| found.rounds == 8));
}

#[test]
fn long_slices_that_tell_another_ratio_withhold_the_verdict() {
    let mut run = twin::three_figures();
    for slice in run
        .slices
        .iter_mut()
        .filter(|slice| slice.purpose == Purpose::Long && slice.stack != "file")
    {
        slice.window_ns *= 2;
    }
    let found = findings(&run);
    let one = &found.workloads[0].comparisons[0];
    assert!(
        matches!(
            &one.rate.verdict,
            Verdict::Unresolved { reason: Refusal::LengthMatters { .. }, .. }
        ),
        "{one:?}"
    );
    let cpu = &found.workloads[0].charges[0].cpu;
    assert!(
        matches!(cpu.verdict.reason(), Some(Refusal::LengthMatters { .. })),
        "the same slices: {cpu:?}"
    );
    assert!(
        one.rate.sentence.ends_with("; to settle it: use longer slices (--slice)"),
        "{}",
        one.rate.sentence
    );
}

#[test]
fn who_does_not_keep_up_has_no_latency_and_a_guest_without_its_host_no_cpu_time() {
    let charges = &findings(&twin::late()).workloads[0].charges[0];
    let reason = charges.latency.verdict.reason();
    assert!(matches!(reason, Some(Refusal::NotKeptUp { of_baseline: false, .. })), "{reason:?}");
    assert!(charges.percentiles.is_empty());
    assert!(charges.cpu.not_measured().unwrap().contains("was not recorded"), "{:?}", charges.cpu);
    let old = &findings(&twin::a_against_a()).workloads[0];
    assert_eq!(
        old.charges[0].latency.not_measured(),
        Some("the run has no slices at a matched rate")
    );
    assert!(old.charges[0].latency.sentence.contains("not measured: the run has no slices"));
}

#[test]
fn an_open_loop_is_its_own_matched_rate() {
    let found = findings(&twin::rates());
    let guest = |at: usize| &found.workloads[at].charges[1].latency;
    assert!(
        guest(0).sentence.contains("the mean latency of 4k random reads at 10,000 I/Os a second")
    );
    assert!(matches!(guest(3).verdict.reason(), Some(Refusal::NotKeptUp { .. })));
    let masked =
        |at: usize| found.workloads[at].comparisons[0].masked.as_ref().map(|masked| masked.short());
    assert_eq!(masked(0), Some("offered rate"));
    assert_ne!(masked(4), Some("offered rate"), "the last rate is kept up by neither");
    // Two members are offered the rate each: that is another load.
    let mut run = twin::rates();
    run.workers
        .iter_mut()
        .filter(|worker| worker.stack == "file")
        .for_each(|w| w.others = vec!["/dev/b".into()]);
    let found = findings(&run);
    let guest = &found.workloads[0].charges[1].latency;
    assert!(
        guest.not_measured().is_some_and(|why| why.contains("do not have as many")),
        "{guest:?}"
    );
    assert_ne!(
        found.workloads[0].comparisons[0].masked.as_ref().map(|masked| masked.short()),
        Some("offered rate")
    );
}

#[test]
fn latencies_of_fio_on_a_schedule_are_not_compared_with_ours() {
    let by_fio = |mut run: RunData, stacks: &[&str]| {
        let of =
            |worker: &&mut WorkerUp| stacks.is_empty() || stacks.contains(&worker.stack.as_str());
        run.workers
            .iter_mut()
            .filter(of)
            .for_each(|worker| worker.engine = "fio 3.33".to_owned().into());
        findings(&run)
    };
    let why =
        "latencies of file begin when fio issues an I/O, those of vm(vcpus=2) when it was due";
    let told = |found: &Findings| {
        found.warnings.iter().any(|one| one.text.contains("what compares with latencies of"))
    };
    // At the matched rate.
    let found = by_fio(twin::three_figures(), &["file"]);
    let workload = &found.workloads[0];
    assert_eq!(workload.charges[0].latency.not_measured(), Some(why));
    assert!(workload.charges[0].percentiles.is_empty());
    assert!(
        workload
            .matched
            .as_ref()
            .unwrap()
            .rows
            .iter()
            .all(|row| row.latency[0].mean.value().is_some())
    );
    assert!(
        !workload.comparisons[0].latency_ratios.is_empty(),
        "of a queue that is kept full all begin alike"
    );
    assert_ne!(found.headline.as_deref(), Some(workload.charges[0].latency.sentence.as_str()));
    assert!(told(&found));
    // At the workload's own.
    let found = by_fio(twin::rates(), &["loop"]);
    let workload = &found.workloads[0];
    let about_loop = workload.charges.iter().filter(|one| one.latency.not_measured().is_some());
    assert_eq!(about_loop.map(|one| one.stack.as_str()).collect::<Vec<_>>(), ["loop"]);
    let of = |stack: &str| workload.comparisons.iter().find(|one| one.stack == stack).unwrap();
    assert!(of("loop").latency_ratios.is_empty() && !of("vm(vcpus=1)").latency_ratios.is_empty());
    assert!(workload.rows.iter().all(|row| !row.latency.is_empty()));
    assert!(told(&found));
    // fio on both sides, or a queue that is kept full.
    for found in [by_fio(twin::three_figures(), &[]), by_fio(twin::bill(), &["loop"])] {
        assert!(!told(&found), "{:?}", found.warnings);
        assert!(
            found
                .workloads
                .iter()
                .flat_map(|one| &one.charges)
                .all(|one| one.latency.not_measured() != Some(why))
        );
    }
}

#[test]
fn a_round_without_a_completion_is_a_round() {
    let mut run = twin::three_figures();
    // I/Os that waited are served in the next round, so the stack keeps up.
    let ours = |slice: &&mut Slice| slice.purpose == Purpose::Matched && slice.stack != "file";
    for slice in run.slices.iter_mut().filter(ours) {
        let factor = match slice.round {
            7 => 0.0,
            8 => 2.0,
            _ => continue,
        };
        slice.samples.retain(|sample| factor > 0.0 || !sample.metric.ends_with(".latency"));
        for sample in &mut slice.samples {
            if let (true, SampleValue::Value(count)) =
                (sample.metric.starts_with("read."), &mut sample.value)
            {
                *count *= factor;
            }
        }
    }
    let latency = |run: &RunData| findings(run).workloads[0].charges[0].latency.clone();
    let (some, all) = (latency(&run), latency(&twin::three_figures()));
    assert!(some.verdict.is_resolved(), "{}", some.sentence);
    assert_ne!(some.ratio, all.ratio);
}

#[test]
fn what_a_ceiling_hides_is_masked_and_no_headline() {
    let found = findings(&twin::masked());
    let workload = &found.workloads[0];
    for one in &workload.comparisons {
        assert!(
            one.masked.is_some() && one.rate.sentence.contains("; masked by a steady limit"),
            "{}",
            one.rate.sentence
        );
    }
    let bill = workload.bill.as_ref().unwrap();
    assert!(bill.lines.iter().all(|line| line.masked.is_some()) && bill.total.masked.is_some());
    assert_eq!(found.headline, None, "CPU time makes none either");
    assert_eq!(
        found.no_headline.as_deref(),
        Some("both stacks hit the same limit, so throughput does not show what a layer costs")
    );
    assert!(
        findings(&twin::bill()).workloads[0].comparisons.iter().all(|one| one.masked.is_none())
    );
}

#[test]
fn busy_cpus_and_a_busy_generator_are_ceilings_only_if_both_have_them() {
    let with = |change: &dyn Fn(&mut iotax_model::record::Slice), both: bool| {
        let mut run = twin::a_against_a();
        run.slices.iter_mut().filter(|slice| both || slice.stack == "file").for_each(change);
        findings(&run).workloads[0].comparisons[0].masked.as_ref().map(|masked| masked.short())
    };
    let busy = |slice: &mut iotax_model::record::Slice| slice.cpu.as_mut().unwrap().idle_ns = 0;
    assert_eq!((with(&busy, true), with(&busy, false)), (Some("busy CPUs"), None));
    let spinning = |slice: &mut iotax_model::record::Slice| {
        let whole = (slice.window_ns + slice.discarded_ns + slice.drain_ns) as f64;
        for sample in slice.samples.iter_mut().filter(|sample| sample.metric == "cpu.user") {
            sample.value = SampleValue::Value(0.96 * whole);
        }
    };
    assert_eq!((with(&spinning, true), with(&spinning, false)), (Some("generator"), None));
}

#[test]
fn threads_that_spin_until_an_io_is_due_are_no_ceiling() {
    let masked = |rate_iops: Option<u64>| {
        let mut run = twin::a_against_a();
        run.start.scenario.workloads[0].jobs[0].rate_iops = rate_iops;
        for slice in &mut run.slices {
            let whole = (slice.window_ns + slice.discarded_ns + slice.drain_ns) as f64;
            let user = slice.samples.iter_mut().find(|one| one.metric == "cpu.user").unwrap();
            user.value = SampleValue::Value(0.96 * whole);
        }
        findings(&run).workloads[0].comparisons[0].masked.as_ref().map(|masked| masked.short())
    };
    // A rate that is kept is a ceiling of its own: this one is not.
    assert_eq!((masked(None), masked(Some(1_000_000))), (Some("generator"), None));
}

#[test]
fn a_limit_that_sets_in_is_refused_with_what_to_read_instead() {
    let one = &findings(&twin::rate_limited()).workloads[0].comparisons[0];
    assert!(
        matches!(
            &one.rate.verdict,
            Verdict::Unresolved { reason: Refusal::RateLimited { .. }, .. }
        ),
        "{one:?}"
    );
    assert_eq!(one.masked.as_ref().map(|masked| masked.short()), Some("rate limit"));
    assert!(
        one.rate.sentence.contains("to settle it: read latency at the matched rate"),
        "{}",
        one.rate.sentence
    );
}

#[test]
fn a_break_of_the_level_alone_is_a_warning() {
    let mut run = twin::a_against_a();
    // Both reach a third of the I/Os in the second half.
    for slice in run.slices.iter_mut().filter(|slice| slice.round >= 24) {
        slice.window_ns *= 3;
    }
    let found = findings(&run);
    let warning = found.warnings.iter().find(|warning| warning.kind == "level").expect("a warning");
    assert!(warning.text.contains("their ratio did not change with it"), "{}", warning.text);
    assert!(!matches!(
        found.workloads[0].comparisons[0].rate.verdict,
        Verdict::Unresolved { reason: Refusal::Regimes { .. }, .. }
    ));
}

#[test]
fn chance_is_no_cost_among_many_and_a_real_one_stays() {
    let found = findings(&twin::matrix());
    let all: Vec<_> = found.workloads.iter().flat_map(|workload| &workload.comparisons).collect();
    let among = |stack: &str| {
        let of = all.iter().filter(|one| (one.stack == "loop") == (stack == "loop"));
        of.filter(|one| {
            matches!(
                one.rate.verdict,
                Verdict::Unresolved { reason: Refusal::AmongMany { many: 27 }, .. }
            )
        })
        .count()
    };
    assert!(among("null") > 0, "the seed was chosen for a false cost");
    assert!(all.iter().all(|one| one.stack == "loop"
        || !matches!(one.rate.verdict, Verdict::Costs { .. } | Verdict::Gains { .. })));
    assert!(
        all.iter()
            .any(|one| one.stack == "loop" && matches!(one.rate.verdict, Verdict::Costs { .. }))
    );
    for one in &all {
        let Some(Interval::Bounds { low, high, .. }) = one.rate.simultaneous else {
            panic!("{one:?}")
        };
        let (own_low, own_high) = one.rate.ratio.bounds().unwrap();
        assert!(low < own_low && high > own_high, "{}", one.rate.sentence);
    }
    assert!(found.not_excluded.iter().any(|line| line.contains("5 in 100 such runs")));
    let one = &findings(&twin::a_against_a()).workloads[0];
    let [comparison, ..] = one.comparisons.as_slice() else { panic!("{one:?}") };
    let width = |(low, high): (f64, f64)| high - low;
    let [own, at_once] =
        [&comparison.rate.ratio, &comparison.rate.at_once()].map(|one| one.bounds().unwrap());
    assert!(
        width(at_once) > width(own),
        "latency and CPU time have their parts of one comparison too"
    );
}

#[test]
fn three_attaches_are_the_unit_where_they_were_asked_for() {
    let mut run = twin::attaches();
    let found = findings(&run);
    let (workload, one) = (&found.workloads[0], &found.workloads[0].comparisons[0]);
    assert!(
        matches!(one.rate.ratio, MeasuredFigure::Known { n: 3, of: SampleUnit::Attaches, .. }),
        "{:?}",
        one.rate.ratio
    );
    assert!(one.rate.sentence.ends_with(" over 3 attaches"), "{}", one.rate.sentence);
    assert!(
        workload.charges[0].cpu.sentence.contains(" over 3 attaches"),
        "{}",
        workload.charges[0].cpu.sentence
    );
    let this_attach =
        |found: &Findings| found.not_excluded.iter().any(|line| line.contains("this attach"));
    assert!(!this_attach(&found));
    // Without the requested attaches the same record has rounds within three visits.
    run.start.scenario.measure.attaches = 1;
    let strata = findings(&run);
    assert!(matches!(
        strata.workloads[0].comparisons[0].rate.ratio,
        MeasuredFigure::Known { n: 60, of: SampleUnit::Rounds, .. }
    ));
    assert!(this_attach(&strata));
}

#[test]
fn latencies_of_stacks_that_are_visited_have_the_visit_as_their_unit() {
    let p50 = |found: &Findings| found.workloads[0].comparisons[0].latency_ratios[0].2.clone();
    let visited = findings(&twin::visits());
    assert!(
        matches!(p50(&visited), MeasuredFigure::Known { n: 6, of: SampleUnit::Visits, .. }),
        "{:?}",
        p50(&visited)
    );
    assert!(covers(&p50(&visited), 0.75), "{:?}", p50(&visited));
    let attached = findings(&twin::attaches());
    assert!(
        matches!(p50(&attached), MeasuredFigure::Known { n: 3, of: SampleUnit::Attaches, .. }),
        "{:?}",
        p50(&attached)
    );
    let mut few = twin::visits();
    few.slices.retain(|slice| slice.visit < 3);
    let few = p50(&findings(&few));
    assert!(
        matches!(&few, MeasuredFigure::Missing { reason } if reason.contains("visits")),
        "{few:?}"
    );
}

#[test]
fn a_disturbed_baseline_is_measured_apart_and_says_so() {
    let found = findings(&twin::disturbed());
    let workload = &found.workloads[0];
    let beside = workload.beside.as_ref().unwrap();
    assert!(covers(&beside.ratio, 0.95), "{:?}", beside.ratio);
    assert!(
        beside.sentence.ends_with(" slower (it was measured in visits therefore)"),
        "{}",
        beside.sentence
    );
    assert!(matches!(
        workload.comparisons[0].rate.ratio,
        MeasuredFigure::Known { of: SampleUnit::Visits, n: 6, .. }
    ));
    assert!(found.warnings.iter().any(|warning| warning.kind == "apart"));
    assert!(found.apart.is_some());
}

#[test]
fn what_was_measured_before_the_stacks_were_apart_does_not_count() {
    let mut run = twin::disturbed();
    // A visit of both together, of the set that the run began with.
    let mut together: Vec<_> =
        run.slices.iter().filter(|slice| slice.visit == 1).cloned().collect();
    together.iter_mut().for_each(|slice| (slice.visit, slice.set) = (0, 7));
    let before = findings(&run).workloads[0].comparisons[0].clone();
    run.slices.extend(together);
    let after = &findings(&run).workloads[0].comparisons[0];
    assert_eq!((&before.rate.ratio, before.measured_s), (&after.rate.ratio, after.measured_s));
}

#[test]
fn a_run_that_ends_early_keeps_the_visits_that_were_measured_apart() {
    let mut run = twin::disturbed();
    // The second stack got one visit more than the first before somebody stopped it.
    run.slices.retain(|slice| slice.visit < 4 || (slice.visit == 4 && slice.set == 1));
    let found = findings(&run);
    assert!(matches!(
        found.workloads[0].comparisons[0].rate.ratio,
        MeasuredFigure::Known { of: SampleUnit::Visits, n: 4, .. }
    ));
}

#[test]
fn a_resumed_run_is_one_series_of_rounds() {
    let whole = twin::a_against_a();
    let mut resumed = twin::a_against_a();
    // Killed after two rounds; what came after that is another visit.
    resumed.slices.iter_mut().filter(|slice| slice.round >= 2).for_each(|slice| slice.visit = 1);
    let of = |run: &RunData| findings(run).workloads[0].comparisons[0].rate.ratio.clone();
    assert_eq!(of(&whole), of(&resumed));
    // With files that are swapped at half time, each weighs as much as the other.
    resumed.start.siblings = 2;
    assert_ne!(of(&whole), of(&resumed));
}

#[test]
fn a_bill_of_two_depths_is_one_table() {
    let found = findings(&twin::bill());
    let [joint] = found.joint_bills.as_slice() else { panic!("{:?}", found.joint_bills) };
    let [one, deep] = [0, 1].map(|at| found.workloads[at].bill.as_ref().unwrap());
    assert!(
        joint.sole
            && joint.subject.ends_with("microseconds at iodepth 1, rate and CPU at iodepth 32")
    );
    for (line, (from, to)) in joint.bill.lines.iter().zip(one.lines.iter().zip(&deep.lines)) {
        assert_eq!(
            (&line.added_latency, &line.ratio, &line.added_cpu),
            (&from.added_latency, &to.ratio, &to.added_cpu)
        );
    }
    let named = findings(&twin::named_bill());
    assert!(!named.joint_bills[0].sole, "loads that were named keep their own tables");
    assert!(findings(&twin::bill_of_seed(1)).joint_bills.is_empty());
}

#[test]
fn a_gate_that_fails_withholds_the_line_too() {
    let mut run = twin::bill();
    // The loop device drifts away from the others for good, and comes back.
    for slice in run.slices.iter_mut().filter(|slice| slice.stack == "loop") {
        slice.window_ns =
            (slice.window_ns as f64 * (1.0 + 0.02 * (f64::from(slice.round) / 8.0).sin())) as u64;
    }
    let found = findings(&run);
    let line = &found.workloads[0].bill.as_ref().unwrap().lines[0];
    let reason = |verdict: &Verdict| match verdict {
        Verdict::Unresolved { reason, .. } => Some(reason.word()),
        _ => None,
    };
    assert_eq!(reason(&line.verdict), reason(&found.workloads[0].comparisons[0].rate.verdict));
    assert!(reason(&line.verdict).is_some(), "{line:?}");
    assert!(line.ratio.value().is_some(), "the figure is printed all the same");
}

fn walk(value: &serde_json::Value, see: &mut impl FnMut(&serde_json::Value)) {
    if value["state"] == "known" {
        see(value);
    }
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| walk(item, see)),
        serde_json::Value::Object(fields) => fields.values().for_each(|item| walk(item, see)),
        _ => {}
    }
}

#[test]
fn the_bytes_that_the_load_reached_are_those_of_all_members_and_guests_of_a_stack() {
    let reached = |change: fn(&mut RunData)| {
        let mut run = twin::a_against_a();
        change(&mut run);
        findings(&run).workloads[0].reached_bytes
    };
    assert_eq!(reached(|run| run.workers.clear()), None);
    let whole = reached(|run| jobs(run).for_each(|job| job.size = None));
    assert_eq!(whole, Some(4 << 30));
    assert_eq!(reached(|run| jobs(run).for_each(|job| job.size = Some(1 << 30))), Some(1 << 30));
    assert_eq!(reached(|run| jobs(run).for_each(|job| job.size = Some(8 << 30))), Some(4 << 30));
    // Two drives with the same load each, then as many guests with a part each.
    let drives = |run: &mut RunData| {
        run.workers.iter_mut().for_each(|worker| worker.others = vec!["/dev/b".into()])
    };
    assert_eq!(reached(drives), Some(8 << 30));
    let guests = |run: &mut RunData| {
        let another: Vec<_> = run
            .workers
            .iter()
            .cloned()
            .map(|one| WorkerUp { place: "vm9".into(), ..one })
            .collect();
        run.workers.extend(another);
    };
    assert_eq!(reached(guests), Some(8 << 30));
    // Each stack is loaded on its own: sizes are no sum over stacks, and where they differ both
    // ends are said.
    let mut run = twin::a_against_a();
    run.workers.iter_mut().skip(1).for_each(|worker| worker.others = vec!["/dev/b".into()]);
    let found = &findings(&run).workloads[0];
    assert_eq!((found.reached_bytes, found.most_reached_bytes), (Some(4 << 30), Some(8 << 30)));
}

fn jobs(run: &mut RunData) -> impl Iterator<Item = &mut Job> {
    run.start.scenario.workloads.iter_mut().flat_map(|workload| &mut workload.jobs)
}

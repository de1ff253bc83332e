//! Known truth in, known truth out: the twin's costs must be found within their intervals.

use super::findings::{BillLine, Figure, Interval};
use super::{Findings, RunData, findings, twin};
use crate::stats::{Refusal, Verdict};
use crate::store::record::{Value, Warning};

fn covers(figure: &Figure, truth: f64) -> bool {
    figure.bounds().is_some_and(|(low, high)| low <= truth && truth <= high)
}

/// Widest interval that still says something.
fn narrow(figure: &Figure, percent: f64) -> bool {
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
            covers(&line.ratio, truth) && narrow(&line.ratio, 1.5),
            "{}: {:?}, {truth}",
            line.layer,
            line.ratio
        );
        let (low, high) = line.added_latency.bounds().unwrap();
        assert!(low < added && added < high && high - low < 4_000.0, "{}: {low} {high} {added}", line.layer);
    }
    assert!(covers(&bill.total.ratio, 90.0 / 106.6));
    let left = &bill.unexplained.ratio;
    assert!((left.value().unwrap() - 1.0).abs() < 1e-9 && narrow(left, 1e-6), "{left:?}");
    let deep: &BillLine = &found.workloads[1].bill.as_ref().unwrap().lines[0];
    assert_eq!(deep.added_latency, Figure::missing("only at iodepth 1"));
}

#[test]
fn the_lines_of_many_bills_are_covered() {
    const SEEDS: u64 = 50;
    let truths = [90_000.0 / 93_700.0, 93_700.0 / 96_600.0, 96_600.0 / 106_600.0];
    let covered: usize = (100..100 + SEEDS)
        .map(|seed| {
            let bill = findings(&twin::bill_of_seed(seed)).workloads.remove(0).bill.unwrap();
            bill.lines.iter().zip(truths).filter(|(line, truth)| covers(&line.ratio, *truth)).count()
        })
        .sum();
    let share = covered as f64 / (3 * SEEDS) as f64;
    assert!((0.89..=0.995).contains(&share), "{share}");
}

#[test]
fn the_headline_is_the_largest_real_difference() {
    let found = findings(&twin::bill());
    let headline = found.headline.unwrap();
    assert!(headline.starts_with("delay(us=10) against file: costs 1"), "{headline}");
    assert!(headline.contains("of 4k random-read IOPS at iodepth"), "{headline}");
}

#[test]
fn a_against_a_is_no_difference_and_no_headline() {
    let found = findings(&twin::a_against_a());
    let verdict = &found.workloads[0].comparisons[0].verdict;
    assert!(matches!(verdict, Verdict::NoDifference { .. }), "{verdict:?}");
    assert_eq!(found.headline, None);
    assert!(found.no_headline.unwrap().contains("ceiling"));
}

#[test]
fn emulated_figures_are_labelled_and_make_no_headline() {
    let found = findings(&twin::guest());
    assert_eq!(found.headline, None);
    assert_eq!(found.no_headline.as_deref(), Some("figures are emulated and not representative"));
    assert!(found.workloads[0].comparisons[0].sentence.ends_with("(emulated: not representative)"));
    assert!(found.emulated[0].contains("figures of vm are emulated"));
    assert!(found.workloads[0].rows[0].emulated.is_none() && found.workloads[0].rows[1].emulated.is_some());
}

#[test]
fn a_killed_run_is_read_without_its_lopsided_round() {
    let found = findings(&twin::partial());
    assert_eq!(found.run.state, "unfinished");
    let row = &found.workloads[0].rows[1];
    assert_eq!(row.rounds + findings_dropped(&found), 10);
    assert!(
        matches!(&row.iops, Figure::Known { interval: Interval::Missing { missing }, .. } if missing.contains("16"))
    );
    let verdict = &found.workloads[0].comparisons[0].verdict;
    assert!(
        matches!(verdict, Verdict::Unresolved { reason: Refusal::TooFewRounds { .. }, .. }),
        "{verdict:?}"
    );
    for kind in ["unfinished", "torn_frames", "partial_rounds"] {
        assert!(found.warnings.iter().any(|warning| warning.kind == kind), "{kind}");
    }
}

fn findings_dropped(found: &Findings) -> u64 {
    u64::from(
        found.warnings.iter().any(|warning| warning.kind == "partial_rounds" && warning.subject == "loop"),
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
        assert!(found.workloads[0].comparisons.iter().all(|one| length > 0 || !one.verdict.is_resolved()));
    }
}

#[test]
fn writes_have_two_figures_a_regime_and_a_debt() {
    let found = findings(&twin::writes());
    let workload = &found.workloads[0];
    let quantities: Vec<&str> = workload.comparisons.iter().map(|one| one.quantity.as_str()).collect();
    assert_eq!(
        quantities,
        [
            "4k random-write IOPS (acknowledged, burst) at iodepth 8",
            "4k random-write IOPS (durable, burst) at iodepth 8"
        ]
    );
    // Time per byte is compared, yet a slower stack still costs.
    for one in &workload.comparisons {
        assert!(covers(&one.ratio, 40.0 / 48.0) && narrow(&one.ratio, 2.0), "{:?}", one.ratio);
        assert!(matches!(one.verdict, Verdict::Costs { .. }));
    }
    let row = &workload.rows[0];
    let (fast, slow) =
        (row.bytes_per_s.value().unwrap(), row.durable_bytes_per_s.as_ref().unwrap().value().unwrap());
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
    assert!(!found.workloads[0].comparisons[1].verdict.is_resolved());
    assert!(found.workloads[0].comparisons[0].verdict.is_resolved());
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
        matches!(&workload.rows[1].iops, Figure::Failed { reason } if reason.contains("Input/output error (os error 5)"))
    );
    let bill = workload.bill.as_ref().unwrap();
    assert!(matches!(bill.lines[0].ratio, Figure::Failed { .. }));
    assert!(matches!(&bill.lines[1].ratio, Figure::Missing { reason } if reason.contains("loop below it")));
    assert_eq!(bill.unexplained.layer, "unexplained (with loop, fs(xfs))");
    assert!(covers(&bill.unexplained.ratio, 90.0 / 96.6) && narrow(&bill.unexplained.ratio, 2.0));
    assert!(workload.comparisons[0].sentence.contains("loop failed: 3 I/Os failed"));
}

#[test]
fn stacks_that_are_never_up_together_are_paired_by_visits() {
    let found = findings(&twin::visits());
    let one = &found.workloads[0].comparisons[0];
    assert!(matches!(one.ratio, Figure::Known { n: 6, of: "visits", .. }), "{:?}", one.ratio);
    assert!(covers(&one.ratio, 200.0 / 150.0), "{:?}", one.ratio);
    assert!(matches!(one.verdict, Verdict::Gains { .. }));
    assert!(!found.not_excluded.iter().any(|line| line.contains("this attach")));
}

#[test]
fn a_failed_sample_spoils_its_round_only() {
    let mut run = twin::a_against_a();
    run.slices[5].samples[0].value = Value::Failed("worker said nothing".into());
    let found = findings(&run);
    let rows = &found.workloads[0].rows;
    assert_eq!(rows[0].rounds + rows[1].rounds, 95);
    assert!(matches!(found.workloads[0].comparisons[0].ratio, Figure::Known { n: 47, .. }));
}

#[test]
fn torn_histograms_are_said_and_the_rest_is_used() {
    let mut run = twin::a_against_a();
    let whole = run.histograms;
    run.histograms = Box::new(move |offset: u64| if offset == 0 { None } else { whole.histogram(offset) });
    let found = findings(&run);
    assert!(found.warnings.iter().any(|warning| warning.kind == "torn_histograms"));
    assert!(found.workloads[0].rows.iter().all(|row| row.latency[0].p50.value().is_some()));
}

#[test]
fn recorded_warnings_are_not_said_twice() {
    let with = |warned: bool| {
        let mut run = twin::a_against_a();
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
    assert_eq!((with(false), with(true)), (1, 1));
}

#[test]
fn latency_figures_are_ordered_and_come_from_merged_histograms() {
    let found = findings(&twin::bill());
    for row in found.workloads.iter().flat_map(|workload| &workload.rows) {
        let latency = &row.latency[0];
        let values: Vec<f64> =
            [&latency.p50, &latency.p99, &latency.p999].iter().filter_map(|figure| figure.value()).collect();
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
    let runs: [fn() -> RunData; 7] =
        [twin::bill, twin::failed, twin::a_against_a, twin::guest, twin::partial, twin::writes, twin::visits];
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

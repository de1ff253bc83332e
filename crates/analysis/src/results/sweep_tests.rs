//! Known curves in, known knees and courses out; and what is not sure is not said.

use super::*;
use crate::findings::Findings;
use crate::findings::SampleUnit;
use crate::findings::sweep::{CostTrend, KneePosition};
use crate::{RunData, findings, twin};
use iotax_stats::Verdict;

fn only(run: &RunData) -> SweepFindings {
    let mut found: Findings = findings(run);
    assert_eq!(found.sweeps.len(), 1);
    found.sweeps.remove(0)
}

fn said(sweep: &SweepFindings) -> String {
    let stacks = sweep.curves.iter().flat_map(|curve| &curve.stacks);
    stacks
        .flat_map(StackCurve::conclusion_sentences)
        .map(|sentence| format!("{sentence}\n"))
        .collect()
}

fn places(sweep: &SweepFindings) -> Vec<&KneePosition> {
    sweep.curves.iter().flat_map(|curve| &curve.stacks).map(|stack| &stack.knee.place).collect()
}

fn values(spots: &[SweepValue]) -> Vec<u64> {
    spots.iter().map(|at| at.value).collect()
}

#[test]
fn the_knee_of_a_saturating_curve_is_found() {
    let sweep = only(&twin::sweep());
    assert_eq!((sweep.axis.as_str(), sweep.throughput, sweep.points), ("iodepth", "1/s", 6));
    for (place, truth) in places(&sweep).into_iter().zip([8, 8, 4]) {
        let KneePosition::Inside { at, not_told_apart, no_interval } = place else {
            panic!("{place:?}")
        };
        assert!(at.value == truth || values(not_told_apart).contains(&truth), "{place:?}");
        assert!(not_told_apart.len() <= 1 && no_interval.is_empty(), "{place:?}");
    }
    insta::assert_snapshot!(said(&sweep));
}

#[test]
fn power_is_throughput_over_latency_and_holds_its_truth() {
    let sweep = only(&twin::sweep());
    for point in sweep.curves[0].stacks.iter().flat_map(|stack| &stack.points) {
        let (power, iops, latency) = (&point.power, point.iops.value(), point.latency.value());
        let expected = iops.unwrap() / (latency.unwrap() / 1e6);
        // The mean of the row is of merged histograms; this one of the sums of all rounds.
        assert!((power.value().unwrap() / expected - 1.0).abs() < 0.01, "{power:?} {expected}");
        let (low, high) = power.bounds().unwrap();
        assert!(low < expected && expected < high, "{power:?}");
    }
}

#[test]
fn in_a_closed_loop_power_varies_twice_as_much_as_the_rate() {
    let mut noise = iotax_stats::noise::Noise::new(3);
    let factors: Vec<f64> = (0..64).map(|_| (0.02 * noise.normal()).exp()).collect();
    // A faster round has both more I/Os and shorter ones: twice the spread, not 1.4 times.
    let rates: Vec<(f64, f64)> = factors.iter().map(|factor| (1.0, 1e4 * factor)).collect();
    let waits: Vec<(f64, f64)> = factors.iter().map(|factor| (1.0, 1e5 / factor)).collect();
    let spread =
        |figure: &MeasuredFigure| figure.bounds().map(|(low, high)| (high / low).ln()).unwrap();
    let times = spread(&quotient(&rates, &waits, "1/s/ms").unwrap())
        / spread(&rate_ratio::of_totals(&rates, "1/s"));
    assert!((1.9..2.1).contains(&times), "{times}");
}

#[test]
fn a_cost_that_grows_and_one_that_stays() {
    let sweep = only(&twin::sweep());
    let stacks = &sweep.curves[0].stacks;
    assert!(stacks[0].courses.is_empty(), "the baseline has no cost");
    let CostTrend::Same { ratio: Interval::Bounds { low, high, .. } } =
        &stacks[1].courses[0].change
    else {
        panic!("{:?}", stacks[1].courses)
    };
    assert!(*low <= 90.0 / 93.7 && 90.0 / 93.7 <= *high, "{low} {high}");
    let CostTrend::Changes { more, less, extremes: true } = &stacks[2].courses[0].change else {
        panic!("{:?}", stacks[2].courses)
    };
    assert!(more.at.value >= 16 && less.at.value <= 2, "{more:?} {less:?}");
}

#[test]
fn a_cost_that_stays_is_rarely_said_to_change() {
    let changes = (300..340).filter(|seed| {
        let sweep = only(&twin::sweep_of_seed(*seed));
        matches!(sweep.curves[0].stacks[1].courses[0].change, CostTrend::Changes { .. })
    });
    // Six intervals of 95 % each would disagree far more often than all six at once.
    assert!(changes.count() <= 4);
}

#[test]
fn a_maximum_at_the_edge_is_no_knee() {
    let rising = only(&twin::rising_sweep());
    assert!(
        said(&rising).contains(
            "file: no knee within 1..8: still rising at 8; to settle it: sweep iodepth beyond 8 too\n"
        ),
        "{}",
        said(&rising)
    );
    assert!(
        places(&rising)
            .iter()
            .all(|place| matches!(place, KneePosition::Edge { at, .. } if at.value == 8))
    );
    let two = only(&truncated(twin::rising_sweep(), 2));
    assert!(
        said(&two).contains(
            "file: no knee: 2 points, and a knee needs 3; to settle it: sweep over more values\n"
        ),
        "{}",
        said(&two)
    );
}

fn truncated(mut run: RunData, points: usize) -> RunData {
    run.start.scenario.workloads.truncate(points);
    run
}

#[test]
fn points_are_sorted_and_unmeasured_ones_say_nothing() {
    let mut run = twin::sweep();
    run.start.scenario.workloads.reverse();
    run.slices.retain(|slice| slice.workload != "twin iodepth=16");
    let sweep = only(&run);
    let file = &sweep.curves[0].stacks[0];
    assert_eq!(
        file.points.iter().map(|point| point.at.value).collect::<Vec<_>>(),
        [1, 2, 4, 8, 16, 32]
    );
    assert!(file.knee.sentence.ends_with("(no interval at 16)"), "{}", file.knee.sentence);
    let course = &sweep.curves[0].stacks[1].courses[0].sentence;
    assert!(course.contains("not counted, without a sure interval: 16"), "{course}");
}

#[test]
fn a_killed_sweep_says_what_it_can() {
    // A point has 288 slices, and an interval after 96 of them.
    for (keep, told) in [(0, false), (50, false), (600, false), (700, true), (1500, true)] {
        let mut run = twin::sweep();
        run.slices.truncate(keep);
        run.outcome = None;
        let sweep = only(&run);
        let measured =
            sweep.curves[0].stacks[0].points.iter().filter(|point| point.power.value().is_some());
        assert!(measured.count() <= keep.div_ceil(288));
        assert_eq!(told, !said(&sweep).contains("no knee: "), "{keep}: {}", said(&sweep));
    }
}

#[test]
fn a_grid_has_a_curve_for_each_value_of_the_second_word() {
    let sweep = only(&twin::grid());
    assert_eq!((sweep.points, sweep.curve_word.as_deref()), (10, Some("bs")));
    let curves: Vec<&str> =
        sweep.curves.iter().filter_map(|curve| Some(curve.at.as_ref()?.shown.as_str())).collect();
    assert_eq!(curves, ["4k", "64k"]);
    assert!(
        sweep.curves.iter().all(|curve| curve.stacks.iter().all(|stack| stack.points.len() == 5))
    );
    assert!(said(&sweep).contains("file at bs 64k: knee at iodepth 8"), "{}", said(&sweep));
}

#[test]
fn rates_that_were_not_kept_up_are_marked_and_the_last_one_that_was_is_said() {
    let sweep = only(&twin::rates());
    let kept = |stack: usize| -> Vec<Option<bool>> {
        sweep.curves[0].stacks[stack].points.iter().map(|point| point.kept_up).collect()
    };
    let flags = |kept_up: [bool; 5]| kept_up.map(Some).to_vec();
    assert_eq!(kept(0), flags([true, true, true, true, false]));
    assert_eq!(kept(2), flags([true, true, true, false, false]));
    insta::assert_snapshot!(said(&sweep));
    let all = only(&truncated(twin::rates(), 3));
    assert!(
        said(&all).contains("file: kept up with every rate, to rate_iops 32000\n"),
        "{}",
        said(&all)
    );
    let threads = {
        let mut run = twin::rates();
        run.start.scenario.workloads.iter_mut().for_each(|workload| workload.jobs[0].numjobs = 2);
        only(&run)
    };
    assert_eq!(
        threads.curves[0].stacks[0].points[0].offered,
        Some(20_000.0),
        "a rate is one of a thread"
    );
    assert!(said(&threads).contains("kept up with no rate (10000: 50 % of the offered rate)"));
}

#[test]
fn writes_have_two_courses_and_a_sweep_over_bs_counts_bytes() {
    let sweep = only(&twin::block_sizes());
    assert_eq!((sweep.throughput, sweep.unit), ("B/s", "B"));
    let layer = &sweep.curves[0].stacks[1];
    let quantities: Vec<&str> = layer.courses.iter().map(|course| course.quantity).collect();
    assert_eq!(quantities, ["acknowledged", "durable"]);
    assert!(layer.courses[1].sentence.starts_with("loop against file (durable): "));
    let (first, bytes) = (&layer.points[0], layer.points[0].bytes_per_s.value().unwrap());
    let expected = bytes / (first.latency.value().unwrap() / 1e6);
    assert!((first.power.value().unwrap() / expected - 1.0).abs() < 0.01);
}

#[test]
fn simultaneous_intervals_are_wider_and_hold_their_value() {
    let figure = |freedom| MeasuredFigure::Known {
        value: 0.9,
        unit: "1",
        n: 40,
        of: SampleUnit::Rounds,
        interval: Interval::of_t(0.88, 0.92, freedom),
        caution: None,
    };
    let one = SimultaneousFigure::stretch_figure(&figure(19.0), 1).unwrap();
    assert!((one.low - 0.88).abs() < 1e-9 && (one.high - 0.92).abs() < 1e-9);
    let ten = SimultaneousFigure::stretch_figure(&figure(19.0), 10).unwrap();
    // t(0.9975, 19) over t(0.975, 19), as printed in tables: 3.174 / 2.093.
    let stretch = (0.9f64 / ten.low).ln() / (0.9f64 / 0.88).ln();
    assert!((stretch - 3.174 / 2.093).abs() < 2e-3, "{stretch}");
    // Rounds that remember leave few degrees of freedom: 7.453 / 3.182 at three.
    let few = SimultaneousFigure::stretch_figure(&figure(3.0), 10).unwrap();
    assert!(((0.9f64 / few.low).ln() / (0.9f64 / 0.88).ln() - 7.453 / 3.182).abs() < 2e-3);
    assert_eq!(SimultaneousFigure::stretch_figure(&MeasuredFigure::missing("why"), 10), None);
}

#[test]
fn what_the_gate_refuses_is_no_end_of_a_course() {
    let mut found = findings(&twin::sweep());
    let worst = &mut found.workloads[5].comparisons[1];
    assert_eq!(worst.stack, "vm(vcpus=1)");
    let reason = Refusal::DependentBatches { correlation: 0.9, bound: 0.4 };
    worst.rate.verdict = Verdict::Unresolved { half_width: Some(0.01), change: None, reason };
    let run = twin::sweep();
    let readings: Vec<WorkloadView> = WorkloadView::all_of_run(&run);
    let sweep = sweeps(&readings, &found.workloads).remove(0);
    let course = &sweep.curves[0].stacks[2].courses[0];
    assert!(course.sentence.contains("largest at 16 ("), "{}", course.sentence);
    let (_, left_out) =
        course.sentence.split_once("not counted, without a sure interval: ").unwrap();
    assert!(left_out.contains("32"), "{}", course.sentence);
}

#[test]
fn a_point_of_a_mix_has_its_reads_and_writes_apart() {
    let sweep = only(&twin::mixed_sweep());
    for stack in &sweep.curves[0].stacks {
        for point in &stack.points {
            let [read, write] = point.directions.as_slice() else { panic!("{point:?}") };
            assert_eq!([read.direction, write.direction], ["read", "write"]);
            let [whole, reads, writes] =
                [&point.iops, &read.iops, &write.iops].map(|figure| figure.value().unwrap());
            assert!(
                ((reads + writes) / whole - 1.0).abs() < 1e-9
                    && (reads / writes - 1.0).abs() < 0.05
            );
            assert_eq!(
                [read.costs.len(), write.costs.len()],
                [point.costs.len().min(1), point.costs.len()]
            );
            for (cost, of_one) in point.costs.iter().zip(&write.costs) {
                assert_eq!(cost.quantity, of_one.quantity);
                // The job fixes how many are writes.
                let ratio = cost.ratio.value().unwrap();
                let (low, high) =
                    of_one.ratio.with_interval(of_one.simultaneous.as_ref()).bounds().unwrap();
                assert!(low < ratio && ratio < high, "{ratio} {of_one:?}");
            }
        }
    }
    assert!(
        only(&twin::sweep()).curves[0].stacks[1]
            .points
            .iter()
            .all(|point| point.directions.is_empty())
    );
}

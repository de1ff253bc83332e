//! Reads and writes of a mix apart.

use crate::findings::{Comparison, Findings, MeasuredFigure, WorkloadFindings};
use crate::{RunData, findings, twin};
use iotax_load::{Job, Rw};
use iotax_model::record::SampleValue;
use iotax_stats::{Refusal, Verdict};

fn covers(figure: &MeasuredFigure, truth: f64, within: f64) -> bool {
    let (low, high) = figure.bounds().unwrap_or((f64::NAN, f64::NAN));
    low <= truth && truth <= high && high / low < 1.0 + within
}

/// Mean time of an I/O of the mix: reads and writes in us, and the share of reads.
fn time(read: f64, write: f64, reads: f64) -> f64 {
    reads * read + (1.0 - reads) * write
}

fn workload(found: &Findings) -> &WorkloadFindings {
    &found.workloads[0]
}

fn of<'a>(found: &'a Findings, stack: &str, durable: bool) -> &'a crate::findings::Comparison {
    workload(found)
        .comparisons
        .iter()
        .filter(|one| one.stack == stack)
        .nth(usize::from(durable))
        .unwrap()
}

#[test]
fn each_direction_has_its_own_known_cost_within_its_interval() {
    let found = findings(&twin::mixed());
    // One that keeps the mix takes the same share of both.
    let same = time(90.0, 30.0, 0.5) / time(110.0, 54.0, 0.5);
    let of_loop = of(&found, "loop", false);
    assert!(covers(&of_loop.rate.ratio, same, 0.03), "{:?}", of_loop.rate.ratio);
    assert_eq!(
        of_loop.directions.iter().map(|one| one.direction).collect::<Vec<_>>(),
        ["read", "write"]
    );
    for one in &of_loop.directions {
        assert!(covers(&one.rate.ratio, same, 0.03), "{} {:?}", one.direction, one.rate.ratio);
        assert!(matches!(one.rate.verdict, Verdict::Costs { .. }), "{one:?}");
    }
    // One that does not, of each its own.
    let whole = time(90.0, 30.0, 0.5) / time(112.0, 60.0, 0.45);
    let of_fs = of(&found, "fs(xfs)", false);
    assert!(covers(&of_fs.rate.ratio, whole, 0.03), "{:?}", of_fs.rate.ratio);
    for (one, truth) in of_fs.directions.iter().zip([0.9 * whole, 1.1 * whole]) {
        assert!(
            covers(&one.rate.ratio, truth, 0.03),
            "{} {truth} {:?}",
            one.direction,
            one.rate.ratio
        );
    }
    let quantities: Vec<&str> =
        of_fs.directions.iter().map(|one| one.rate.quantity.as_str()).collect();
    assert_eq!(
        quantities,
        [
            "4k random 50/50 mixed read IOPS (burst) at iodepth 1",
            "4k random 50/50 mixed write IOPS (acknowledged, burst) at iodepth 1"
        ]
    );
}

#[test]
fn intervals_of_directions_hold_the_truth_as_often_as_they_say() {
    let (same, other) = (
        time(90.0, 30.0, 0.5) / time(110.0, 54.0, 0.5),
        time(90.0, 30.0, 0.5) / time(112.0, 60.0, 0.45),
    );
    let truths = [("loop", [same; 2]), ("fs(xfs)", [0.9 * other, 1.1 * other])];
    let (mut held, mut all) = (0, 0);
    for seed in 0..30 {
        let found = findings(&twin::mixed_of_seed(seed));
        for (stack, truths) in truths {
            for (one, truth) in of(&found, stack, false).directions.iter().zip(truths) {
                (held, all) = (held + u32::from(covers(&one.rate.ratio, truth, 0.2)), all + 1);
            }
        }
    }
    // 114 of 120 on average; both directions of a stack share their noise.
    assert!(all == 120 && held >= 106, "{held} of {all}");
}

#[test]
fn latencies_of_each_direction_have_their_own_known_cost() {
    let found = findings(&twin::mixed());
    let charges = &workload(&found).charges[0];
    for (one, truth) in charges.directions.iter().zip([110.0 / 90.0, 54.0 / 30.0]) {
        assert!(
            covers(&one.latency.ratio, truth, 0.05),
            "{} {:?}",
            one.direction,
            one.latency.ratio
        );
        assert!(one.latency.verdict.is_resolved(), "{}", one.latency.sentence);
        assert!(
            one.latency.quantity.starts_with(&format!("the mean {} latency of ", one.direction))
        );
    }
    assert!(charges.says_directions, "they are apart");
}

#[test]
fn rates_of_directions_add_up_to_the_whole_and_only_writes_are_flushed() {
    let found = findings(&twin::mixed());
    for row in &workload(&found).rows {
        let [read, write] = row.directions.as_slice() else { panic!("{row:?}") };
        let sum = read.iops.value().unwrap() + write.iops.value().unwrap();
        assert!((sum / row.iops.value().unwrap() - 1.0).abs() < 1e-9);
        assert!(read.durable_bytes_per_s.is_none() && write.durable_bytes_per_s.is_some());
    }
    let durable = of(&found, "loop", true);
    assert_eq!(durable.directions.iter().map(|one| one.direction).collect::<Vec<_>>(), ["write"]);
    assert!(durable.directions[0].rate.quantity.contains("write IOPS (durable, burst)"));
}

#[test]
fn a_layer_of_the_bill_has_what_it_adds_to_a_read_and_to_a_write() {
    let found = findings(&twin::mixed());
    let line = &workload(&found).bill.as_ref().unwrap().lines[0];
    for (one, added_us) in line.directions.iter().zip([20.0, 24.0]) {
        let (low, high) = one.added_latency.bounds().unwrap();
        let truth = 1.12 * 1e3 * added_us;
        assert!(low < 1.01 * truth && 0.99 * truth < high && high - low < 0.2 * truth, "{one:?}");
    }
    assert_eq!(line.directions[0].ratio, of(&found, "loop", false).directions[0].rate.ratio);
}

#[test]
fn directions_share_the_chance_of_a_false_difference_with_whole_loads() {
    let found = findings(&twin::mixed());
    let mut run = twin::mixed();
    // With the record of a load that only writes, there are no directions.
    run.start.scenario.workloads[0].jobs[0].rw = Rw::RandWrite;
    let whole = findings(&run);
    assert!(workload(&whole).comparisons.iter().all(|one| one.directions.is_empty()));
    for (one, other) in workload(&found).comparisons.iter().zip(&workload(&whole).comparisons) {
        assert_eq!(one.rate.ratio, other.rate.ratio);
        let width = |one: &Comparison| {
            let (low, high) = one.rate.at_once().bounds().unwrap();
            high - low
        };
        assert!(width(one) > width(other));
    }
    // Their own intervals hold together too.
    for one in workload(&found).comparisons.iter().flat_map(|one| &one.directions) {
        let wide = one.rate.ratio.with_interval(one.rate.simultaneous.as_ref()).bounds().unwrap();
        let own = one.rate.ratio.bounds().unwrap();
        assert!(wide.0 < own.0 && own.1 < wide.1, "{one:?}");
    }
}

#[test]
fn a_headline_is_of_the_whole_load() {
    let found = findings(&twin::mixed());
    let headline = found.headline.unwrap();
    assert!(headline.contains("mixed IOPS (acknowledged, burst)"), "{headline}");
}

#[test]
fn directions_are_said_where_they_differ_or_are_asked_for() {
    let said = |run: &RunData| -> Vec<bool> {
        workload(&findings(run)).comparisons.iter().map(|one| one.says_directions).collect()
    };
    let mut run = twin::mixed();
    assert_eq!(
        said(&run),
        [true, false, true, false],
        "the scenario names read iops, as acknowledged"
    );
    run.start.scenario.published = None;
    assert_eq!(said(&run), [false, false, true, false], "of loop and of fs(xfs)");
    // Figures of latencies ask for no rates.
    let mut published = twin::mixed().start.scenario.published.unwrap();
    published.figures.retain(|one| one.metric.unit() == "ns");
    assert!(!published.figures.is_empty());
    run.start.scenario.published = Some(published);
    assert_eq!(said(&run), [false, false, true, false]);
}

#[test]
fn what_spoils_the_slices_of_a_mix_spoils_its_directions() {
    let mut run = twin::mixed();
    // The loop device takes twice as long in the second half, and nothing else does.
    for slice in run.slices.iter_mut().filter(|slice| slice.stack == "loop" && slice.round >= 24) {
        slice.window_ns *= 2;
    }
    let found = findings(&run);
    let one = of(&found, "loop", false);
    assert!(
        matches!(&one.rate.verdict, Verdict::Unresolved { reason: Refusal::Regimes { .. }, .. }),
        "{}",
        one.rate.sentence
    );
    for direction in &one.directions {
        assert!(
            matches!(
                &direction.rate.verdict,
                Verdict::Unresolved { reason: Refusal::Regimes { .. }, .. }
            ),
            "{}",
            direction.rate.sentence
        );
        assert!(direction.rate.ratio.value().is_some(), "the figure is there all the same");
    }
}

#[test]
fn rounds_without_a_write_are_rounds() {
    let mut run = twin::mixed();
    // A mix of 100 to so few that most slices have none.
    for slice in &mut run.slices {
        let keep = slice.round % 3 == 0;
        for sample in slice.samples.iter_mut().filter(|one| one.metric.starts_with("write.")) {
            if let (false, SampleValue::Value(count)) = (keep, &mut sample.value) {
                *count = 0.0;
            }
        }
        slice.samples.retain(|one| keep || one.metric != "write.latency");
    }
    let found = findings(&run);
    let write = &of(&found, "loop", false).directions[1];
    assert!(write.rate.ratio.bounds().is_some(), "{:?}", write.rate.ratio);
}

#[test]
fn a_record_that_lacks_a_direction_shows_what_it_has() {
    let mut run = twin::mixed();
    run.slices
        .iter_mut()
        .for_each(|slice| slice.samples.retain(|one| !one.metric.starts_with("read.")));
    let found = findings(&run);
    let one = of(&found, "loop", false);
    assert!(one.rate.verdict.is_resolved());
    let [read, write] = one.directions.as_slice() else { panic!("{one:?}") };
    assert!(
        matches!(&read.rate.ratio, MeasuredFigure::Missing { reason } if reason.contains("file: no read was recorded"))
    );
    assert!(read.rate.simultaneous.is_none() && write.rate.verdict.is_resolved());
    let row = &workload(&found).rows[0];
    assert!(
        matches!(&row.directions[0].iops, MeasuredFigure::Missing { reason } if reason == "no read was recorded")
    );
    let latency = &workload(&found).charges[0].directions[0].latency;
    assert!(latency.sentence.contains("file: no read was recorded"), "{}", latency.sentence);
}

#[test]
fn a_load_of_one_direction_has_no_directions() {
    for run in [twin::writes(), twin::bill()] {
        let found = findings(&run);
        for one in &found.workloads {
            assert!(
                one.rows.iter().all(|row| row.directions.is_empty())
                    && one.directions_note.is_none()
            );
            assert!(
                one.comparisons.iter().all(|one| one.directions.is_empty() && !one.says_directions)
            );
            assert!(one.charges.iter().all(|one| one.directions.is_empty()));
        }
    }
}

#[test]
fn jobs_that_read_beside_jobs_that_write_are_said_to_wait_for_each_other() {
    let note = |jobs: Vec<Rw>| {
        let mut run = twin::mixed();
        run.start.scenario.workloads[0].jobs =
            jobs.into_iter().map(|rw| Job { rw, ..Job::default() }).collect();
        workload(&findings(&run)).directions_note.clone()
    };
    assert!(note(vec![Rw::RandRw]).unwrap().starts_with("the job fixes which share"));
    assert!(note(vec![Rw::RandRead, Rw::RandWrite]).unwrap().contains("the slowest thread"));
    assert_eq!(note(vec![Rw::RandWrite, Rw::Write]), None);
}

#[test]
fn visits_are_the_unit_of_directions_too() {
    let mut run = twin::mixed();
    run.slices.iter_mut().for_each(|slice| slice.visit = slice.round / 8);
    let found = findings(&run);
    let one = of(&found, "fs(xfs)", false);
    let whole = time(90.0, 30.0, 0.5) / time(112.0, 60.0, 0.45);
    for (direction, truth) in one.directions.iter().zip([0.9 * whole, 1.1 * whole]) {
        assert!(
            matches!(
                direction.rate.ratio,
                MeasuredFigure::Known { of: crate::findings::SampleUnit::Visits, n: 6, .. }
            ),
            "{:?}",
            direction.rate.ratio
        );
        assert!(covers(&direction.rate.ratio, truth, 0.08), "{truth} {:?}", direction.rate.ratio);
    }
}

#[test]
fn a_row_that_was_printed_in_two_places_is_two_cells() {
    let found = findings(&twin::mixed()).published.unwrap();
    let of = |metric: &str, note: Option<&str>| {
        let ours = |one: &&crate::findings::published::PublishedFinding| {
            one.stack == "loop" && one.metric == metric && one.note.as_deref() == note
        };
        found.figures.iter().find(ours).unwrap().ratio.clone().unwrap()
    };
    let whole = findings(&twin::mixed());
    let directions = &self::of(&whole, "loop", false).directions;
    let read = of("read iops", None);
    let is_of = |found: &MeasuredFigure, direction: usize| {
        found.value() == directions[direction].rate.ratio.value()
    };
    assert!(is_of(&read.measured, 0) && read.agreement.word() == "agrees", "{read:?}");
    let counts = of("write iops", Some("from its counts"));
    assert!(is_of(&counts.measured, 1) && counts.agreement.word() == "agrees", "{counts:?}");
    let table = of("write iops", Some("as its table prints them"));
    assert!((table.published.value().unwrap() - 5.4 / 7.0).abs() < 1e-9);
    assert_eq!(table.agreement.word(), "differs");
    assert_eq!(of("write mean", None).agreement.word(), "agrees");
}

/// A run of the first format, as if its load had been a mix: its slices report reads, and nothing
/// about writes.
#[test]
fn an_old_run_shows_the_directions_that_it_recorded() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/run-v1");
    let mut run = iotax_store::load_run(std::path::Path::new(folder)).unwrap();
    run.start.scenario.workloads[0].jobs[0].rw = Rw::RandRw;
    let stack = run.start.scenario.stacks[0].name.clone();
    run.slices.iter_mut().for_each(|slice| slice.stack.clone_from(&stack));
    let found = findings(&run);
    let row = &workload(&found).rows[0];
    let [read, write] = row.directions.as_slice() else { panic!("{row:?}") };
    assert_eq!(read.iops.value(), row.iops.value());
    assert!(read.iops.value().is_some());
    assert!(
        matches!(&write.iops, MeasuredFigure::Missing { reason } if reason == "no write was recorded")
    );
    assert_eq!(row.latency.iter().map(|one| one.direction).collect::<Vec<_>>(), ["read"]);
}

//! Known changes in, known drift out; what differs between runs is marked.

use super::*;
use crate::twin;
use iotax_stats::Verdict;

fn nth(mut run: RunData, day: u32) -> RunData {
    run.start.id = format!("2026010{day}-000000-000{day}");
    run.start.at = format!("2026-01-0{day}T00:00:00Z");
    run
}

fn history(query: HistoryQuery, runs: Vec<RunData>) -> StackHistory {
    let mut all = HistoryBuilder::new(query);
    for run in runs {
        all.add_run(run);
    }
    all.finish()
}

fn of_stack(stack: &str) -> HistoryQuery {
    HistoryQuery { stack: stack.into(), ..HistoryQuery::default() }
}

#[test]
fn a_layer_that_became_slower_is_named_and_one_that_did_not_is_not() {
    let runs = vec![
        nth(twin::a_week_before(21), 1),
        nth(twin::a_week_before(22), 2),
        nth(twin::a_week_later(23, 130_000.0), 3),
    ];
    let found = history(of_stack("loop"), runs);
    let [series] = found.series.as_slice() else { panic!("{:?}", found.series.len()) };
    let drifted: Vec<bool> = series
        .points
        .iter()
        .map(|point| point.change.as_ref().is_some_and(HistoryChange::has_drifted))
        .collect();
    assert_eq!(drifted, [false, false, true]);
    let last = series.points[2].change.as_ref().unwrap();
    assert!(matches!(last.verdict, Some(Verdict::Costs { .. })), "{last:?}");
    for point in &series.points {
        assert!(point.rate.bounds().is_some() && point.ratio.bounds().is_some());
    }
}

#[test]
fn other_machines_and_versions_are_marked_and_a_reboot_is_not() {
    let mut other = nth(twin::a_week_before(22), 2);
    other.start.iotax = "0.9.9".into();
    other.start.boot_id = "another".into();
    for place in &mut other.places {
        place.facts.hostname = Some("other".into());
    }
    let found = history(of_stack("loop"), vec![nth(twin::a_week_before(21), 1), other]);
    let kinds: Vec<&str> =
        found.series[0].points[1].differs.iter().map(|one| one.kind.as_str()).collect();
    assert!(kinds.contains(&"iotax") && !kinds.contains(&"boot"), "{kinds:?}");
    assert!(found.series[0].points[0].differs.is_empty());
}

#[test]
fn runs_without_the_stack_or_the_load_are_left_out() {
    let run = || nth(twin::a_week_before(21), 1);
    assert!(history(of_stack("nothing"), vec![run()]).series.is_empty());
    let query = HistoryQuery { workload: Some("no such load".into()), ..of_stack("loop") };
    assert!(history(query, vec![run()]).series.is_empty());
    let query = HistoryQuery { against: Some("no such stack".into()), ..of_stack("loop") };
    let found = history(query, vec![run()]);
    let point = &found.series[0].points[0];
    assert!(point.ratio.value().is_none() && point.rate.value().is_some(), "{point:?}");
    let baseline = run().start.scenario.stacks[run().start.scenario.baseline].name.clone();
    let found = history(of_stack(&baseline), vec![run()]);
    let MeasuredFigure::Missing { reason } = &found.series[0].points[0].ratio else { panic!() };
    assert_eq!(reason, "it is the baseline of this run");
}

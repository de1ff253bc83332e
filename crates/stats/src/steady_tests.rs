//! Tests of falls, of windows, and of the bytes that reach each drive.

use super::*;
use crate::noise::Noise;
use crate::rounds::{RoundKind, RoundPart};

/// Paces around these levels, so many of each, with 2 % of noise.
fn paces(seed: u64, levels: &[(usize, f64)]) -> Vec<f64> {
    let mut noise = Noise::new(seed);
    let around = |(n, level): &(usize, f64)| vec![*level; *n];
    levels.iter().flat_map(around).map(|level| level * (1.0 + 0.02 * noise.normal())).collect()
}

fn visit(bytes: f64, paces: &[f64]) -> Vec<WrittenRound> {
    let one = |pace: &f64| {
        let wrote = Wrote { stack: 0, bytes, seconds: bytes / pace, durable_s: None };
        WrittenRound { stacks: vec![wrote], ..WrittenRound::default() }
    };
    paces.iter().map(one).collect()
}

#[test]
fn the_last_of_several_falls_counts() {
    let fall = last_fall(&paces(1, &[(60, 100.0), (100, 60.0), (80, 30.0)])).unwrap();
    assert_eq!(fall.at, 160);
    assert!((fall.before - 60.0).abs() < 15.0 && (fall.after - 30.0).abs() < 1.0, "{fall:?}");
}

#[test]
fn what_is_no_lasting_fall_is_none() {
    let slope: Vec<f64> = (0..200).map(|at| 100.0 - 0.2 * f64::from(at)).collect();
    for (what, series) in [
        ("noise", paces(2, &[(200, 100.0)])),
        ("less than a tenth", paces(3, &[(100, 100.0), (100, 95.0)])),
        ("a rise", paces(4, &[(100, 60.0), (100, 100.0)])),
        ("a dip", paces(5, &[(100, 100.0), (30, 60.0), (100, 100.0)])),
        ("a slope", slope),
        ("too little", paces(6, &[(7, 100.0), (7, 50.0)])),
        ("no number", vec![f64::INFINITY; 40]),
        ("nothing", Vec::new()),
    ] {
        assert_eq!(last_fall(&series), None, "{what}");
    }
}

#[test]
fn as_much_again_must_follow_on_a_fall() {
    let spec = SteadySpec::default();
    let after = |rounds| of_visit(&visit(10.0, &paces(7, &[(50, 100.0), (rounds, 40.0)])), &spec);
    let (early, late) = (after(49), after(50));
    assert_eq!((early.reached, early.why, early.from_round), (false, Why::NotReached, 99));
    assert_eq!(
        (late.reached, late.why, late.from_round),
        (true, Why::PastChange { written: 500.0 }, 51)
    );
    assert_eq!(
        (early.changes.len(), early.changes[0].at, early.changes[0].written),
        (1, 50, 500.0)
    );
    assert_eq!(early.written, 990.0);
}

#[test]
fn a_cache_must_be_exceeded_not_met() {
    let steady = |cache| {
        let spec = SteadySpec { known_cache: Some(cache), ..SteadySpec::default() };
        of_visit(&visit(10.0, &paces(8, &[(20, 100.0)])), &spec)
    };
    assert!(!steady(200.0).reached);
    let reached = steady(195.0);
    assert_eq!(
        (reached.reached, reached.from_round, reached.why),
        (true, 20, Why::PastCache { cache: 195.0 })
    );
    assert_eq!(steady(55.0).from_round, 6);
}

#[test]
fn every_stack_must_come_so_far_on_its_own_drive() {
    let writes: Vec<WrittenRound> = (0..30)
        .map(|_| WrittenRound {
            visit: 0,
            stacks: [(0, 10.0), (1, 30.0)]
                .map(|(stack, bytes)| Wrote { stack, bytes, seconds: 1.0, durable_s: None })
                .to_vec(),
            preconditions: false,
        })
        .collect();
    let reached = |reaches: Vec<Vec<f64>>| {
        let spec = SteadySpec { known_cache: Some(500.0), reaches };
        let found = of_visit(&writes, &spec);
        (found.reached, found.from_round, found.written)
    };
    assert_eq!(reached(Vec::new()), (false, 30, 300.0), "a drive each");
    assert_eq!(reached(vec![vec![1.0; 2]; 2]), (true, 13, 1200.0), "one drive for both");
    assert_eq!(
        reached(vec![vec![1.0, 0.5], vec![1.0, 0.5]]),
        (true, 21, 750.0),
        "the second on two drives"
    );
}

#[test]
fn a_visit_that_did_not_come_so_far_is_left_out() {
    let spec = SteadySpec { known_cache: Some(100.0), ..SteadySpec::default() };
    let mut writes = visit(10.0, &[1.0; 15]);
    let mut short = visit(10.0, &[1.0; 5]);
    short.iter_mut().for_each(|round| round.visit = 1);
    assert_eq!(
        mark_judged(&short, &spec),
        Err(Refusal::SteadyNotShown { written: 50, known_cache: Some(100) })
    );
    writes.extend(short);
    let kept = mark_judged(&writes, &spec).unwrap();
    assert_eq!(kept.len(), 20);
    assert_eq!(
        kept.iter().enumerate().filter(|(_, kept)| **kept).map(|(at, _)| at).collect::<Vec<_>>(),
        [11, 12, 13, 14]
    );
}

#[test]
fn rounds_that_precondition_fill_caches_and_show_what_is_level() {
    let with = |before: &[f64], rounds: &[f64], known_cache: Option<f64>| {
        let mut writes = visit(10.0, before);
        writes.iter_mut().for_each(|round| round.preconditions = true);
        writes.extend(visit(1.0, rounds));
        let spec = SteadySpec { known_cache, ..SteadySpec::default() };
        (preconditioned(&writes, 0), of_visit(&writes, &spec))
    };
    // Only the last five count; measured rounds have a pace of their own.
    let fallen = [200.0, 150.0, 100.0, 102.0, 98.0, 100.0, 101.0];
    let (window, found) = with(&fallen, &paces(11, &[(40, 60.0)]), None);
    assert!(window.unwrap().is_level());
    assert_eq!((found.from_round, found.why), (7, Why::Preconditioned { rounds: 7 }));
    assert!(found.changes.is_empty(), "{:?}", found.changes);
    // A known cache must be filled all the same.
    assert!(!with(&fallen, &[60.0; 10], Some(90.0)).1.reached);
    let past = with(&fallen, &[60.0; 30], Some(90.0)).1;
    assert_eq!((past.from_round, past.why), (28, Why::PastCache { cache: 90.0 }));
    // A pace that falls afterwards was not steady.
    let falls = with(&fallen, &paces(12, &[(60, 60.0), (60, 30.0)]), None).1;
    assert!(!falls.reached && falls.changes.len() == 1, "{falls:?}");
    for (why, before) in [("falls", &fallen[..5]), ("too few", &[100.0; 4][..])] {
        let (window, found) = with(before, &[60.0; 10], None);
        assert!(!found.reached && window.is_none_or(|window| !window.is_level()), "{why}");
    }
    assert_eq!(
        preconditioned(&visit(1.0, &[1.0; 9]), 0),
        None,
        "measured rounds precondition nothing"
    );
}

#[test]
fn slices_of_a_stack_in_a_round_are_one() {
    let part = |stack, amount, seconds| RoundPart { stack, amount, seconds };
    let parts = vec![part(1, 1.0, 2.0), part(0, 5.0, 1.0), part(0, 5.0, 3.0), part(1, 2.0, 2.0)];
    let writes = WrittenRound::from_round(&Round {
        kind: RoundKind::Long,
        visit: 3,
        parts,
        ..Round::default()
    });
    let wrote = |stack, bytes, seconds| Wrote { stack, bytes, seconds, durable_s: None };
    assert_eq!(
        writes,
        WrittenRound {
            visit: 3,
            stacks: vec![wrote(0, 10.0, 4.0), wrote(1, 3.0, 4.0)],
            preconditions: false
        }
    );
}

#[test]
fn snia_s_window() {
    let level = Window::from_paces(&paces(9, &[(100, 50.0)])).unwrap();
    assert!(level.is_level() && level.slope < 0.02, "{level:?}");
    // Of the five stretches the first is 90 and the last 110: range and line are 0.2 of 100.
    let slope: Vec<f64> = (0..5).map(|at| 90.0 + 5.0 * f64::from(at)).collect();
    let found = Window::from_paces(&slope).unwrap();
    assert!((found.range - 0.2).abs() < 1e-9 && (found.slope - 0.2).abs() < 1e-9, "{found:?}");
    assert!(!found.is_level(), "within the range, but not by its slope");
    let jump = Window::from_paces(&[100.0, 100.0, 130.0, 100.0, 100.0]).unwrap();
    assert!(!jump.is_level() && jump.slope < 1e-9, "{jump:?}");
    assert_eq!(Window::from_paces(&[1.0; 4]), None);
    assert_eq!(Window::from_paces(&[0.0; 9]), None);
}

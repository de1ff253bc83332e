//! Compares layouts with the plain definition, which compares all stacks pair by pair.

use super::*;
use crate::sets::{Sibling, StackSet, layout};
use iotax_layers::state::AskedState;
use iotax_load::{Job, Rw};
use iotax_model::scenario::Workload;
use iotax_model::stack::{InState, Medium};
use proptest::prelude::*;

/// Defines when two stacks conflict.
fn conflict(a: &Stack, b: &Stack, load: LoadKind) -> bool {
    if std::ptr::eq(a, b) || !overlap(a, b) {
        return false;
    }
    let same = |(a, b): &(&LayerSpec, &LayerSpec)| a.key() == b.key();
    let one_prefix = a.medium == b.medium && !a.own && !b.own;
    let shared =
        if one_prefix { a.layers.iter().zip(&b.layers).take_while(same).count() } else { 0 };
    let real = |stack: &Stack| -> Vec<LayerSpec> {
        stack.layers[shared..].iter().filter(|layer| is_set_up(layer)).cloned().collect()
    };
    let (above_a, above_b) = (real(a), real(b));
    if above_a.is_empty() && above_b.is_empty() {
        return load.verifies;
    }
    if load.writes || splits(a, shared) || splits(b, shared) {
        return true;
    }
    let claims = [strongest(&above_a), strongest(&above_b)];
    if a.layers[..shared].iter().any(gives_unwritten) && claims.contains(&Claim::Writes) {
        return true;
    }
    claims.iter().any(|claim| matches!(claim, Claim::Caches | Claim::Takes))
        || claims == [Claim::Writes; 2]
}

fn overlap(a: &Stack, b: &Stack) -> bool {
    a.medium.locations().any(|one| b.medium.locations().any(|other| one == other))
}

fn splits(stack: &Stack, from: usize) -> bool {
    let splits = |at: usize| {
        stack.layers[at].copies > 1 && bdev::ends_in_bdev(&stack.medium, &stack.layers[..at])
    };
    (from..stack.layers.len()).any(splits)
}

fn strongest(layers: &[LayerSpec]) -> Claim {
    let claims: Vec<Claim> =
        layers.iter().filter_map(|spec| layer_of(spec).map(|layer| layer.claim(spec))).collect();
    let by_strength = [Claim::Takes, Claim::Caches, Claim::Writes];
    by_strength.into_iter().find(|claim| claims.contains(claim)).unwrap_or(Claim::SharedRead)
}

/// Defines the equal file that each stack is on, and the number of equal files.
fn siblings(stacks: &[Stack], load: LoadKind) -> Vec<Option<Sibling>> {
    let mut groups: Vec<usize> = (0..stacks.len()).collect();
    for at in 0..stacks.len() {
        for other in (0..at).filter(|other| overlap(&stacks[at], &stacks[*other])) {
            let (from, to) = (groups[at], groups[other]);
            groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
        }
    }
    let made = |medium: &Medium| matches!(medium, Medium::File { size: Some(_), .. });
    let sibling = |stack: usize| {
        let group: Vec<usize> =
            (0..stacks.len()).filter(|other| groups[*other] == groups[stack]).collect();
        let divided = group.iter().all(|stack| stacks[*stack].medium.members().iter().all(made))
            && group.iter().any(|a| group.iter().any(|b| conflict(&stacks[*a], &stacks[*b], load)));
        let number = group.iter().position(|other| *other == stack)?;
        divided.then_some(Sibling { number, of: group.len() })
    };
    (0..stacks.len()).map(sibling).collect()
}

/// Defines the sets.
fn sets(scenario: &Scenario, sibling: &[Option<Sibling>], load: LoadKind) -> Vec<StackSet> {
    let stacks = &scenario.stacks;
    let position = |stack: &Stack| stack.state.as_ref().map_or(0, |state| state.position);
    let mut order: Vec<usize> =
        (0..stacks.len()).filter(|index| position(&stacks[*index]) == 0).collect();
    order.sort_by_key(|index| *index != scenario.baseline);
    let mut sets: Vec<StackSet> = Vec::new();
    for index in order {
        let beside = |other: &usize| {
            sibling[index].is_some() || !conflict(&stacks[index], &stacks[*other], load)
        };
        match sets.iter_mut().find(|set| set.stacks.iter().all(beside)) {
            Some(set) => set.stacks.push(index),
            None => sets.push(StackSet { stacks: vec![index], after: None }),
        }
    }
    for first in 0..sets.len() {
        let (mut after, own) = (first, sets[first].stacks.clone());
        for at in 1.. {
            let is_it = |stack: &Stack| {
                stack
                    .state
                    .as_ref()
                    .is_some_and(|state| state.position == at && own.contains(&state.of))
            };
            let set: Vec<usize> =
                (0..stacks.len()).filter(|index| is_it(&stacks[*index])).collect();
            if set.is_empty() {
                break;
            }
            sets.push(StackSet { stacks: set, after: Some(after) });
            after = sets.len() - 1;
        }
    }
    sets
}

fn medium() -> impl Strategy<Value = Medium> {
    let file = |(name, made): (&str, bool)| Medium::File {
        path: format!("/srv/{name}").into(),
        size: made.then_some(1 << 30),
        keep: false,
    };
    let made = prop_oneof![6 => Just(true), 1 => Just(false)];
    let one = prop_oneof![
        6 => (prop::sample::select(vec!["a", "b", "c"]), made).prop_map(file),
        2 => Just(Medium::Device { path: "/dev/x".into() }),
        1 => Just(Medium::Device { path: "/srv/a".into() }),
        1 => Just(Medium::Drive { place: "lab".into(), name: "nvme0".into() }),
        1 => Just(Medium::Drive { place: "lab".into(), name: "nvme1".into() }),
    ];
    let several = prop::collection::vec(one.clone(), 2..4)
        .prop_map(|members| Medium::Many { members, groups: 1 });
    prop_oneof![4 => one, 1 => several]
}

fn layer() -> impl Strategy<Value = LayerSpec> {
    let known: Vec<(&str, &str, &str, u32)> = vec![
        ("loop", "direct-io", "true", 1),
        ("loop", "direct-io", "false", 1),
        ("fs", "type", "xfs", 1),
        ("fs", "type", "ext4", 1),
        ("delay", "us", "10", 1),
        ("mdraid", "level", "1", 1),
        ("partition", "size", "1GiB", 1),
        ("vm", "format", "qcow2", 1),
        ("vm", "attach", "vfio", 1),
        ("vm", "cache", "none", 1),
        ("spdk", "raid", "raid0", 1),
        ("vm", "attach", "vhost-user-blk", 2),
    ];
    prop::sample::select(known).prop_map(|(name, key, value, copies)| LayerSpec {
        name: name.into(),
        options: [(key.to_owned(), value.to_owned())].into(),
        place: None,
        far: Vec::new(),
        copies,
        tool: None,
        origin: "test".into(),
    })
}

fn stack() -> impl Strategy<Value = Stack> {
    let own = prop_oneof![5 => Just(false), 1 => Just(true)];
    (medium(), prop::collection::vec(layer(), 0..4), own).prop_map(|(medium, layers, own)| Stack {
        name: "s".into(),
        text: "s".into(),
        medium,
        layers,
        by_hand: Vec::new(),
        own,
        state: None,
    })
}

/// Some stacks, each twice at times, and one in further states.
fn stacks() -> impl Strategy<Value = Vec<Stack>> {
    let twice = prop::collection::vec((stack(), any::<bool>()), 1..8);
    (twice, 0usize..3).prop_map(|(picked, states)| {
        let mut stacks: Vec<Stack> = picked
            .into_iter()
            .flat_map(|(stack, twice)| std::iter::repeat_n(stack, 1 + usize::from(twice)))
            .collect();
        let last = stacks[stacks.len() - 1].clone();
        let of = stacks.len();
        stacks.extend((0..states).map(|position| {
            let state = Some(InState { position, state: AskedState::Healthy, of });
            Stack { state, ..last.clone() }
        }));
        stacks
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn layouts_are_those_of_the_definition(
        stacks in stacks(),
        rw in prop::sample::select(vec![Rw::RandRead, Rw::RandWrite]),
        verify in any::<bool>(),
        baseline in 0usize..8,
    ) {
        let job = Job { rw, verify, ..Job::default() };
        let workload = Workload { name: "w".into(), jobs: vec![job], probe: None, engine: None, sweep: None };
        let baseline = baseline.min(stacks.len() - 1);
        let scenario = Scenario {
            stacks, baseline, workloads: vec![workload], ..Scenario::of_nothing("test", None)
        };
        let (load, found) = (LoadKind::from_scenario(&scenario), layout(&scenario));
        prop_assert_eq!(&found.sibling, &siblings(&scenario.stacks, load));
        prop_assert_eq!(&found.sets, &sets(&scenario, &found.sibling, load));
    }
}

/// Returns stacks on one medium, each with a layer of its own.
fn many(medium: &Medium, rw: Rw, count: usize) -> Scenario {
    let own = |number: usize| LayerSpec {
        name: "loop".into(),
        options: [("sector-size".to_owned(), number.to_string())].into(),
        place: None,
        far: Vec::new(),
        copies: 1,
        tool: None,
        origin: "test".into(),
    };
    let stack = |number| Stack {
        name: number_name(number),
        text: number_name(number),
        medium: medium.clone(),
        layers: vec![own(number)],
        by_hand: Vec::new(),
        own: false,
        state: None,
    };
    let job = Job { rw, ..Job::default() };
    let workload =
        Workload { name: "w".into(), jobs: vec![job], probe: None, engine: None, sweep: None };
    let stacks = (0..count).map(stack).collect();
    Scenario { stacks, workloads: vec![workload], ..Scenario::of_nothing("test", None) }
}

fn number_name(number: usize) -> String {
    format!("s{number}")
}

#[test]
fn ten_thousand_stacks_on_one_medium_are_laid_out() {
    const MANY: usize = 10_000;
    let file = Medium::File { path: "/srv/a".into(), size: Some(1 << 30), keep: false };
    let read = layout(&many(&file, Rw::RandRead, MANY));
    assert_eq!((read.sets.len(), read.siblings()), (1, 1));
    let written = layout(&many(&file, Rw::RandWrite, MANY));
    assert_eq!((written.sets.len(), written.siblings()), (1, MANY));
    assert_eq!(written.sibling[MANY - 1], Some(Sibling { number: MANY - 1, of: MANY }));
    let device = layout(&many(&Medium::Device { path: "/dev/x".into() }, Rw::RandWrite, MANY));
    assert_eq!(device.sets.len(), MANY);
    assert_eq!(device.chains().len(), MANY);
}

#[test]
fn stacks_that_look_alike_are_held_against_each_set_once() {
    let device = Medium::Device { path: "/dev/x".into() };
    for count in [100, 400] {
        let scenario = many(&device, Rw::RandWrite, count);
        let prefixes = Prefixes::from_stacks(&scenario.stacks);
        let meetings =
            Meetings::from_stacks(&scenario.stacks, &prefixes, LoadKind::from_scenario(&scenario));
        let order: Vec<usize> = (0..count).collect();
        assert_eq!(meetings.sorted(&order, |_| false).len(), count);
        assert!(meetings.asked.get() <= 2 * count, "{} of {count}", meetings.asked.get());
    }
}

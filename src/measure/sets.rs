//! Which stacks can be up together. Claims decide: stacks that would disturb each other on one
//! file get equal siblings of it; on one device they are measured in visits, one set after another.

use crate::layer::{Claim, by_name, catalog};
use crate::scenario::{LayerSpec, Medium, Scenario, Stack};
use std::collections::BTreeMap;

/// Stacks that are up at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Indices into the scenario's stacks.
    pub stacks: Vec<usize>,
}

/// How a scenario is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// One set: everything is measured in rounds. Several: in visits.
    pub sets: Vec<Set>,
    /// For each stack, its number among the siblings of its file; `None`: it shares the file.
    pub sibling: Vec<Option<usize>>,
}

impl Layout {
    /// How many siblings there are of the most divided file.
    pub fn siblings(&self) -> usize {
        self.sibling.iter().flatten().max().map_or(1, |most| most + 1)
    }
}

impl Layout {
    /// How often each set is brought up: once on every one of the equal files, or as many `visits` as were asked for
    /// where sets take turns.
    pub fn visits_of_a_set(&self, visits: u32) -> u32 {
        if self.sets.len() == 1 { self.siblings() as u32 } else { visits }
    }
}

/// Why a run that was cut short cannot go on, if so.
pub fn not_resumable(scenario: &Scenario) -> Option<&'static str> {
    (layout(scenario).siblings() > 1)
        .then_some("its stacks swap equal files, and a run that was cut short cannot make up for it")
}

/// Sorts the stacks of a scenario.
pub fn layout(scenario: &Scenario) -> Layout {
    let writes = scenario.writes();
    let stacks = &scenario.stacks;
    let sibling = siblings(stacks, writes);
    Layout { sets: sets(stacks, &sibling, writes, scenario.baseline), sibling }
}

/// Every stack on a divided file gets a sibling of its own, so that swapping is fair to all.
fn siblings(stacks: &[Stack], writes: bool) -> Vec<Option<usize>> {
    let mut next: BTreeMap<String, usize> = BTreeMap::new();
    let divided: Vec<bool> = stacks
        .iter()
        .map(|stack| is_made_file(&stack.medium) && stacks.iter().any(|other| conflict(stack, other, writes)))
        .collect();
    let media_divided = |stack: &Stack| {
        stacks.iter().zip(&divided).any(|(other, divided)| *divided && other.medium == stack.medium)
    };
    stacks
        .iter()
        .map(|stack| {
            media_divided(stack).then(|| {
                let number = next.entry(format!("{:?}", stack.medium)).or_insert(0);
                *number += 1;
                *number - 1
            })
        })
        .collect()
}

fn sets(stacks: &[Stack], sibling: &[Option<usize>], writes: bool, baseline: usize) -> Vec<Set> {
    let mut order: Vec<usize> = (0..stacks.len()).collect();
    order.sort_by_key(|index| *index != baseline);
    let mut sets: Vec<Set> = Vec::new();
    for index in order {
        let fits = |set: &&mut Set| {
            set.stacks
                .iter()
                .all(|other| sibling[index].is_some() || !conflict(&stacks[index], &stacks[*other], writes))
        };
        match sets.iter_mut().find(fits) {
            Some(set) => set.stacks.push(index),
            None => sets.push(Set { stacks: vec![index] }),
        }
    }
    sets
}

/// A file that we make can have siblings; a device or somebody else's file cannot.
fn is_made_file(medium: &Medium) -> bool {
    matches!(medium, Medium::File { size: Some(_), .. })
}

/// Whether two stacks on the same medium would disturb each other.
fn conflict(a: &Stack, b: &Stack, writes: bool) -> bool {
    if std::ptr::eq(a, b) || a.medium != b.medium {
        return false;
    }
    let shared = if a.own || b.own { 0 } else { shared_prefix(&a.layers, &b.layers) };
    let (above_a, above_b) = (real(&a.layers[shared..]), real(&b.layers[shared..]));
    if above_a.is_empty() && above_b.is_empty() {
        // The same target but for layers of known cost: two workers on one region take turns.
        return false;
    }
    if writes {
        return true;
    }
    let (first_a, first_b) = (strongest(&above_a), strongest(&above_b));
    matches!((first_a, first_b), (Claim::Caches, _) | (_, Claim::Caches) | (Claim::Writes, Claim::Writes))
}

fn shared_prefix(a: &[LayerSpec], b: &[LayerSpec]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a.key() == b.key()).count()
}

/// Layers that make something; the others are the worker's own.
fn real(layers: &[LayerSpec]) -> Vec<&LayerSpec> {
    let is_workers = |layer: &&LayerSpec| catalog::find(&layer.name).is_some_and(|known| known.anywhere);
    layers.iter().filter(|layer| !is_workers(layer)).collect()
}

fn strongest(layers: &[&LayerSpec]) -> Claim {
    let claims: Vec<Claim> =
        layers.iter().filter_map(|spec| by_name(&spec.name).map(|layer| layer.claim(spec))).collect();
    match () {
        () if claims.contains(&Claim::Caches) => Claim::Caches,
        () if claims.contains(&Claim::Writes) => Claim::Writes,
        () => Claim::SharedRead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{MeasureSpec, Workload};
    use iotax_load::{Job, Rw};

    fn stack(layers: &[(&str, &str, &str)], file: bool) -> Stack {
        let medium = match file {
            true => Medium::File { path: "/srv/x.img".into(), size: Some(1 << 30), keep: false },
            false => Medium::Device { path: "/dev/vdx".into() },
        };
        let layers = layers
            .iter()
            .map(|(name, key, value)| LayerSpec {
                name: (*name).into(),
                options: [((*key).to_owned(), (*value).to_owned())]
                    .into_iter()
                    .filter(|(key, _)| !key.is_empty())
                    .collect(),
                place: None,
                origin: "test".into(),
            })
            .collect();
        Stack { name: "s".into(), text: "s".into(), medium, layers, own: false }
    }

    fn scenario(stacks: Vec<Stack>, rw: Rw) -> Scenario {
        let workload = Workload {
            name: "w".into(),
            jobs: vec![Job { rw, ..Job::default() }],
            engine: None,
            sweep: None,
        };
        Scenario {
            source: "test".into(),
            name: None,
            stacks,
            baseline: 0,
            bill: false,
            workloads: vec![workload],
            measure: MeasureSpec::default(),
            consent: Vec::new(),
            max_written: None,
            notes: Vec::new(),
        }
    }

    const LOOP: (&str, &str, &str) = ("loop", "direct-io", "true");
    const FS: (&str, &str, &str) = ("fs", "type", "xfs");

    #[test]
    fn reading_prefixes_share_one_file() {
        let stacks = vec![stack(&[], true), stack(&[LOOP], true), stack(&[LOOP, FS], true)];
        let layout = layout(&scenario(stacks, Rw::RandRead));
        assert_eq!(layout.sets, vec![Set { stacks: vec![0, 1, 2] }]);
        assert_eq!(layout.sibling, vec![None, None, None]);
    }

    #[test]
    fn writing_stacks_get_equal_siblings_of_a_file() {
        let stacks = vec![stack(&[], true), stack(&[LOOP], true)];
        let layout = layout(&scenario(stacks, Rw::RandWrite));
        assert_eq!(layout.sets.len(), 1);
        assert_eq!(layout.sibling, vec![Some(0), Some(1)]);
        assert_eq!(layout.siblings(), 2);
    }

    #[test]
    fn writing_stacks_on_one_device_are_visited_in_turn() {
        let stacks = vec![stack(&[], false), stack(&[LOOP], false)];
        let layout = layout(&scenario(stacks, Rw::RandWrite));
        assert_eq!(layout.sets, vec![Set { stacks: vec![0] }, Set { stacks: vec![1] }]);
    }

    #[test]
    fn a_caching_layer_shares_with_nobody() {
        let cached = ("loop", "direct-io", "false");
        let layout = layout(&scenario(vec![stack(&[], true), stack(&[cached], true)], Rw::RandRead));
        assert_eq!(layout.sibling, vec![Some(0), Some(1)]);
    }

    #[test]
    fn two_file_systems_do_not_share_a_file() {
        let ext4 = ("fs", "type", "ext4");
        let stacks = vec![stack(&[], true), stack(&[LOOP, FS], true), stack(&[LOOP, ext4], true)];
        let layout = layout(&scenario(stacks, Rw::RandRead));
        assert_eq!(layout.sibling, vec![Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn a_delay_shares_its_prefix_even_for_writes() {
        let delay = ("delay", "us", "10");
        let stacks = vec![stack(&[LOOP], true), stack(&[LOOP, delay], true)];
        let layout = layout(&scenario(stacks, Rw::RandWrite));
        assert_eq!(layout.sibling, vec![None, None]);
    }
}

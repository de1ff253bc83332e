//! Determines which stacks would disturb each other. Two stacks meet where they have something in
//! common and go on differently: at a file or device that both are on, or at a prefix that both
//! begin with. Only what each has above that point decides if they can be up together. So a stack
//! is compared with whole sets of others by its points, and not with each of them.

use super::prefixes::{Prefixes, is_set_up};
use iotax_layers::{Claim, layer_of};
use iotax_model::scenario::Scenario;
use iotax_model::scenario::bdev;
use iotax_model::stack::{LayerSpec, Location, Medium, Stack};
use std::collections::{HashMap, HashSet};

/// Properties of the load that decide which stacks are up together.
#[derive(Clone, Copy)]
pub struct LoadKind {
    pub writes: bool,
    pub verifies: bool,
}

impl LoadKind {
    pub fn from_scenario(scenario: &Scenario) -> LoadKind {
        LoadKind { writes: scenario.writes(), verifies: scenario.verifies() }
    }
}

/// Layers of a stack above a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StackAbove {
    /// True if some layer sets something up.
    made: bool,
    /// True if a layer splits an SPDK bdev among guests; nobody else can use a bdev that is split.
    splits: bool,
    claim: Claim,
}

/// A point where a stack may meet others: `at` numbers what it has in common with them, `way` how
/// it goes on from there. Two stacks at the same point disturb each other by what they have above
/// it, unless they go on the same way: then they meet further up.
#[derive(Clone, Copy, Debug)]
struct ConflictPoint {
    at: usize,
    way: usize,
    above: StackAbove,
    /// True if the data below the point was never written.
    unwritten: bool,
}

impl ConflictPoint {
    fn disturbs(&self, other: StackAbove, load: LoadKind) -> bool {
        let (one, both) = (self.above, [self.above.claim, other.claim]);
        if !one.made && !other.made {
            // Both have the same target except for layers of known cost: two workers on one region
            // take turns. A worker must read back its own data.
            return load.verifies;
        }
        if load.writes || one.splits || other.splits {
            return true;
        }
        if self.unwritten && both.contains(&Claim::Writes) {
            // The first writes of one would overwrite what the other has made there.
            return true;
        }
        both.iter().any(|claim| matches!(claim, Claim::Caches | Claim::Takes))
            || both == [Claim::Writes; 2]
    }
}

/// Points of every stack of a scenario.
pub struct Meetings {
    load: LoadKind,
    points: Vec<Vec<ConflictPoint>>,
    /// Number of times that a stack was compared with a set.
    #[cfg(test)]
    asked: std::cell::Cell<usize>,
}

/// What stacks may have in common; each distinct value gets a number.
#[derive(PartialEq, Eq, Hash)]
enum CommonPoints<'a> {
    At(Location<'a>),
    Prefix(usize),
    /// A stack alone: no other goes on its way.
    Alone(usize),
}

impl Meetings {
    pub fn from_stacks(stacks: &[Stack], prefixes: &Prefixes, load: LoadKind) -> Meetings {
        let mut numbers: HashMap<CommonPoints<'_>, usize> = HashMap::new();
        let mut number = |common| {
            let next = numbers.len();
            *numbers.entry(common).or_insert(next)
        };
        let mut points = Vec::new();
        for (index, stack) in stacks.iter().enumerate() {
            let (above, prefixes) =
                (above_each(&stack.medium, &stack.layers), prefixes.of_stack(index));
            let alone = number(CommonPoints::Alone(index));
            // A stack that wants instances of its own shares its medium and nothing else.
            let shared: &[usize] = if stack.own { &[] } else { prefixes };
            let mut ways: Vec<usize> =
                shared.iter().map(|prefix| number(CommonPoints::Prefix(*prefix))).collect();
            ways.push(alone);
            let mut unwritten = false;
            let mut own: Vec<ConflictPoint> = Vec::new();
            for location in stack.medium.locations() {
                own.push(ConflictPoint {
                    at: number(CommonPoints::At(location)),
                    way: ways[0],
                    above: above[0],
                    unwritten,
                });
            }
            // Media without a location overlap with none, not even with equal ones.
            let steps = if own.is_empty() { &[][..] } else { &ways[..] };
            for (depth, step) in steps.windows(2).enumerate() {
                let below =
                    depth.checked_sub(1).and_then(|below| stack.layers[below].catalog_entry());
                if !below.is_some_and(|help| help.gives_parts) {
                    own.push(ConflictPoint {
                        at: step[0],
                        way: step[1],
                        above: above[depth],
                        unwritten,
                    });
                }
                unwritten |= stack.layers.get(depth).is_some_and(gives_unwritten);
            }
            points.push(own);
        }
        Meetings {
            load,
            points,
            #[cfg(test)]
            asked: std::cell::Cell::default(),
        }
    }

    /// Returns true if any two of these would disturb each other.
    pub fn any_among(&self, stacks: &[usize]) -> bool {
        let mut before = StacksTogether::default();
        stacks.iter().any(|stack| {
            let met = self.meets(*stack, &before);
            before.admit(&self.points[*stack]);
            met
        })
    }

    fn meets(&self, stack: usize, company: &StacksTogether) -> bool {
        #[cfg(test)]
        self.asked.set(self.asked.get() + 1);
        let disturbs = |point: &ConflictPoint| {
            let there = company.0.get(&point.at).into_iter().flatten();
            there
                .filter(|(_, way)| *way != Some(point.way))
                .any(|(above, _)| point.disturbs(*above, self.load))
        };
        self.points[stack].iter().any(disturbs)
    }

    /// Sorts stacks into sets in the given order, each into the first set where it disturbs nobody.
    /// A stack that is `free` disturbs nobody anywhere, and is in the first set.
    pub fn sorted(&self, order: &[usize], free: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let mut sets: Vec<(Vec<usize>, StacksTogether)> = Vec::new();
        let (mut seen, mut full) = (HashSet::new(), HashMap::new());
        for stack in order {
            let points = &self.points[*stack];
            let set = if free(*stack) {
                0
            } else {
                // If a stack does not fit into a set, no later stack fits that looks the same to
                // all earlier members: sets only grow.
                let way = |point: &ConflictPoint| seen.contains(&point.way).then_some(point.way);
                let known = points.iter().filter(|point| seen.contains(&point.at));
                let look: Vec<_> = known.map(|point| (point.at, way(point), point.above)).collect();
                let from = full.entry(look).or_insert(0);
                *from = (*from..sets.len())
                    .find(|set| !self.meets(*stack, &sets[*set].1))
                    .unwrap_or(sets.len());
                *from
            };
            if set == sets.len() {
                sets.push(<(Vec<usize>, StacksTogether)>::default());
            }
            sets[set].0.push(*stack);
            sets[set].1.admit(points);
            seen.extend(points.iter().flat_map(|point| [point.at, point.way]));
        }
        sets.into_iter().map(|(stacks, _)| stacks).collect()
    }
}

/// Stacks that are up together: for each point, the layers above it and the way on which these
/// stacks go on; `None`: they go on in several ways.
#[derive(Default)]
struct StacksTogether(HashMap<usize, Vec<(StackAbove, Option<usize>)>>);

impl StacksTogether {
    fn admit(&mut self, points: &[ConflictPoint]) {
        for point in points {
            let there = self.0.entry(point.at).or_default();
            match there.iter_mut().find(|(above, _)| *above == point.above) {
                Some((_, way)) => *way = way.filter(|way| *way == point.way),
                None => there.push((point.above, Some(point.way))),
            }
        }
    }
}

/// Returns, for each number of layers counted from the bottom (from 0 to all), what is above them.
fn above_each(medium: &Medium, layers: &[LayerSpec]) -> Vec<StackAbove> {
    let mut above = StackAbove { made: false, splits: false, claim: Claim::SharedRead };
    let mut all = vec![above];
    for (at, spec) in layers.iter().enumerate().rev() {
        above.splits |= spec.copies > 1 && bdev::ends_in_bdev(medium, &layers[..at]);
        if is_set_up(spec) {
            let own = layer_of(spec).map_or(Claim::SharedRead, |layer| layer.claim(spec));
            (above.made, above.claim) = (true, stronger(above.claim, own));
        }
        all.push(above);
    }
    all.reverse();
    all
}

fn stronger(one: Claim, other: Claim) -> Claim {
    let by_strength = [Claim::Takes, Claim::Caches, Claim::Writes];
    by_strength.into_iter().find(|claim| [one, other].contains(claim)).unwrap_or(Claim::SharedRead)
}

fn gives_unwritten(spec: &LayerSpec) -> bool {
    layer_of(spec).is_some_and(|layer| layer.gives_unwritten(spec))
}

#[cfg(test)]
#[path = "conflict_tests.rs"]
mod tests;

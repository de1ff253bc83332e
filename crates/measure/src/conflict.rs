//! Which stacks would disturb each other. Two stacks meet where they have something in common and
//! go on differently: at a file or device that both are on, or at a prefix that both begin with.
//! Whether they can be up together depends only on what each has above that point, so a stack is
//! held against whole sets of others by its points, not against each of them.

use super::prefixes::{Prefixes, is_set_up};
use iotax_layers::{Claim, layer_of};
use iotax_model::scenario::bdev;
use iotax_model::scenario::{LayerSpec, Location, Medium, Scenario, Stack};
use std::collections::{HashMap, HashSet};

/// What the load does, as far as it decides which stacks are up together.
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

/// What a stack has above a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StackAbove {
    /// Some layer that makes something.
    made: bool,
    /// One of them shares a bdev of SPDK out among guests: a bdev that is split nobody else can
    /// use.
    splits: bool,
    /// How these layers use what is below them.
    claim: Claim,
}

/// A place where a stack may meet others. Two that are there disturb each other by what they have
/// above it, unless they go on the same way: then they meet further up.
#[derive(Clone, Copy, Debug)]
struct ConflictPoint {
    at: usize,
    way: usize,
    above: StackAbove,
    /// Below it is what was never written.
    unwritten: bool,
}

impl ConflictPoint {
    fn disturbs(&self, other: StackAbove, load: LoadKind) -> bool {
        let (one, both) = (self.above, [self.above.claim, other.claim]);
        if !one.made && !other.made {
            // The same target but for layers of known cost: two workers on one region take turns.
            // What each reads back must be its own.
            return load.verifies;
        }
        if load.writes || one.splits || other.splits {
            return true;
        }
        if self.unwritten && both.contains(&Claim::Writes) {
            // What is written first of the one would go over what the other has made there.
            return true;
        }
        both.iter().any(|claim| matches!(claim, Claim::Caches | Claim::Takes))
            || both == [Claim::Writes; 2]
    }
}

/// The points of every stack of a scenario.
pub struct Meetings {
    load: LoadKind,
    points: Vec<Vec<ConflictPoint>>,
    /// How often a stack was held against a set.
    #[cfg(test)]
    asked: std::cell::Cell<usize>,
}

/// Numbers of what stacks may have in common.
#[derive(PartialEq, Eq, Hash)]
enum CommonPoints<'a> {
    At(Location<'a>),
    Prefix(usize),
    /// A stack by itself: no other is on its way.
    Alone(usize),
}

impl Meetings {
    /// Where these stacks meet under that load.
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
            // One that wants instances of its own shares its medium and nothing else.
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
            // Media that are nowhere overlap with none, not even with their like.
            let steps = if own.is_empty() { &[][..] } else { &ways[..] };
            for (depth, step) in steps.windows(2).enumerate() {
                let below = depth.checked_sub(1).and_then(|below| stack.layers[below].help());
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

    /// Whether any two of these would disturb each other.
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

    /// Puts stacks into sets in their order, each into the first where it disturbs nobody; one that
    /// is `free` disturbs nobody anywhere.
    pub fn sorted(&self, order: &[usize], free: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let mut sets: Vec<(Vec<usize>, StacksTogether)> = Vec::new();
        let (mut seen, mut full) = (HashSet::new(), HashMap::new());
        for stack in order {
            let points = &self.points[*stack];
            let set = if free(*stack) {
                0
            } else {
                // Where one could not be, none can be later that looks the same to all who were
                // there before it: sets only grow.
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

/// Stacks that are up together: of each point, what they have above it, and the way that they go
/// on; `None`: several.
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

/// For each depth, what is above so many layers.
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

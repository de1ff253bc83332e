//! Numbers the prefixes that stacks have in common from the bottom up. A prefix is a medium with
//! the layers on it up to some depth. It has one number, the same in every stack that begins with
//! it, so that stacks need not be compared pair by pair.

use iotax_layers::layer_of;
use iotax_model::scenario::Scenario;
use iotax_model::stack::{LayerSpec, Medium, Stack};
use std::collections::{HashMap, HashSet};

pub struct Prefixes(Vec<Vec<usize>>);

/// Properties of what the stacks that share a prefix have above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefixAbove {
    /// True if a layer above the prefix sets something up in one of these stacks.
    pub set_up: bool,
    /// True if the prefix must accept writes, from the load or from a layer above it in one of
    /// these stacks.
    pub writes: bool,
    /// Number of different layers that follow the prefix in these stacks, `xN` guests counted as N;
    /// 0 if no layer follows.
    pub ways: u32,
}

impl Prefixes {
    pub fn from_stacks(stacks: &[Stack]) -> Prefixes {
        let mut media: HashMap<&Medium, usize> = HashMap::new();
        let mut grown: HashMap<(usize, String), usize> = HashMap::new();
        let mut all = Vec::new();
        for stack in stacks {
            let next = media.len() + grown.len();
            let mut below = *media.entry(&stack.medium).or_insert(next);
            let mut prefixes = vec![below];
            for layer in &stack.layers {
                let next = media.len() + grown.len();
                below = *grown.entry((below, layer.key())).or_insert(next);
                prefixes.push(below);
            }
            all.push(prefixes);
        }
        Prefixes(all)
    }

    /// Returns the prefixes of a stack: its medium first, the whole stack last.
    pub fn of_stack(&self, stack: usize) -> &[usize] {
        &self.0[stack]
    }

    /// Returns, for each stack and each of its prefixes, what is above the prefix in all stacks
    /// that share it.
    pub fn above(&self, scenario: &Scenario) -> Vec<Vec<PrefixAbove>> {
        let writes = scenario.writes();
        let (mut all, mut ways): (HashMap<usize, PrefixAbove>, HashSet<usize>) = Default::default();
        for (stack, prefixes) in scenario.stacks.iter().zip(&self.0) {
            for (depth, prefix) in prefixes.iter().enumerate() {
                let above = all.entry(*prefix).or_default();
                above.set_up |= stack.layers[depth..].iter().any(is_set_up);
                above.writes |= writes || must_write(stack, depth);
                let goes_on = prefixes.get(depth + 1).filter(|next| ways.insert(**next));
                above.ways += goes_on.map_or(0, |_| stack.layers[depth].copies);
            }
        }
        self.0.iter().map(|prefixes| prefixes.iter().map(|prefix| all[prefix]).collect()).collect()
    }
}

/// Returns true for layers that make something; the others are part of the load generator.
pub fn is_set_up(layer: &LayerSpec) -> bool {
    !layer.works_anywhere()
}

/// Returns true if a layer above the first `depth` writes, or opens what is below as if it would,
/// whatever the load does.
pub fn must_write(stack: &Stack, depth: usize) -> bool {
    let opens =
        |spec: &LayerSpec| layer_of(spec).is_some_and(|layer| layer.opens_for_writing(spec));
    stack.may_be_rebuilt() || stack.layers[depth..].iter().any(opens)
}

//! Stacks by what they have in common from the bottom up. A prefix is a medium with the layers on
//! it up to some depth; it has one number, the same in every stack that begins with it, so that
//! nobody compares stacks pair by pair.

use iotax_layers::layer_of;
use iotax_model::scenario::{LayerSpec, Medium, Scenario, Stack};
use std::collections::{HashMap, HashSet};

/// The prefixes of all stacks.
pub struct Prefixes(Vec<Vec<usize>>);

/// What the stacks that share a prefix have above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefixAbove {
    /// One of them sets something up there.
    pub set_up: bool,
    /// Writes of one of them must pass the prefix.
    pub writes: bool,
    /// In how many ways they go on, guests side by side each for itself: 0 where none goes on.
    pub ways: u32,
}

impl Prefixes {
    /// Numbers the prefixes of these stacks.
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

    /// The prefixes of a stack: its medium first, itself last.
    pub fn of_stack(&self, stack: usize) -> &[usize] {
        &self.0[stack]
    }

    /// For each stack and each of its prefixes, what is above it in all stacks that share it.
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

/// Layers that make something; the others are the worker's own.
pub fn is_set_up(layer: &LayerSpec) -> bool {
    !layer.works_anywhere()
}

/// Whether a layer above the first `depth` writes, or opens what is below as if it would, whatever
/// the load does.
pub fn must_write(stack: &Stack, depth: usize) -> bool {
    let opens =
        |spec: &LayerSpec| layer_of(spec).is_some_and(|layer| layer.opens_for_writing(spec));
    stack.may_be_rebuilt() || stack.layers[depth..].iter().any(opens)
}

//! What the layers of a scenario need, place by place.

use super::prefixes::is_set_up;
use iotax_facts::place::Place;
use iotax_layers::{NamedProgram, layer_of};
use iotax_model::scenario::Scenario;
use iotax_model::stack::{Stack, in_guest};
use std::collections::{BTreeMap, BTreeSet};

/// Ids of needs by the place that must meet them.
pub type NeedsByPlace = BTreeMap<Place, BTreeSet<&'static str>>;

pub fn needs_of(scenario: &Scenario) -> NeedsByPlace {
    let mut needs = NeedsByPlace::new();
    for (spec, near) in scenario.stacks.iter().flat_map(Stack::layers_in_places) {
        let Some(layer) = layer_of(spec) else { continue };
        let clients = if spec.far.is_empty() { vec![near.clone()] } else { spec.far.clone() };
        needs.entry(near).or_default().extend(layer.needs(spec));
        for client in clients {
            needs.entry(client).or_default().extend(layer.needs_far(spec));
        }
    }
    needs
}

/// Returns the programs that are named in the scenario, such as a tool's, by the place where they
/// run.
pub fn programs_of(scenario: &Scenario) -> BTreeMap<Place, Vec<NamedProgram>> {
    let mut programs: BTreeMap<Place, Vec<NamedProgram>> = BTreeMap::new();
    for (spec, near) in scenario.stacks.iter().flat_map(Stack::layers_in_places) {
        let known = programs.entry(near).or_default();
        for named in layer_of(spec).map(|layer| layer.named_programs(spec)).unwrap_or_default() {
            if !known.contains(&named) {
                known.push(named);
            }
        }
    }
    programs
}

pub fn sets_up_in_guests(scenario: &Scenario) -> bool {
    let mut layers = scenario.stacks.iter().flat_map(Stack::layers_in_places);
    layers.any(|(spec, place)| place == in_guest() && is_set_up(spec))
}

/// Returns the hosts over SSH on which a layer sets something up. A layer that restarts a host sets
/// up nothing on it.
pub fn hosts_with_steps(scenario: &Scenario) -> BTreeSet<Place> {
    let layers = scenario.stacks.iter().flat_map(Stack::layers_in_places);
    let places = layers
        .filter(|(spec, _)| {
            is_set_up(spec) && !spec.catalog_entry().is_some_and(|help| help.restarts_place)
        })
        .flat_map(|(spec, near)| std::iter::once(near).chain(spec.far.clone()));
    places.filter(Place::is_ssh).collect()
}

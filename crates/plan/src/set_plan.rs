//! What planning starts from and what it results in: the steps of a set, and the devices that its
//! stacks give to the load.

use super::sets::SetLayout;
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_drivers::run_tag::RunTag;
use iotax_facts::place::Place;
use iotax_layers::medium::FoundMedium;
use iotax_layers::{ExposedDevice, guest};
use iotax_model::scenario::Scenario;
use iotax_steps::step::Step;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What is known of a run when it is planned.
pub struct PlanGround<'a> {
    pub scenario: &'a Scenario,
    pub layout: &'a SetLayout,
    /// What was found of the medium of each stack, member by member, in the order of the stacks.
    pub found: &'a [Vec<FoundMedium>],
    /// Programs and images that this machine has for guests; `None` when no stack has a guest.
    pub guest_parts: Option<guest::GuestParts>,
    pub tag: RunTag,
}

/// The steps of one set, and the devices that its stacks give to the load.
pub struct SetPlan {
    pub steps: Vec<Step>,
    /// Number of steps that make what the guests are on. They come first.
    pub below_guests: usize,
    /// Index of the first step that is performed in the guests, once these are reached.
    pub in_guests: usize,
    pub guests: Vec<guest::GuestPlan>,
    /// Pairs of a stack's index and the device that the load works on.
    pub targets: Vec<(usize, ExposedDevice)>,
    pub(super) media: BTreeMap<usize, ExposedDevice>,
    pub(super) consents_lacking: Vec<String>,
    /// The part of the set's only stack that can stay up for another set; `None` if none can.
    pub back_end: Option<BackEnd>,
}

/// Layers at the bottom of a stack, up to an export or whatever else each visit makes anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackEnd {
    /// Text of the medium with these layers.
    pub key: String,
    /// Number of the set's first steps, which make them.
    pub steps: usize,
    /// True if what they show must be written before it is measured.
    pub unwritten: bool,
}

impl SetPlan {
    /// Returns the indices of the stacks that are on what a step makes. The step must be one whose
    /// result is read back.
    pub fn stacks_on(&self, step: StepId) -> impl Iterator<Item = usize> {
        let on_it = move |(_, exposed): &&(usize, ExposedDevice)| exposed.read_back.contains(&step);
        self.targets.iter().filter(on_it).map(|(index, _)| *index)
    }
}

impl SetPlan {
    /// Returns the files and devices at the bottom of a stack, by place.
    pub fn media_of(&self, stack: usize) -> Vec<(Place, Vec<PathBuf>)> {
        let known = |path: &&PathRef| match path {
            PathRef::Path(path) => Some(path.clone()),
            _ => None,
        };
        let all = self.media.get(&stack).map(ExposedDevice::loaded).unwrap_or_default();
        let all = all
            .into_iter()
            .map(|(place, paths)| (place.clone(), paths.iter().filter_map(known).collect()));
        all.filter(|(_, paths): &(Place, Vec<PathBuf>)| !paths.is_empty()).collect()
    }

    /// Returns the ids of the steps that make what serves a stack's I/O: its layers, its guests and
    /// what is below them.
    pub fn steps_serving(&self, stack: usize) -> Vec<StepId> {
        let Some((_, exposed)) = self.targets.iter().find(|(index, _)| *index == stack) else {
            return Vec::new();
        };
        let guests = self.guests.iter().filter(|guest| exposed.is_in(&guest.place));
        exposed.read_back.iter().chain(guests.flat_map(|guest| &guest.steps)).copied().collect()
    }
}

/// The guests with emulated drives that are up for the whole run.
#[derive(Default)]
pub struct LabPlan {
    pub steps: Vec<Step>,
    pub guests: Vec<guest::GuestPlan>,
}

/// Bytes that the run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanBounds {
    /// Bytes that every stack of the scenario offers: the region that all of them are measured on.
    pub region: u64,
    /// Bytes that `max_written` leaves for the load; `None`: it was not given, or the size of a
    /// medium is not known yet.
    pub left_to_write: Option<u64>,
}

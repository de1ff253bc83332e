//! Brings the layers and guests of a set up, and gives the load its targets.

use super::observer::RunEvent;
use super::places::{self, Places};
use super::session::{PlannedVisit, Session};
use super::under_load::FarEnd;
use super::under_load::{LoadedMember, StackUnderLoad};
use anyhow::{Result, ensure};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::threads::ServingThread;
use iotax_engines::serving::Allowed;
use iotax_facts::place::Place;
use iotax_host::guard::admit::Admitted;
use iotax_host::guard::fill;
use iotax_host::guard::judge::Intent;
use iotax_layers::{ExposedDevice, guest};
use iotax_load::TargetSpec;
use iotax_model::stack::Medium;
use iotax_plan::set_plan::SetPlan;
use iotax_plan::sets::{SetLayout, StackSet};
use iotax_plan::survey::{self};
use iotax_steps::op::Op;
use iotax_steps::step::Step;
use iotax_units::MIB;
use iotax_units::exit::Failed;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
impl Session<'_> {
    pub(super) fn leave_set(
        &mut self,
        places: &mut Places,
        up: &SetPlan,
        mark: usize,
        kept: Vec<Step>,
    ) -> Result<()> {
        self.leave_restarted(places, &up.steps);
        // Things that are set up in a guest may be on a disk that outlives it.
        self.executor.undo_to(mark + up.in_guests)?;
        for guest in &up.guests {
            places.leave(&guest.place);
        }
        // Nothing is written between visits, and the next set's layers must be able to open the
        // devices.
        for place in places.reached_places() {
            places.get(&place)?.allow(&Allowed::default())?;
        }
        self.kept.steps = kept;
        self.undo_above(mark + self.kept.steps.len())
    }

    /// Performs the steps of a set and reaches its guests. If KVM turns out to be emulated, TCG
    /// replaces it.
    pub(super) fn bring_up(
        &mut self,
        layout: &SetLayout,
        places: &mut Places,
        planned: PlannedVisit,
    ) -> Result<SetPlan> {
        loop {
            let mut mark = self.executor.mark();
            let plan = self.ground(layout).plan_set(&layout.sets[planned.set], planned.number)?;
            let set = &layout.sets[planned.set];
            self.reach_again(places, set)?;
            self.look_again(places, set)?;
            self.leave_restarted(places, &plan.steps);
            if !plan.steps.starts_with(&self.kept.steps) {
                mark -= std::mem::take(&mut self.kept.steps).len();
                self.executor.undo_to(mark)?;
            }
            let kept = self.kept.steps.len();
            for step in self.ground(layout).restored_media(set, planned.number)? {
                // What is below a back end that is up is in use.
                if kept == 0 && !is_whole(&step) {
                    self.perform(&step)?;
                    // This step needs no undo, and the resources that are up are counted from here.
                    self.executor.forget_last()?;
                }
            }
            self.perform_all(&plan.steps[kept..plan.in_guests])?;
            self.report_notes()?;
            self.reach_again(places, set)?;
            match self.reach_guests(places, &plan) {
                Ok(()) => {
                    self.needs_are_met_in_guests(&plan)?;
                    self.perform_all(&plan.steps[plan.in_guests..])?;
                    self.report_notes()?;
                    return Ok(plan);
                }
                Err(error) if self.fall_back_to_tcg(&error) => {
                    self.warn(
                        "accelerator",
                        "",
                        format!("KVM shows no sign of life, TCG is used instead: {error:#}"),
                    )?;
                    plan.guests.iter().for_each(|guest| places.leave(&guest.place));
                    self.executor.undo_to(mark)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Looks again at devices that the run will write, just before it first does, because downloads
    /// and fills lie between this and the first look. Later visits find what the run itself left
    /// there. Devices that are only read must also be the ones that were looked at: a drive that
    /// was with a guest may have come back under another's name.
    pub(super) fn look_again(&mut self, places: &mut Places, set: &StackSet) -> Result<()> {
        for index in &set.stacks {
            let stack = &self.scenario.stacks[*index];
            let intent = survey::intent(self.scenario, stack);
            for member in stack.medium.members() {
                self.look_again_afar(places, stack, member)?;
                let Medium::Device { path } = member else { continue };
                self.survey.recognise(path)?;
                if intent == Intent::Write && !self.admitted.is_admitted(path)? {
                    let (inspection, _) = survey::admitted(path, intent, self.scenario, stack)?;
                    self.admitted.add_device(path, inspection.identity);
                }
            }
        }
        Ok(())
    }

    pub(super) fn fall_back_to_tcg(&mut self, error: &anyhow::Error) -> bool {
        match &mut self.guest_parts {
            Some(parts) if guest::is_dead_kvm(error) => parts.fall_back_to_tcg(),
            _ => false,
        }
    }

    pub(super) fn reach_guests(&mut self, places: &mut Places, plan: &SetPlan) -> Result<()> {
        let run_id = self.run_id();
        for guest in &plan.guests {
            self.observer.notify(RunEvent::Reaching { place: format!("guest {}", guest.place) });
            places.reach_guest(guest, &run_id, self.stop)?;
            if guest.files.steps.is_some() {
                self.executor.add_place(&guest.place, places::executor_in_guest(guest, &run_id)?);
            }
        }
        Ok(())
    }

    pub(super) fn devices_in(&self, place: &Place) -> Vec<PathBuf> {
        let of = |medium: &Medium| match medium {
            // A file that is not there yet is known by its folder's file system.
            Medium::File { path, .. } if place.is_host() && path.exists() => Some(path.clone()),
            Medium::File { path, .. } if place.is_host() => path.parent().map(PathBuf::from),
            Medium::Device { path } if place.is_host() => Some(path.clone()),
            Medium::Remote { host, path, size, agent, .. } if place.ssh_host() == Some(host) => {
                let made = size.is_some() && *agent == iotax_model::stack::LoadIssuer::Iotax;
                path.parent().filter(|_| made).map(PathBuf::from).or_else(|| Some(path.clone()))
            }
            Medium::Drive { place: lab, name } if place == lab => Some(guest::lab::link_of(name)),
            _ => None,
        };
        let media = self.scenario.stacks.iter().flat_map(|stack| stack.medium.members());
        let mut devices: Vec<PathBuf> = media.filter_map(of).collect();
        devices.dedup();
        devices
    }

    /// Returns the places and targets of the load of each stack of the set, without lost places.
    /// Before that, gives the guard in each place the list of what may be written there.
    pub(super) fn stacks_under_load(
        &mut self,
        places: &mut Places,
        up: &SetPlan,
        region: u64,
    ) -> Result<Vec<StackUnderLoad>> {
        let mut ready = Vec::new();
        let mut made: BTreeMap<Place, Vec<PathBuf>> = BTreeMap::new();
        for (index, exposed) in &up.targets {
            let executor = &self.executor;
            let resolve = |path: &PathRef| executor.path_of(path);
            let mut members = Vec::new();
            let bytes = region / exposed.part_count();
            // Parts of one device begin at whole MiB.
            let bytes = if exposed.overlaid { bytes / MIB * MIB } else { bytes };
            for (number, (place, paths)) in exposed.loaded().into_iter().enumerate() {
                if places.is_lost(place) {
                    continue;
                }
                let mut targets = Vec::new();
                // A place alone has no target.
                for target in paths.into_iter().filter(|path| **path != PathRef::Nothing) {
                    let path = places.get(place)?.locate(target, &resolve)?;
                    // The run made it: a step did, or it is a drive of a lab.
                    if !matches!(target, PathRef::Path(_)) || self.scenario.labs.contains_key(place)
                    {
                        made.entry(place.clone()).or_default().push(path.clone());
                    }
                    targets.push(TargetSpec {
                        path,
                        offset: if exposed.overlaid { number as u64 * bytes } else { 0 },
                        bytes: Some(bytes),
                        writable: exposed.writable && self.scenario.writes(),
                        hold: exposed.hold,
                    });
                }
                members.push(LoadedMember { place: place.clone(), targets });
            }
            ensure!(
                !members.is_empty(),
                Failed::measurement(format!(
                    "{}: every place that it was loaded in is lost; hint: iotax resume, when they are back",
                    self.scenario.stacks[*index].name
                ))
            );
            ready.push(StackUnderLoad {
                index: *index,
                stack: self.scenario.stacks[*index].name.clone(),
                members,
                engine: exposed.engine,
                owed: self.devices_in(&Place::Host),
                others: self.places_below(*index, exposed),
                media: up.media_of(*index),
                far_end: FarEnd::network_medium(&self.scenario.stacks[*index].medium),
                serving: BTreeMap::new(),
            });
        }
        let loaded: BTreeSet<Place> = ready
            .iter()
            .flat_map(|ready| &ready.members)
            .map(|member| member.place.clone())
            .collect();
        for place in loaded {
            let made = made.get(&place).cloned().unwrap_or_default();
            let admitted =
                if place.is_host() { self.admitted.clone() } else { Admitted::default() };
            let consent = self.scenario.consent.clone();
            places.get(&place)?.allow(&Allowed { consent, made, admitted })?;
        }
        Ok(ready)
    }

    /// Returns the threads that serve a stack's I/O, other than its load, each once, in places that
    /// can be asked.
    pub(super) fn threads_serving(
        &mut self,
        places: &Places,
        up: &SetPlan,
        index: usize,
    ) -> Result<BTreeMap<Place, Vec<ServingThread>>> {
        let mut all: BTreeMap<Place, Vec<ServingThread>> = BTreeMap::new();
        for step in up.steps_serving(index) {
            let (place, threads) = self.executor.threads_of(step)?;
            if places.is_reached(&place) && !threads.is_empty() {
                all.entry(place).or_default().extend(threads);
            }
        }
        for threads in all.values_mut() {
            threads.sort_by_key(|thread| thread.id);
            threads.dedup_by_key(|thread| thread.id);
        }
        Ok(all)
    }

    /// Returns the places that work for a stack and have no load of it. Guests on this host count
    /// as this host, unless the load is in one.
    fn places_below(&self, index: usize, exposed: &ExposedDevice) -> Vec<Place> {
        let counted = exposed.loaded().iter().any(|(place, _)| place.is_guest());
        let of = |place: Place| if place.is_guest() { Place::Host } else { place };
        let below: BTreeSet<Place> =
            self.scenario.stacks[index].places().into_iter().map(of).collect();
        below
            .into_iter()
            .filter(|place| !(exposed.is_in(place) || counted && place.is_host()))
            .collect()
    }
}

/// Returns true if a step would fill a file of this host that already has no holes or unwritten
/// extents, as far as is known.
fn is_whole(step: &Step) -> bool {
    let Op::FillFile(fill) = &step.op else { return false };
    let path = fill.file.resolved_path().ok().filter(|_| step.place.is_host());
    path.is_some_and(|path| {
        fill::unwritten_ranges(path, fill.bytes).is_ok_and(|ranges| ranges.is_empty())
    })
}

//! Records the places of a run: their facts, the disks of guests as QEMU and the guests report
//! them, and which places are emulated. This module measures nothing and changes nothing. It does
//! not repeat what was recorded or reported already.

use super::guests;
use super::observer::RunEvent;
use super::places::Places;
use super::session::Session;
use super::under_load::StackUnderLoad;
use anyhow::{Context, Result};
use iotax_drivers::path_ref::PathRef;
use iotax_facts::place::Place;
use iotax_host::facts;
use iotax_host::facts::{Device, Facts};
use iotax_layers::guest::GuestPlan;
use iotax_layers::readback_owner;
use iotax_model::record::{
    GuestDisk, LayerUp, PlaceFacts, RunRecord, Serving, SpdkTarget, ThreadGroup,
};
use iotax_model::stack::Stack;
use iotax_plan::set_plan::SetPlan;
use iotax_plan::survey;
use iotax_qemu::throttle;
use iotax_remote::hypervisor;
use iotax_steps::op::Op;
use iotax_steps::step::Step;
use std::path::{Path, PathBuf};

/// Facts about a place that the run itself made.
#[derive(Default)]
struct MadePlace {
    commands: Vec<Vec<String>>,
    disks: Vec<GuestDisk>,
    spdk: Vec<SpdkTarget>,
}

/// Returns the facts of a device in a place; `None` if the path is not a device, or the place is
/// not reached.
fn device_in(places: &mut Places, place: &Place, path: &Path) -> Result<Option<Device>> {
    match place {
        Place::Host => Ok(facts::device_here(path)),
        place if places.is_reached(place) => {
            let facts = places.get(place)?.facts(&[path.to_owned()])?;
            Ok(facts.targets.into_iter().flat_map(|target| target.devices).next())
        }
        _ => Ok(None),
    }
}

impl Session<'_> {
    pub(super) fn record_place(&mut self, places: &mut Places, place: &Place) -> Result<()> {
        let devices = self.devices_in(place);
        let mut facts = places.get(place)?.facts(&devices)?;
        if let Some(vm) =
            self.scenario.described.get(place).and_then(|described| described.vm.as_ref())
        {
            let mut vm_facts =
                hypervisor::facts(vm).with_context(|| format!("{place} is declared as {vm}"))?;
            for why in hypervisor::match_disks(&mut vm_facts, &facts) {
                self.warn("settings", &place.to_string(), why)?;
            }
            for disk in &vm_facts.disks {
                // `of_libvirt` understands no other manager's words, so it finds nothing for other
                // managers.
                facts.limits.extend(
                    disk.measured.iter().flat_map(|_| throttle::of_libvirt(&vm_facts.name, disk)),
                );
                let known =
                    disk.measured.clone().map(|path| ((place.clone(), path), disk.name.clone()));
                self.survey.disks.extend(known);
            }
            facts.vm = Some(Box::new(vm_facts));
        }
        let emulated = places.get(place)?.emulated.clone();
        self.warn_of_emulated(&[(place.clone(), emulated)]);
        self.store_place(places, place, facts, MadePlace::default())
    }

    /// Records this host's facts again, unless this set gives drives to guests, if other stacks of
    /// the scenario do: a drive may have come back different.
    pub(super) fn record_drives(&mut self, places: &mut Places, up: &SetPlan) -> Result<()> {
        let away = up.steps.iter().any(|step| matches!(step.op, Op::PassThrough(_)));
        let taken = |stack: &Stack| stack.medium.place().is_host() && survey::takes_drive(stack);
        match !away && self.scenario.stacks.iter().any(taken) {
            true => self.record_place(places, &Place::Host),
            false => Ok(()),
        }
    }

    /// Records, at the first visit of a set, the devices and settings of its layers as the tools
    /// and the kernel in their places report them.
    pub(super) fn record_layers(
        &mut self,
        places: &mut Places,
        set: usize,
        up: &SetPlan,
    ) -> Result<()> {
        let read_back = up.steps.iter().filter_map(|step| Some((step, readback_owner(&step.op)?)));
        let read_back: Vec<(&Step, (&str, &str))> = read_back.collect();
        if read_back.is_empty() || !self.announced.is_new_set(set) {
            return Ok(());
        }
        for (step, (layer, part)) in read_back {
            // A step that makes no device yields a folder, a name of its own, or nothing.
            let path = self.executor.path_of(&PathRef::Yield(step.id)).ok();
            let path = path.filter(|path| path.starts_with("/dev"));
            let device =
                path.map(|path| device_in(places, &step.place, &path)).transpose()?.flatten();
            let settings = self.executor.settings_of(step.id)?;
            if device.is_none() && settings.is_empty() {
                continue;
            }
            let stacks = up
                .stacks_on(step.id)
                .map(|index| self.scenario.stacks[index].name.clone())
                .collect();
            let (layer, part, place) = (layer.to_owned(), part.to_owned(), step.place.clone());
            self.store.append(&RunRecord::Layer(LayerUp {
                stacks,
                layer,
                part,
                place,
                device,
                settings,
            }))?;
        }
        Ok(())
    }

    pub(super) fn record_serving(&mut self, ready: &[StackUnderLoad]) -> Result<()> {
        for one in ready {
            for (place, all) in &one.serving {
                let mut threads: Vec<ThreadGroup> = Vec::new();
                for thread in all.iter().filter(|thread| !thread.is_vcpu) {
                    match threads.iter_mut().find(|group| group.name == thread.name) {
                        Some(group) => group.count += 1,
                        None => threads.push(ThreadGroup {
                            name: thread.name.clone(),
                            count: 1,
                            polls: thread.polls,
                            in_part: thread.in_part,
                        }),
                    }
                }
                if threads.is_empty() {
                    continue;
                }
                let serving = Serving { stack: one.stack.clone(), place: place.clone(), threads };
                if self.announced.is_served_otherwise(&serving) {
                    self.store.append(&RunRecord::Serving(serving))?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn record_guests(
        &mut self,
        places: &mut Places,
        up: &SetPlan,
        ready: &[StackUnderLoad],
    ) -> Result<()> {
        let emulated = |guest: &GuestPlan| -> Result<(Place, Option<String>)> {
            Ok((guest.place.clone(), places.get(&guest.place)?.emulated.clone()))
        };
        let emulated = up.guests.iter().map(emulated).collect::<Result<Vec<_>>>()?;
        self.warn_of_emulated(&emulated);
        for guest in &up.guests {
            let daemons = guest.daemons.iter().map(|daemon| (&daemon.command, &daemon.belows));
            let all = daemons.chain([(&guest.command, &guest.belows)]);
            let commands = all
                .map(|(words, belows)| self.executor.words_of(words, belows))
                .collect::<Result<Vec<_>>>()?;
            let members = ready.iter().flat_map(|ready| &ready.members);
            let here = members.filter(|member| member.place == guest.place);
            let targets = here.flat_map(|member| &member.targets);
            let devices: Vec<PathBuf> = targets.map(|target| target.path.clone()).collect();
            let place = places.get(&guest.place)?;
            let facts = place.facts(&devices)?;
            let disks = guests::disks(place, guest, up, ready, &facts)?;
            for disk in &disks {
                for text in &disk.differs {
                    self.warn("settings", &disk.stack, text.clone())?;
                }
            }
            let spdk = guests::spdk_targets(guest)?;
            self.store_place(places, &guest.place, facts, MadePlace { commands, disks, spdk })?;
        }
        Ok(())
    }

    fn store_place(
        &mut self,
        places: &mut Places,
        place: &Place,
        mut facts: Facts,
        made: MadePlace,
    ) -> Result<()> {
        if let Some(described) = self.scenario.described.get(place) {
            facts.said = described.facts.clone();
        }
        let emulated = places.get(place)?.emulated.clone();
        let MadePlace { commands, disks, spdk } = made;
        let facts = PlaceFacts { place: place.clone(), facts, emulated, commands, disks, spdk };
        match self.announced.has_changed(&facts) {
            true => Ok(self.store.append(&RunRecord::Place(facts))?),
            false => Ok(()),
        }
    }

    /// Warns of emulated places, once in a run, with one sentence per reason.
    fn warn_of_emulated(&mut self, places: &[(Place, Option<String>)]) {
        for text in self.announced.emulation_sentences(places) {
            self.observer.notify(RunEvent::Warning { text });
        }
    }
}

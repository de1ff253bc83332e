//! What a run records of its places: their facts, the disks of guests as they really are, what is emulated. It measures nothing
//! and changes nothing; what was recorded or said already is not repeated.

use super::bench::Ready;
use super::guests;
use super::observer::Event;
use super::places::Places;
use super::plan::SetPlan;
use super::session::Session;
use super::survey;
use crate::host::facts::Facts;
use crate::layer::guest::GuestPlan;
use crate::step::HOST;
use crate::step::op::Op;
use crate::store::record::{GuestDisk, PlaceFacts, Record, SpdkTarget};
use anyhow::Result;
use std::path::PathBuf;

/// What is known of a place that the run itself made.
#[derive(Default)]
struct Made {
    commands: Vec<Vec<String>>,
    disks: Vec<GuestDisk>,
    spdk: Vec<SpdkTarget>,
}

impl Session<'_> {
    pub(super) fn record_place(&mut self, places: &mut Places, name: &str) -> Result<()> {
        let devices = self.devices_in(name);
        let facts = places.get(name)?.facts(&devices)?;
        let emulated = places.get(name)?.emulated.clone();
        self.tell_emulated(&[(name.to_owned(), emulated)]);
        self.store_place(places, name, facts, Made::default())
    }

    /// A drive that was with a guest may have come back other than it went: the host's facts are those of the visit.
    pub(super) fn record_drives(&mut self, places: &mut Places, up: &SetPlan) -> Result<()> {
        let away = up.steps.iter().any(|step| matches!(step.op, Op::PassThrough(_)));
        match !away && self.scenario.stacks.iter().any(survey::takes_drive) {
            true => self.record_place(places, HOST),
            false => Ok(()),
        }
    }

    /// Facts of the guests of a set, with their disks as they really are.
    pub(super) fn record_guests(&mut self, places: &mut Places, up: &SetPlan, ready: &[Ready]) -> Result<()> {
        let emulated = |guest: &GuestPlan| -> Result<(String, Option<String>)> {
            Ok((guest.place.clone(), places.get(&guest.place)?.emulated.clone()))
        };
        let emulated = up.guests.iter().map(emulated).collect::<Result<Vec<_>>>()?;
        self.tell_emulated(&emulated);
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
            self.store_place(places, &guest.place, facts, Made { commands, disks, spdk })?;
        }
        Ok(())
    }

    fn store_place(&mut self, places: &mut Places, name: &str, facts: Facts, made: Made) -> Result<()> {
        let emulated = places.get(name)?.emulated.clone();
        let Made { commands, disks, spdk } = made;
        let facts = PlaceFacts { place: name.to_owned(), facts, emulated, commands, disks, spdk };
        match self.told.has_changed(&facts) {
            true => Ok(self.store.append(&Record::Place(facts))?),
            false => Ok(()),
        }
    }

    /// Once a run, and all at once.
    fn tell_emulated(&mut self, places: &[(String, Option<String>)]) {
        for text in self.told.emulated(places) {
            self.observer.tell(Event::Warning { text });
        }
    }
}

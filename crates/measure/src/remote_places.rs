//! Connects once to the hosts over SSH of a run, inspects the media there, and keeps the findings
//! with the survey.

use super::observer::RunEvent;
use super::places::Places;
use super::remote_look;
use super::session::Session;
use anyhow::Result;
use iotax_drivers::path_ref::StepId;
use iotax_facts::place::Place;
use iotax_host::guard::judge::Intent;
use iotax_layers::medium::FoundMedium;
use iotax_model::stack::{LoadIssuer, Medium, Stack};
use iotax_plan::sets::StackSet;
use iotax_plan::survey::{self, RemoteDrive};
use iotax_steps::op::{ChangeMachine, Op, RemoteAgent};
use iotax_steps::step::Step;
use iotax_units::exit::Failed;
use iotax_wire::peer::{WireError, WireFault};
use std::path::Path;

impl Session<'_> {
    /// Reaches hosts over SSH once, before anything is made here: the sizes of their targets are
    /// needed, and what fails there fails early.
    pub(super) fn reach_remotes(&mut self, places: &mut Places) -> Result<()> {
        for (index, stack) in self.scenario.stacks.iter().enumerate() {
            // If a person brings the drive first, nobody may answer yet.
            if survey::moved_by_operator(self.scenario, stack).is_some() {
                continue;
            }
            for member in 0..stack.medium.members().len() {
                self.reach_member(places, index, member)?;
            }
            for host in clients_over_ssh(stack) {
                if !places.is_reached(&Place::Ssh(host.to_owned())) {
                    self.reach_remote(places, host, index, &self.run_id())?;
                }
            }
        }
        Ok(())
    }

    /// Reaches the host of a stack's member, if it is on another host, and inspects the member
    /// there.
    pub(super) fn reach_member(
        &mut self,
        places: &mut Places,
        index: usize,
        member: usize,
    ) -> Result<()> {
        let stack = &self.scenario.stacks[index];
        let medium = &stack.medium.members()[member];
        let Medium::Remote { host, path, agent, .. } = medium else {
            for host in hosts_without_device(medium) {
                if !places.is_reached(&Place::Ssh(host.clone())) {
                    self.reach_remote(places, &host, index, &self.run_id())?;
                }
            }
            return Ok(());
        };
        let place = Place::Ssh(host.clone());
        let run_id = self.run_id();
        match agent {
            _ if places.is_reached(&place) => {}
            LoadIssuer::Iotax => self.reach_remote(places, host, index, &run_id)?,
            LoadIssuer::Fio => self.reach_afar(places, host, path, index)?,
        }
        let (found, warnings, drive) =
            remote_look::remote(places.get(&place)?, medium, self.scenario, stack)?;
        if let Some(identity) = drive {
            let afar = RemoteDrive { identity, admitted: false };
            self.survey.afar.entry((place.clone(), path.clone())).or_insert(afar);
        }
        let disk = self.survey.disks.get(&(place.clone(), path.clone())).cloned();
        self.survey.found[index][member] = FoundMedium { disk, ..found };
        for text in warnings {
            self.warn("target", &place.to_string(), text)?;
        }
        Ok(())
    }

    /// Checks a drive of another host again. It must be the one that was looked at, whenever
    /// something is set up on it. The guard looks at it once more just before it is first written:
    /// reaching others, downloads and fills happen in between.
    pub(super) fn look_again_afar(
        &mut self,
        places: &mut Places,
        stack: &Stack,
        medium: &Medium,
    ) -> Result<()> {
        let Medium::Remote { host, path, .. } = medium else { return Ok(()) };
        let place = Place::Ssh(host.clone());
        if places.is_lost(&place) {
            return Ok(());
        }
        let Some(known) = self.survey.afar.get_mut(&(place.clone(), path.clone())) else {
            return Ok(());
        };
        let now = remote_look::seen_afar(places.get(&place)?, path)?
            .ok_or_else(|| Failed::measurement(format!("{} on {host} is gone", path.display())))?;
        survey::same_device(path, &known.identity, &now.identity)?;
        if !known.admitted && survey::intent(self.scenario, stack) == Intent::Write {
            survey::judged_afar(&now, Intent::Write, self.scenario, stack)?;
            known.admitted = true;
        }
        Ok(())
    }

    pub(super) fn leave_restarted(&mut self, places: &mut Places, steps: &[Step]) {
        for step in steps {
            if let Op::ChangeMachine(ChangeMachine { host: Some(host), .. }) = &step.op {
                places.leave(&Place::Ssh(host.clone()));
            }
        }
    }

    /// Connects again to those hosts of a set that were left. The journal has had them since they
    /// were first reached.
    pub(super) fn reach_again(&mut self, places: &mut Places, set: &StackSet) -> Result<()> {
        let run_id = self.run_id();
        for index in &set.stacks {
            let stack = &self.scenario.stacks[*index];
            let media = stack.medium.members().iter().flat_map(hosts_without_device);
            let clients = clients_over_ssh(stack).map(str::to_owned);
            for host in media.chain(clients).collect::<Vec<_>>() {
                let place = Place::Ssh(host.clone());
                if !places.is_reached(&place) {
                    self.observer.notify(RunEvent::Reaching { place: place.to_string() });
                    places.reach_ssh(&host, &run_id)?;
                    self.record_place(places, &place)?;
                }
            }
            for medium in stack.medium.members() {
                let Medium::Remote { host, path, agent, .. } = medium else { continue };
                let place = Place::Ssh(host.clone());
                if places.is_reached(&place) {
                    continue;
                }
                self.observer.notify(RunEvent::Reaching { place: place.to_string() });
                match agent {
                    LoadIssuer::Iotax => {
                        places.reach_ssh(host, &run_id)?;
                        self.record_place(places, &place)?;
                    }
                    LoadIssuer::Fio => self.reach_afar(places, host, path, *index)?,
                }
            }
        }
        Ok(())
    }

    pub(super) fn reach_remote(
        &mut self,
        places: &mut Places,
        host: &str,
        index: usize,
        run_id: &str,
    ) -> Result<()> {
        let place = Place::Ssh(host.to_owned());
        self.observer.notify(RunEvent::Reaching { place: place.to_string() });
        let op = Op::RemoteAgent(RemoteAgent { host: host.to_owned(), for_steps: false });
        // Numbers of plans begin at 0; this number belongs to no plan.
        let id = StepId::MAX - index as StepId;
        self.perform(&Step { id, place: Place::Host, why: format!("reach {host}"), op })?;
        if let Err(error) = places.reach_ssh(host, run_id) {
            if is_unreachable(&error) {
                // No shell answered, so nothing was copied: there is nothing to undo.
                self.executor.forget_last()?;
            }
            return Err(self
                .same_machine(&error, places, &place)
                .unwrap_or_else(|| with_its_code(error)));
        }
        self.record_place(places, &place)
    }

    /// Returns the error for a host that this run already reached under another name: its own copy
    /// of iotax is there. `None` if `error` has another cause.
    fn same_machine(
        &mut self,
        error: &anyhow::Error,
        places: &Places,
        place: &Place,
    ) -> Option<anyhow::Error> {
        let occupied = error.downcast_ref::<WireError>()?;
        let others: Vec<String> = places
            .reached_places()
            .iter()
            .filter(|other| other.is_ssh())
            .map(ToString::to_string)
            .collect();
        if !matches!(occupied.fault, WireFault::Occupied(_)) || others.is_empty() {
            return None;
        }
        let which = if others.len() > 1 { "one of " } else { "" };
        let others = others.join(", ");
        Some(
            Failed::input(format!(
                "{place} is the same machine as {which}{others}; hint: use one name for it in all stacks"
            ))
            .into(),
        )
    }

    /// Reaches a host without an agent. Nothing is copied to it, so there is nothing to journal.
    fn reach_afar(
        &mut self,
        places: &mut Places,
        host: &str,
        path: &Path,
        index: usize,
    ) -> Result<()> {
        let place = Place::Ssh(host.to_owned());
        self.observer.notify(RunEvent::Reaching { place: place.to_string() });
        let socket = self.executor.tag().run_dir.join(format!("ssh-{index}"));
        places.reach_afar(host, path, &socket)?;
        self.record_place(places, &place)
    }
}

/// Converts the wire's error into one with its exit code.
pub(super) fn with_its_code(error: anyhow::Error) -> anyhow::Error {
    error.downcast::<WireError>().map_or_else(|error| error, |wire| Failed::from(wire).into())
}

pub(super) fn is_unreachable(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<WireError>()
        .is_some_and(|error| matches!(error.fault, WireFault::Unreachable(_)))
}

/// Iterates over the hosts over SSH to which fabrics of the stack lead.
fn clients_over_ssh(stack: &Stack) -> impl Iterator<Item = &str> {
    stack.layers.iter().flat_map(|layer| &layer.far).filter_map(Place::ssh_host)
}

/// Returns the hosts over SSH of a medium without a device: the place of a `cpu` medium, or both
/// ends of a network.
fn hosts_without_device(medium: &Medium) -> Vec<String> {
    let near = matches!(medium, Medium::Cpu { .. } | Medium::Net { .. }).then(|| medium.place());
    let ends = near.into_iter().chain(medium.far_end().cloned());
    ends.filter_map(|place| place.ssh_host().map(str::to_owned)).collect()
}

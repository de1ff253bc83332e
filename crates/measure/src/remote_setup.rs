//! Prepares other places for layers: labs, which are guests that are up for the whole run,
//! executors on hosts over SSH, and a check of what is lacking there.

use super::observer::RunEvent;
use super::places::{self, Places};
use super::remote_places::{is_unreachable, with_its_code};
use super::session::Session;
use anyhow::Result;
use iotax_drivers::path_ref::StepId;
use iotax_facts::place::Place;
use iotax_host::needs::AskedNeed;
use iotax_layers::{NamedProgram, needs};
use iotax_model::stack::in_guest;
use iotax_plan::layer_needs::{hosts_with_steps, needs_of, programs_of};
use iotax_plan::prefixes::is_set_up;
use iotax_plan::set_plan::{LabPlan, SetPlan};
use iotax_plan::sets::SetLayout;
use iotax_plan::survey;
use iotax_steps::op::{Op, RemoteAgent};
use iotax_steps::step::Step;
use iotax_units::count_noun;
use iotax_units::exit::Failed;
use std::collections::BTreeSet;

/// Number from which hosts are numbered that are reached when a person has given them a drive.
const MOST_HOSTS: usize = 1 << 20;

fn all_met(lacking: &[String]) -> Result<()> {
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(Failed::need(lacking.join("\n")).into()),
    }
}

impl Session<'_> {
    /// Starts a second agent, which performs steps, on each host over SSH where the plan has steps.
    pub(super) fn reach_hands(&mut self, layout: &SetLayout) -> Result<()> {
        let mut hosts = hosts_with_steps(self.scenario);
        let media = self.ground(layout).media()?;
        hosts.extend(media.into_iter().map(|step| step.place).filter(Place::is_ssh));
        let hosts = hosts.into_iter().filter(|place| !self.is_only_of_operators(place));
        for (number, place) in hosts.collect::<Vec<_>>().into_iter().enumerate() {
            self.reach_hand(&place, number)?;
        }
        Ok(())
    }

    /// Starts the agent for steps on a host that a person has given a drive, for the layers of a
    /// stack on it, and checks that the host lacks nothing.
    ///
    /// # Errors
    /// As any step; an unmet need: what is lacking there.
    pub(super) fn reach_hand_for(&mut self, index: usize) -> Result<()> {
        let stack = &self.scenario.stacks[index];
        let place = stack.medium.place();
        if !place.is_ssh() || !stack.layers.iter().any(is_set_up) {
            return Ok(());
        }
        // The numbers of hosts that are reached at the start are lower.
        self.reach_hand(&place, MOST_HOSTS + index)?;
        let ids = needs_of(self.scenario).remove(&place).unwrap_or_default();
        let programs = programs_of(self.scenario).remove(&place).unwrap_or_default();
        all_met(&self.lacking_in(&place, &ids, &programs)?.into_iter().collect::<Vec<_>>())
    }

    /// Returns true for a place that only stacks have to which a person brings the drive first.
    fn is_only_of_operators(&self, place: &Place) -> bool {
        let on_it = || self.scenario.stacks.iter().filter(|stack| stack.places().contains(place));
        let is_moved = |stack| survey::moved_by_operator(self.scenario, stack).is_some();
        on_it().next().is_some() && on_it().all(is_moved)
    }

    fn reach_hand(&mut self, place: &Place, number: usize) -> Result<()> {
        let host = place.ssh_host().unwrap_or_default().to_owned();
        let agent = RemoteAgent { host: host.clone(), for_steps: true };
        let id = agent.id(self.executor.tag());
        // Numbers of plans begin at 0; those of the agents for load go down from the end.
        let id_of_step = StepId::MAX / 2 - number as StepId;
        let why = format!("reach {host} to set up there");
        self.perform(&Step {
            id: id_of_step,
            place: Place::Host,
            why,
            op: Op::RemoteAgent(agent),
        })?;
        match places::executor_over_ssh(place, &id) {
            Ok(executor) => self.executor.add_place(place, executor),
            Err(error) => {
                if is_unreachable(&error) {
                    self.executor.forget_last()?;
                }
                return Err(with_its_code(error));
            }
        }
        Ok(())
    }

    /// Starts the labs and connects to them; they stay up until the run ends. If KVM shows no sign
    /// of life, they are started again with TCG.
    pub(super) fn bring_up_labs(&mut self, layout: &SetLayout, places: &mut Places) -> Result<()> {
        while !self.scenario.labs.is_empty() {
            let mark = self.executor.mark();
            let plan = self.ground(layout).labs()?;
            self.perform_all(&plan.steps)?;
            match self.reach_labs(places, &plan) {
                Ok(()) => break,
                Err(error) if self.fall_back_to_tcg(&error) => {
                    let text = format!("KVM shows no sign of life, TCG is used instead: {error:#}");
                    self.warn("accelerator", "", text)?;
                    plan.guests.iter().for_each(|guest| places.leave(&guest.place));
                    self.executor.undo_to(mark)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Checks that other places lack nothing, all at once, before anything is made in them.
    ///
    /// # Errors
    /// An unmet need: all that is lacking, with the commands that supply it. Also fails if a place
    /// does not answer.
    pub(super) fn needs_are_met_elsewhere(&mut self) -> Result<()> {
        let mut lacking = Vec::new();
        let mut programs = programs_of(self.scenario);
        for (place, ids) in needs_of(self.scenario) {
            let is_here = place.is_host() || place == in_guest();
            if !is_here && !self.is_only_of_operators(&place) {
                let programs = programs.remove(&place).unwrap_or_default();
                lacking.extend(self.lacking_in(&place, &ids, &programs)?);
            }
        }
        all_met(&lacking)
    }

    /// Checks that guests in which something is set up lack nothing, once they are reached.
    ///
    /// # Errors
    /// As [`Session::needs_are_met_elsewhere`].
    pub(super) fn needs_are_met_in_guests(&mut self, plan: &SetPlan) -> Result<()> {
        let ids = needs_of(self.scenario).remove(&in_guest()).unwrap_or_default();
        let programs = programs_of(self.scenario).remove(&in_guest()).unwrap_or_default();
        let mut lacking = Vec::new();
        for guest in plan.guests.iter().filter(|guest| guest.files.steps.is_some()) {
            lacking.extend(self.lacking_in(&guest.place, &ids, &programs)?);
        }
        all_met(&lacking)
    }

    fn lacking_in(
        &mut self,
        place: &Place,
        ids: &BTreeSet<&'static str>,
        programs: &[NamedProgram],
    ) -> Result<Option<String>> {
        if ids.is_empty() && programs.is_empty() {
            return Ok(None);
        }
        let executor = self.executor.executor_at(place)?;
        let mut missing = executor.unmet_needs(&needs::by_ids(ids.iter().copied()))?;
        let asked: Vec<AskedNeed> = programs.iter().map(NamedProgram::to_asked_need).collect();
        let lacking = executor.lacking_needs(&asked)?.lacking.into_iter();
        missing.extend(lacking.filter_map(|(at, what)| Some(programs.get(at)?.as_missing(what))));
        Ok(survey::listed_in(place, &missing))
    }

    fn reach_labs(&mut self, places: &mut Places, plan: &LabPlan) -> Result<()> {
        let run_id = self.run_id();
        for guest in &plan.guests {
            let drives = match self.scenario.labs[&guest.place].drives.unwrap_or(0) {
                0 => String::new(),
                drives => format!(" with {}", count_noun(u64::from(drives), "drive", "drives")),
            };
            self.observer
                .notify(RunEvent::Reaching { place: format!("the lab {}{drives}", guest.place) });
            let executor = places.reach_lab(guest, &run_id, self.stop)?;
            self.executor.add_place(&guest.place, executor);
            self.record_place(places, &guest.place)?;
        }
        Ok(())
    }
}

//! Asks a person to act before a stack can be measured: a drive is given to one machine after the
//! other. The drive's serial shows that it was done. If nobody is there to ask, the run ends, and
//! `iotax resume` goes on, days later if need be.

use super::observer::{OperatorAnswer, RunEvent};
use super::places::Places;
use super::remote_look;
use super::session::Session;
use anyhow::Result;
use iotax_facts::place::Place;
use iotax_host::block::Identity;
use iotax_host::guard::inspect::identity_of;
use iotax_host::guard::judge;
use iotax_layers::medium::FoundMedium;
use iotax_model::record::state::MANUAL;
use iotax_model::scenario::{Operator, Scenario};
use iotax_model::stack::{LoadIssuer, Medium, Stack};
use iotax_plan::sets::{SetLayout, StackSet};
use iotax_plan::survey::{self, moved_by_operator};
use iotax_remote::agentless;
use iotax_units::exit::Failed;
use iotax_units::show_bytes;
use std::collections::BTreeSet;
use std::path::Path;

/// Returns the most times that a person may have to act in a run.
pub fn most_steps(scenario: &Scenario, layout: &SetLayout) -> usize {
    let first = layout.sets.iter().filter(|set| set.after.is_none());
    let of_a_round: usize = first.map(|set| steps_of(scenario, set)).sum();
    of_a_round * layout.visits_of_a_set(&scenario.measure) as usize
}

pub(super) fn steps_of(scenario: &Scenario, set: &StackSet) -> usize {
    set.stacks
        .iter()
        .filter(|index| scenario.operator_of(&scenario.stacks[**index]).is_some())
        .count()
}

/// Names a manual step: `manual step 2 of at most 6`.
pub(super) fn step_words(number: usize, most: usize) -> String {
    format!("manual step {number} of at most {most}")
}

impl Session<'_> {
    /// Waits until the drives of a set are where its stacks have them, and nowhere else; `false`:
    /// Ctrl-C. Messages number the manual steps: `before` were asked for before this set, of at
    /// most `most` in the run.
    ///
    /// # Errors
    /// An unmet need: a manual step is required, and nobody is there. The guard refuses the drive,
    /// or it is too small.
    pub(super) fn await_operator(
        &mut self,
        places: &mut Places,
        set: &StackSet,
        before: usize,
        most: usize,
    ) -> Result<bool> {
        let (mut number, mut hands) = (before, BTreeSet::new());
        for index in &set.stacks {
            let stack = &self.scenario.stacks[*index];
            let Some(operator) = moved_by_operator(self.scenario, stack) else { continue };
            number += 1;
            let step = step_words(number, most);
            let mut asked = false;
            while let Some(lacking) = self.pending_manual_step(places, *index, operator)? {
                let begin = if asked { "not done yet" } else { &step };
                let text = format!("{begin}: {}\n({}: {lacking})", operator.text, stack.name);
                match self.observer.ask_operator(&text, self.stop) {
                    OperatorAnswer::Done => {
                        asked = true;
                        let serial = &operator.serial;
                        let what = format!(
                            "looking for the drive {serial} where {} has it ...",
                            stack.name
                        );
                        self.observer.notify(RunEvent::Phase { what });
                    }
                    OperatorAnswer::Stopped => return Ok(false),
                    OperatorAnswer::Nobody => {
                        let run = self.run_id();
                        let why = format!(
                            "{MANUAL} before {} is measured ({step}): {}\nreason: {lacking}\nhint: do this, then run \
                             `iotax resume {run}`; there is no time limit",
                            stack.name, operator.text
                        );
                        return Err(Failed::need(why).into());
                    }
                }
            }
            if asked {
                let text = format!(
                    "the drive {} was found; leave it there until the next step",
                    operator.serial
                );
                self.observer.notify(RunEvent::Note { text });
            }
            if hands.insert(stack.medium.place()) {
                self.reach_hand_for(*index)?;
            }
            if stack.medium.place().is_host() && places.is_reached(&Place::Host) {
                self.record_place(places, &Place::Host)?;
            }
        }
        Ok(true)
    }

    /// Ends the connections to hosts of this set that only stacks with manual steps use: the
    /// person's next action may switch them off.
    pub(super) fn leave_operators_places(&mut self, places: &mut Places, set: &StackSet) {
        let stacks = set.stacks.iter().map(|index| &self.scenario.stacks[*index]);
        for stack in stacks.filter(|stack| moved_by_operator(self.scenario, stack).is_some()) {
            let place = stack.medium.place();
            let others = self
                .scenario
                .stacks
                .iter()
                .filter(|other| self.scenario.operator_of(other).is_none());
            if place.is_ssh() && !others.into_iter().any(|other| other.places().contains(&place)) {
                places.leave(&place);
            }
        }
    }

    /// Returns what a person still has to do; `None` if the drive is there, was inspected, and is
    /// nowhere else.
    fn pending_manual_step(
        &mut self,
        places: &mut Places,
        index: usize,
        operator: &Operator,
    ) -> Result<Option<String>> {
        let scenario = self.scenario;
        let stack = &scenario.stacks[index];
        let elsewhere = scenario.stacks.iter().filter(|other| {
            other.medium != stack.medium
                && scenario.operator_of(other).is_some_and(|other| other.serial == operator.serial)
        });
        if let Some(still) = elsewhere.filter_map(|other| still_there(other, operator)).next() {
            return Ok(Some(still));
        }
        let found = match &stack.medium {
            Medium::Device { path } => {
                if let Some(lacking) =
                    not_here(path, identity_of(path).ok().as_ref(), &operator.serial)
                {
                    return Ok(Some(lacking));
                }
                survey::existing(path, false, scenario, stack, &mut self.survey)?
            }
            Medium::Remote { host, path, agent, .. } => {
                let mark = self.executor.mark();
                let reached = match self.reach_member(places, index, 0) {
                    Err(error) if *agent == LoadIssuer::Iotax && self.executor.mark() == mark => {
                        return Ok(Some(format!("{error:#}")));
                    }
                    reached => reached.err(),
                };
                let place = Place::Ssh(host.clone());
                let seen = match places.is_reached(&place) {
                    true => remote_look::seen_afar(places.get(&place)?, path)?,
                    false => None,
                };
                let identity = seen.as_ref().map(|seen| &seen.identity);
                if let Some(lacking) = not_here(path, identity, &operator.serial) {
                    places.leave(&place);
                    self.executor.undo_to(mark)?;
                    return Ok(Some(format!("{place}: {lacking}")));
                }
                // It is the right drive, and the guard or its agent refuses it.
                if let Some(refused) = reached {
                    return Err(refused);
                }
                self.survey.found[index][0].clone()
            }
            other => return Err(Failed::input(format!("{other:?} is not a drive")).into()),
        };
        if found.bytes < operator.size {
            let (has, size) = (show_bytes(found.bytes), show_bytes(operator.size));
            let why = format!(
                "{}: its drive has {has}, less than the operator's size of {size}",
                stack.name
            );
            return Err(Failed::input(format!(
                "{why}; hint: a smaller size, the same for all stacks"
            ))
            .into());
        }
        self.survey.found[index] = vec![FoundMedium { bytes: operator.size, ..found }];
        Ok(None)
    }
}

/// Returns why the device at a path is not the drive; `None` if it is.
pub(super) fn not_here(path: &Path, identity: Option<&Identity>, serial: &str) -> Option<String> {
    let path = path.display();
    match identity {
        None => Some(format!("{path} does not exist; the drive {serial} is expected there")),
        Some(identity) if judge::names_device(identity, serial) => None,
        Some(identity) => {
            let other = judge::consent_word(identity).unwrap_or("a device without serial and WWN");
            Some(format!("{path} is {other}; the drive {serial} is expected there"))
        }
    }
}

/// Explains that the drive is still where another stack has it; `None` if it is not. A host that
/// does not answer no longer has the drive, or is off.
fn still_there(other: &Stack, operator: &Operator) -> Option<String> {
    let serial = &operator.serial;
    match &other.medium {
        Medium::Device { path } => {
            let identity = identity_of(path).ok()?;
            let still = judge::names_device(&identity, serial);
            still.then(|| format!("the drive {serial} is still {} of this host", path.display()))
        }
        Medium::Remote { host, .. } => {
            let serials = agentless::serials_on(host)?;
            has_word(&serials, serial).then(|| format!("the drive {serial} is still on {host}"))
        }
        _ => None,
    }
}

/// Returns true if the text has the word with neither letters nor digits around it: a drive `S12`
/// is not the drive `S1`.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_edge = |next: Option<char>| next.is_none_or(|next| !next.is_alphanumeric());
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        is_edge(before.chars().next_back()) && is_edge(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_serial_is_not_the_beginning_of_another() {
        let serials = "==> /sys/block/sda/serial <==\nS12\nt10.ATA  DISK  S3 \n";
        let found = ["S12", "S3", "S1", "2"].map(|serial| has_word(serials, serial));
        assert_eq!(found, [true, true, false, false]);
    }

    #[test]
    fn a_drive_is_there_by_its_serial_and_not_by_its_path() {
        let drive = |serial: &str| Identity { serial: Some(serial.into()), ..Identity::default() };
        let path = Path::new("/dev/vdb");
        assert_eq!(not_here(path, Some(&drive("S1")), "S1"), None);
        let none = not_here(path, None, "S1").unwrap();
        assert_eq!(none, "/dev/vdb does not exist; the drive S1 is expected there");
        let other = not_here(path, Some(&drive("S2")), "S1").unwrap();
        assert_eq!(other, "/dev/vdb is S2; the drive S1 is expected there");
        assert!(
            not_here(path, Some(&Identity::default()), "S1").unwrap().contains("without serial")
        );
    }
}

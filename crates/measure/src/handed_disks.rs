//! Asks a person to make disks of what a stack shows, such as the disks of virtual machines on an
//! export that their host connects. The disks' serials show that it was done. Without a terminal,
//! iotax looks for the disks until they are there.

use super::observer::{OperatorAnswer, RunEvent};
use super::operator::{has_word, not_here};
use super::places::Places;
use super::remote_look;
use super::session::Session;
use anyhow::{Context, Result};
use iotax_host::guard::inspect::identity_of;
use iotax_layers::fabric::{ConnectionByHand, connection_by_hand};
use iotax_model::scenario::Operator;
use iotax_model::stack::{HandedDisk, Stack};
use iotax_plan::set_plan::SetPlan;
use iotax_plan::sets::StackSet;
use iotax_plan::survey;
use iotax_remote::agentless;
use iotax_units::exit::Failed;
use iotax_units::show_bytes;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Longest wait for disks if nobody is at the terminal.
const LONGEST_WAIT: Duration = Duration::from_secs(2 * 3600);
/// Time between two looks for the disks.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// State of the disks that a wait ends with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AwaitedDisks {
    There,
    Gone,
}

impl<'a> Session<'a> {
    /// Waits until the disks that a person makes of the stacks of a set are there; `false`: Ctrl-C.
    /// Messages call it `step`.
    ///
    /// # Errors
    /// An unmet need: nobody makes them. The guard refuses a disk, or it is too small.
    pub(super) fn await_disks(
        &mut self,
        places: &mut Places,
        set: &StackSet,
        step: &str,
        up: &SetPlan,
    ) -> Result<bool> {
        let connections = self.connections_of(set, up);
        let are_there =
            self.wait_for_disks(places, set, step, &connections, AwaitedDisks::There)?;
        if are_there {
            self.undo_by_hand = self
                .made_by_hand(set)
                .map(|(_, _, operator)| request_text(operator, &connections, AwaitedDisks::Gone));
        }
        Ok(are_there)
    }

    /// Waits until no disk that a person makes is there: before a set is brought up, since a disk
    /// of the last one would be taken for a new one, and before it is removed. `false`: Ctrl-C.
    ///
    /// # Errors
    /// As [`Session::await_disks`].
    pub(super) fn await_disks_gone(
        &mut self,
        places: &mut Places,
        set: &StackSet,
        step: &str,
        up: Option<&SetPlan>,
    ) -> Result<bool> {
        let connections = up.map_or_else(Vec::new, |up| self.connections_of(set, up));
        let are_gone = self.wait_for_disks(places, set, step, &connections, AwaitedDisks::Gone)?;
        if are_gone {
            self.undo_by_hand = None;
        }
        Ok(are_gone)
    }

    /// Ends the connections to hosts that only have disks of a person, and removes what was copied
    /// there. The person may switch them off to take the disks away. `mark`: the steps before.
    ///
    /// # Errors
    /// What could not be removed.
    pub(super) fn leave_disk_hosts(
        &mut self,
        places: &mut Places,
        set: &StackSet,
        mark: usize,
    ) -> Result<()> {
        let Some((_, stack, _)) = self.made_by_hand(set) else { return Ok(()) };
        let others = || self.scenario.stacks.iter().filter(|other| other.by_hand.is_empty());
        for place in stack.by_hand.iter().map(|disk| &disk.place).filter(|place| place.is_ssh()) {
            if !others().any(|other| other.places().contains(place)) {
                places.leave(place);
            }
        }
        self.undo_above(mark)
    }

    /// Returns the stack of a set whose disks a person makes; it is alone in its set.
    fn made_by_hand(&self, set: &StackSet) -> Option<(usize, &'a Stack, &'a Operator)> {
        let index = *set.stacks.first()?;
        let stack = &self.scenario.stacks[index];
        let operator = self.scenario.operator_of(stack).filter(|_| !stack.by_hand.is_empty())?;
        Some((index, stack, operator))
    }

    /// Returns the connections that a person makes to the exports of a set, with their commands.
    fn connections_of(&self, set: &StackSet, up: &SetPlan) -> Vec<ConnectionByHand> {
        let operator = self.made_by_hand(set).map(|(_, _, operator)| operator);
        let operator = operator.filter(|operator| !operator.initiators.is_empty());
        let Some(operator) = operator else { return Vec::new() };
        let of_step = |op| connection_by_hand(op, operator.adapter.as_deref());
        up.steps.iter().filter_map(|step| of_step(&step.op)).collect()
    }

    fn wait_for_disks(
        &mut self,
        places: &mut Places,
        set: &StackSet,
        step: &str,
        connections: &[ConnectionByHand],
        awaited: AwaitedDisks,
    ) -> Result<bool> {
        let Some((index, stack, operator)) = self.made_by_hand(set) else { return Ok(true) };
        let request = request_text(operator, connections, awaited);
        let (begun, mut asked) = (Instant::now(), false);
        while let Some(lacking) = self.disks_lacking(places, index, operator, awaited)? {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let begin = if asked { "not done yet" } else { step };
            let text = format!("{begin}: {request}\n({}: {lacking})", stack.name);
            match self.observer.ask_operator(&text, self.stop) {
                OperatorAnswer::Done => {}
                OperatorAnswer::Stopped => return Ok(false),
                OperatorAnswer::Nobody if begun.elapsed() > LONGEST_WAIT => {
                    return Err(Failed::need(text).into());
                }
                OperatorAnswer::Nobody => {
                    if !asked {
                        self.observer.notify(RunEvent::Note { text });
                    }
                    std::thread::sleep(LOOK_EVERY);
                }
            }
            asked = true;
        }
        Ok(true)
    }

    /// Returns what a person still has to do; `None`: all disks are there, or gone.
    fn disks_lacking(
        &mut self,
        places: &mut Places,
        index: usize,
        operator: &Operator,
        awaited: AwaitedDisks,
    ) -> Result<Option<String>> {
        let mut lacking = Vec::new();
        for disk in &operator.disks {
            lacking.extend(match awaited {
                AwaitedDisks::There => self.disk_lacking(places, index, operator, disk)?,
                AwaitedDisks::Gone => disk_left(disk),
            });
        }
        Ok((!lacking.is_empty()).then(|| lacking.join("; ")))
    }

    fn disk_lacking(
        &mut self,
        places: &mut Places,
        index: usize,
        operator: &Operator,
        disk: &HandedDisk,
    ) -> Result<Option<String>> {
        let (scenario, path) = (self.scenario, disk.path.as_path());
        let stack = &scenario.stacks[index];
        let intent = survey::intent(scenario, stack);
        let bytes = match disk.place.ssh_host() {
            Some(host) => {
                let mark = self.executor.mark();
                if !places.is_reached(&disk.place) {
                    let run_id = self.run_id();
                    match self.reach_remote(places, host, index, &run_id) {
                        Err(error) if self.executor.mark() == mark => {
                            return Ok(Some(format!("{error:#}")));
                        }
                        reached => reached?,
                    }
                }
                let seen = remote_look::seen_afar(places.get(&disk.place)?, path)?;
                let identity = seen.as_ref().map(|seen| &seen.identity);
                if let Some(lacking) = not_here(path, identity, &disk.serial) {
                    return Ok(Some(format!("{}: {lacking}", disk.place)));
                }
                let seen = seen.context("it was there")?;
                survey::judged_afar(&seen, intent, scenario, stack)?;
                survey::found_of(&seen).bytes
            }
            None => {
                if let Some(lacking) = not_here(path, identity_of(path).ok().as_ref(), &disk.serial)
                {
                    return Ok(Some(lacking));
                }
                let (inspection, _) = survey::admitted(path, intent, scenario, stack)?;
                let bytes = survey::found_of(&inspection).bytes;
                self.admitted.add_device(path, inspection.identity);
                bytes
            }
        };
        if bytes < operator.size {
            let (has, size) = (show_bytes(bytes), show_bytes(operator.size));
            return Err(Failed::input(format!(
                "{}: {disk} has {has}, less than the operator's size of {size}; hint: a smaller size, the same for all stacks",
                stack.name
            ))
            .into());
        }
        Ok(None)
    }
}

/// Explains that a disk is still there; `None`: it is gone, or its host does not answer.
fn disk_left(disk: &HandedDisk) -> Option<String> {
    let is_there = match disk.place.ssh_host() {
        Some(host) => has_word(&agentless::serials_on(host)?, &disk.serial),
        None => not_here(&disk.path, Some(&identity_of(&disk.path).ok()?), &disk.serial).is_none(),
    };
    is_there.then(|| format!("{disk} is still there"))
}

/// Returns what is asked of a person: the scenario's text, and the targets with the commands that
/// connect or disconnect them.
fn request_text(
    operator: &Operator,
    connections: &[ConnectionByHand],
    awaited: AwaitedDisks,
) -> String {
    let mut lines = Vec::new();
    match awaited {
        AwaitedDisks::There => {
            lines.push(operator.text.clone());
            lines.extend(connections.iter().map(|one| format!("  target: {}", one.target)));
            let commands = connections.iter().flat_map(|one| &one.connect);
            lines.extend(commands.map(|line| format!("  {line}")));
            let disks = operator.disks.iter();
            lines.extend(disks.map(|disk| format!("  expected: {disk}, serial {}", disk.serial)));
        }
        AwaitedDisks::Gone => {
            lines.extend(operator.undo.clone());
            let commands = connections.iter().flat_map(|one| &one.disconnect);
            lines.extend(commands.map(|line| format!("  {line}")));
        }
    }
    lines.join("\n")
}

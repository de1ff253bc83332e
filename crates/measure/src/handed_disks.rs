//! Asks a person to make disks of what a stack shows, such as the disks of virtual machines on an
//! export that their host connects. The disks' serials show that it was done. Without a terminal,
//! iotax looks for the disks until they are there.

use super::observer::{OperatorAnswer, RunEvent};
use super::operator::not_here;
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
use iotax_units::exit::Failed;
use iotax_units::show_bytes;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Longest wait for disks if nobody is at the terminal.
const LONGEST_WAIT: Duration = Duration::from_secs(2 * 3600);
/// Time between two looks for the disks.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What a person is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AwaitedDisks {
    There,
    Gone,
}

impl Session<'_> {
    /// Waits until the disks that a person makes of the stacks of a set are there; `false`: Ctrl-C.
    ///
    /// # Errors
    /// An unmet need: nobody makes them. The guard refuses a disk, or it is too small.
    pub(super) fn await_disks(
        &mut self,
        places: &mut Places,
        set: &StackSet,
        up: &SetPlan,
    ) -> Result<bool> {
        self.wait_for_disks(places, set, up, AwaitedDisks::There)
    }

    /// Waits until a person has taken the disks away again, if the scenario asks for that.
    ///
    /// # Errors
    /// As [`Session::await_disks`].
    pub(super) fn await_disks_gone(
        &mut self,
        places: &mut Places,
        set: &StackSet,
        up: &SetPlan,
    ) -> Result<()> {
        self.wait_for_disks(places, set, up, AwaitedDisks::Gone).map(drop)
    }

    fn wait_for_disks(
        &mut self,
        places: &mut Places,
        set: &StackSet,
        up: &SetPlan,
        awaited: AwaitedDisks,
    ) -> Result<bool> {
        for index in &set.stacks {
            let stack = &self.scenario.stacks[*index];
            let Some(operator) =
                self.scenario.operator_of(stack).filter(|_| !stack.by_hand.is_empty())
            else {
                continue;
            };
            let Some(request) = request_text(stack, operator, up, awaited) else { continue };
            let begun = Instant::now();
            let mut told = false;
            while let Some(lacking) = self.disks_lacking(places, *index, operator, awaited)? {
                let begin = if told { "not done yet" } else { "manual step" };
                let text = format!("{begin}: {request}\n({}: {lacking})", stack.name);
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                match self.observer.ask_operator(&text, self.stop) {
                    OperatorAnswer::Done => told = true,
                    OperatorAnswer::Stopped => return Ok(false),
                    OperatorAnswer::Nobody if begun.elapsed() > LONGEST_WAIT => {
                        return Err(Failed::need(text).into());
                    }
                    OperatorAnswer::Nobody => {
                        if !told {
                            self.observer.notify(RunEvent::Note { text });
                        }
                        told = true;
                        std::thread::sleep(LOOK_EVERY);
                    }
                }
            }
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
        for disk in &operator.disks {
            let lacking = match awaited {
                AwaitedDisks::There => self.disk_lacking(places, index, operator, disk)?,
                AwaitedDisks::Gone => self.disk_left(places, disk)?,
            };
            if lacking.is_some() {
                return Ok(lacking);
            }
        }
        Ok(None)
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

    /// Returns where a disk still is; `None`: it is gone, or its host is.
    fn disk_left(&mut self, places: &mut Places, disk: &HandedDisk) -> Result<Option<String>> {
        let path = disk.path.as_path();
        let identity = match disk.place.ssh_host() {
            Some(_) if !places.is_reached(&disk.place) => None,
            Some(_) => remote_look::seen_afar(places.get(&disk.place)?, path)
                .ok()
                .flatten()
                .map(|seen| seen.identity),
            None => identity_of(path).ok(),
        };
        let is_there =
            identity.is_some() && not_here(path, identity.as_ref(), &disk.serial).is_none();
        Ok(is_there.then(|| format!("{disk} is still there")))
    }
}

/// Returns what is asked of a person: the scenario's text, the targets to connect to, and the
/// commands. `None`: nothing is to be undone.
fn request_text(
    stack: &Stack,
    operator: &Operator,
    up: &SetPlan,
    awaited: AwaitedDisks,
) -> Option<String> {
    let of_step = |op| connection_by_hand(op, operator.adapter.as_deref());
    let connections: Vec<ConnectionByHand> = match operator.initiators.is_empty() {
        true => Vec::new(),
        false => up.steps.iter().filter_map(|step| of_step(&step.op)).collect(),
    };
    let mut lines = Vec::new();
    match awaited {
        AwaitedDisks::There => {
            lines.push(operator.text.clone());
            lines.extend(connections.iter().map(|one| format!("  target: {}", one.target)));
            lines.extend(
                connections.iter().flat_map(|one| &one.connect).map(|line| format!("  {line}")),
            );
            let disks = stack.by_hand.iter();
            lines.extend(disks.map(|disk| format!("  expected: {disk}, serial {}", disk.serial)));
        }
        AwaitedDisks::Gone => {
            lines.push(operator.undo.clone()?);
            let commands = connections.iter().filter_map(|one| one.disconnect.as_ref());
            lines.extend(commands.map(|line| format!("  {line}")));
        }
    }
    Some(lines.join("\n"))
}

//! Performs steps and undoes them. An intent is in the journal before its step is performed, and
//! the step's output after it. A failed step is undone at once; a failed undo reports both causes
//! and the command that a person can run.

use super::journal::{Journal, Open};
use super::leftover_superblocks;
use super::place_executor::{PlaceExecutor, PlaceExecutors};
use crate::operation::Undoing;
use crate::step::Step;
use anyhow::{Context, Result, anyhow};
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_drivers::refusal::{NotOurs, NothingMade};
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::threads::ServingThread;
use iotax_facts::array::ArrayState;
use iotax_facts::place::Place;
use iotax_units::exit::{Failed, UNDO_INCOMPLETE};
use iotax_units::shell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Performs the steps of a run, and undoes those that are up in reverse order.
pub struct Executor {
    places: PlaceExecutors,
    journal: Journal,
    tag: RunTag,
    up: Vec<Open>,
    yields: BTreeMap<StepId, StepOutput>,
}

/// Thing that could not be undone.
#[derive(Debug)]
pub struct Left {
    pub what: String,
    pub place: Place,
    pub cause: anyhow::Error,
    /// Command that a person would run in that place to finish.
    pub by_hand: Option<String>,
}

impl Executor {
    pub fn new(places: PlaceExecutors, journal: Journal, tag: RunTag) -> Executor {
        Executor { places, journal, tag, up: Vec::new(), yields: BTreeMap::new() }
    }

    pub fn tag(&self) -> &RunTag {
        &self.tag
    }

    pub fn add_place(&mut self, place: &Place, executor: Box<dyn PlaceExecutor>) {
        self.places.add_executor(place, executor);
    }

    /// Reads the array state of what a step made; `None` if it has no such state.
    ///
    /// # Errors
    /// If the step is not up, its place does not answer, or the state cannot be read.
    pub fn state_of(&mut self, step: StepId) -> Result<Option<ArrayState>> {
        let (at, made) = self.made_by(step)?;
        self.places.executor_in(&at.place)?.read_array_state(&at.op, &made)
    }

    /// Reads the actual settings of what a step made, as its own tools report them.
    ///
    /// # Errors
    /// If the step is not up, its place does not answer, or the settings cannot be read.
    pub fn settings_of(&mut self, step: StepId) -> Result<ThingSettings> {
        let (at, made) = self.made_by(step)?;
        self.places.executor_in(&at.place)?.read_thing_settings(&at.op, &made)
    }

    /// Returns the place of a step, and the threads there that serve I/O for what it made.
    ///
    /// # Errors
    /// If the step is not up, its place does not answer, or the threads cannot be found.
    pub fn threads_of(&mut self, step: StepId) -> Result<(Place, Vec<ServingThread>)> {
        let (at, made) = self.made_by(step)?;
        let threads = self.places.executor_in(&at.place)?.list_serving_threads(&at.op, &made)?;
        Ok((at.place, threads))
    }

    /// Returns a step that is up, with all paths resolved, and its output.
    fn made_by(&self, step: StepId) -> Result<(Step, StepOutput)> {
        let up = |open: &Open| {
            (open.step.id == step).then(|| Some((open.step.clone(), open.made.clone()?)))
        };
        let found = self.up.iter().rev().find_map(|open| up(open).flatten());
        found.with_context(|| format!("step {step} is not up"))
    }

    /// Returns the executor in a place, for requests that are not steps.
    ///
    /// # Errors
    /// If the place is not reached.
    pub fn executor_at(&mut self, place: &Place) -> Result<&mut dyn PlaceExecutor> {
        self.places.executor_in(place)
    }

    /// Performs one step. If it fails, undoes what it made until then, unless that is nothing.
    ///
    /// # Errors
    /// The cause of the failure; with exit code 5 if undoing failed, too.
    pub fn perform_step(&mut self, step: &Step) -> Result<StepOutput> {
        let executor = self.places.executor_in(&step.place)?;
        let op = {
            let op = step.op.resolved(&self.yields, &mut |key| executor.locate_disk(key))?;
            executor.with_observations(op)?
        };
        let resolved = Step { op, ..step.clone() };
        let boot_id = executor.boot_id()?;
        let seq = self.journal.append_intent(&boot_id, &resolved)?;
        self.up.push(Open { seq, boot_id, step: resolved.clone(), made: None });
        match executor.perform_operation(&resolved.op, &self.tag.in_place(&step.place)) {
            Ok(made) => {
                // Kept before it is written: what a full disk cannot take is undone from memory.
                if let Some(open) = self.up.last_mut() {
                    open.made = Some(made.clone());
                }
                self.journal.append_done(seq, &made)?;
                self.yields.insert(step.id, made.clone());
                Ok(made)
            }
            Err(cause) => Err(self.take_back(cause, &step.why)),
        }
    }

    /// Returns the path that a reference stands for.
    ///
    /// # Errors
    /// If the step that yields it has not been performed or yielded no path, only a guest knows the
    /// path, or there is none.
    pub fn path_of(&self, path: &PathRef) -> Result<PathBuf> {
        if let PathRef::Yield(step) = path {
            let made = self.yields.get(step).and_then(|made| made.path.clone());
            return made.with_context(|| format!("step {step} has yielded no path"));
        }
        path.resolved_path().map(Path::to_owned)
    }

    /// Returns a command line with the paths of `belows` in the places of `@below0@`, `@below1@`,
    /// ...
    ///
    /// # Errors
    /// If a path is not known or not UTF-8.
    pub fn words_of(&self, words: &[String], belows: &[PathRef]) -> Result<Vec<String>> {
        let paths = belows.iter().map(|below| self.path_of(below)).collect::<Result<Vec<_>>>()?;
        let paths: Vec<&std::path::Path> = paths.iter().map(|path| path.as_path()).collect();
        super::op::with_belows(words, &paths)
    }

    /// Removes the last step from those that are up without undoing it, because it made nothing,
    /// and notes it as undone in the journal.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn forget_last(&mut self) -> Result<()> {
        self.up.pop().map_or(Ok(()), |open| self.journal.append_undone(open.seq))
    }

    /// Returns the number of steps that are up, to which [`Executor::undo_to`] can go back.
    pub fn mark(&self) -> usize {
        self.up.len()
    }

    /// Undoes the last steps until `mark` steps are up, even if some cannot be undone.
    ///
    /// # Errors
    /// Exit code 5 with everything that is left, if anything is.
    pub fn undo_to(&mut self, mark: usize) -> Result<()> {
        let mut left = Vec::new();
        while self.up.len() > mark {
            let Some(open) = self.up.pop() else { break };
            let undone = undo_one(&mut self.places, &mut self.journal, &self.tag, &open, &self.up);
            if let Err(failure) = undone {
                left.push(failure);
            }
        }
        report_left(&left)
    }

    /// Returns the notes from all places since the last call.
    pub fn notes(&mut self) -> Vec<String> {
        self.places.notes()
    }

    fn take_back(&mut self, cause: anyhow::Error, why: &str) -> anyhow::Error {
        let nothing = cause.is::<NothingMade>();
        let cause = cause.context(format!("cannot {why}"));
        if nothing {
            return match self.forget_last() {
                Ok(()) => cause,
                Err(error) => error.context(format!("{cause:#}; and the journal could not say so")),
            };
        }
        let Some(open) = self.up.pop() else { return cause };
        match undo_one(&mut self.places, &mut self.journal, &self.tag, &open, &self.up) {
            Ok(_) => cause,
            Err(left) => {
                let undo = report_left(&[left]).err().unwrap_or_else(|| anyhow!("it is left"));
                undo.context(format!("{cause:#}; and taking it back failed too"))
            }
        }
    }
}

/// Undoes one open step and returns what was undone, if anything. The step's output shows what to
/// undo. If the journal has none, the thing is searched for, except among what the run's other open
/// steps, `others`, made.
///
/// # Errors
/// What is left, with the cause and the command that a person can run.
pub fn undo_one(
    places: &mut PlaceExecutors,
    journal: &mut Journal,
    tag: &RunTag,
    open: &Open,
    others: &[Open],
) -> Result<Option<Undoing>, Left> {
    let operation = open.step.op.operation();
    let there = tag.in_place(&open.step.place);
    let mut made = open.made.clone();
    let mut rebooted = false;
    let result = (|| {
        let mut gone_with_place = |places: &mut PlaceExecutors| {
            let left = leftover_superblocks::superblocks_left_by_guest(open, others);
            left.into_iter().for_each(|note| places.note(note));
            journal
                .append_undone(open.seq)
                .context("it is gone, but the journal could not say so")?;
            Ok(Some(format!("gone with {}:", open.step.place)))
        };
        if places.has_place_ended(&open.step.place) {
            return gone_with_place(places);
        }
        let executor = places.executor_in(&open.step.place)?;
        rebooted = executor.boot_id()? != open.boot_id;
        let gone = rebooted && !open.step.op.survives_reboot();
        if let (Some(made), true) = (&mut made, rebooted) {
            // A process of this boot may bear the same number and start time: it is a stranger.
            made.process = None;
        }
        if made.is_none() && !gone {
            made = executor.find_interrupted(&open.step.op, &there, &made_beside(open, others))?;
        }
        if let (Some(made), false) = (&made, gone) {
            open.step.op.check_own_names(&there, made)?;
            let undone = executor.undo_operation(&open.step.op, &there, made);
            if undone.is_err() && places.has_place_ended(&open.step.place) {
                // The place has ended meanwhile.
                return gone_with_place(places);
            }
            undone?;
        }
        journal
            .append_undone(open.seq)
            .context("it is undone, but the journal could not say so")?;
        Ok(gone.then(|| "gone since the reboot:".to_owned()))
    })();
    let undoing = || operation.undo_summary(made.as_ref());
    let undone = |gone: Option<String>| match gone {
        Some(did) => undoing().map(|undoing| Undoing { did, ..undoing }),
        None => made.as_ref().and_then(|_| undoing()),
    };
    result.map(undone).map_err(|cause: anyhow::Error| {
        // What is somebody else's now must not be removed by hand either.
        let ours = cause.downcast_ref::<NotOurs>().is_none();
        let by_hand =
            made.as_ref().filter(|_| ours).and_then(|made| operation.undo_by_hand(&there, made));
        let by_hand = by_hand.map(|command| match rebooted {
            true => format!("{command} # names of devices may be other drives' since the reboot"),
            false => command,
        });
        let what = undoing().map_or_else(|| operation.describe(), |undoing| undoing.what);
        Left { what, place: open.step.place.clone(), cause, by_hand }
    })
}

/// Returns the outputs of the other steps of the same boot and place. After a reboot, and in
/// another place, the same name may be another device.
fn made_beside(open: &Open, others: &[Open]) -> Vec<StepOutput> {
    let is_beside = |other: &&Open| {
        other.seq != open.seq
            && other.boot_id == open.boot_id
            && other.step.place == open.step.place
    };
    let beside = others.iter().filter(is_beside);
    beside.filter_map(|other| other.made.clone()).collect()
}

/// Turns what is left into an error with exit code 5.
///
/// # Errors
/// If anything is left.
pub fn report_left(left: &[Left]) -> Result<()> {
    if left.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = left.iter().map(show_left).collect();
    Err(Failed {
        code: UNDO_INCOMPLETE,
        message: format!("not everything was removed:\n{}", lines.join("\n")),
    }
    .into())
}

fn show_left(left: &Left) -> String {
    let (what, cause) = (&left.what, &left.cause);
    let at = match &left.place {
        Place::Host => String::new(),
        Place::Ssh(host) => format!(" on {host}"),
        Place::Guest(name) => format!(" in the guest {name}"),
    };
    let typed = |command: &String| match left.place.ssh_host() {
        Some(host) => format!("ssh {} {}", shell::quote_word(host), shell::quote_word(command)),
        None => command.clone(),
    };
    let command = left.by_hand.as_ref().map(typed);
    let hint = command
        .map(|command| format!("\n    to finish by hand{at}: {command}"))
        .unwrap_or_default();
    format!("  {what}{at}\n    failed: {cause:#}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_with_the_place_where_its_command_is_typed() {
        let left = |place: &str, by_hand: Option<&str>| {
            let (what, cause) = ("the array x".to_owned(), anyhow!("busy"));
            let left =
                Left { what, place: place.into(), cause, by_hand: by_hand.map(str::to_owned) };
            show_left(&left)
        };
        let all = [
            left("host", Some("mdadm --stop /dev/md/x")),
            left("ssh:me@db1", Some("rm '/srv/its'")),
            left("vm0", Some("mdadm --stop /dev/md/x")),
            left("ssh:db1", None),
            left("ssh:a b", Some("true")),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }
}

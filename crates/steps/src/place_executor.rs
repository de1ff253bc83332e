//! Executors of steps in a place: the machine itself here, an agent elsewhere. What was made in a
//! guest of the run ends with the guest. A host over SSH keeps it, and is reached again to clean
//! it.

use super::op::Op;
use anyhow::{Result, anyhow, bail};
use iotax_drivers::disk_key::DiskKey;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::{RealSystem, StepProgress, Watcher};
use iotax_drivers::threads::ServingThread;
use iotax_facts::array::ArrayState;
use iotax_facts::place::Place;
use iotax_host::Missing;
use iotax_host::needs::{AskedNeed, Need, distribution};
use iotax_host::probe::Probe;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Performs operations in one place. Errors say what could not be done and why.
pub trait PlaceExecutor: Send {
    fn boot_id(&mut self) -> Result<String>;
    /// Finds the device in this place that is a certain disk of its host's.
    fn locate_disk(&mut self, key: &DiskKey) -> Result<PathBuf>;
    /// Returns the operation with what it records about the place before the change.
    fn with_observations(&mut self, op: Op) -> Result<Op>;
    fn perform_operation(&mut self, op: &Op, tag: &RunTag) -> Result<StepOutput>;
    /// Finds what an interrupted attempt made, except for `others`, which other steps made. `None`
    /// if there is nothing.
    fn find_interrupted(
        &mut self,
        op: &Op,
        tag: &RunTag,
        others: &[StepOutput],
    ) -> Result<Option<StepOutput>>;
    fn undo_operation(&mut self, op: &Op, tag: &RunTag, made: &StepOutput) -> Result<()>;
    /// Reads the state of what a step made; `None` if it has no such state.
    fn read_array_state(&mut self, op: &Op, made: &StepOutput) -> Result<Option<ArrayState>>;
    fn read_thing_settings(&mut self, op: &Op, made: &StepOutput) -> Result<ThingSettings>;
    /// Returns the threads that serve I/O for what a step made.
    fn list_serving_threads(&mut self, op: &Op, made: &StepOutput) -> Result<Vec<ServingThread>>;
    /// Returns the notes since the last call, which are no failures.
    fn take_remarks(&mut self) -> Vec<String>;
    /// Returns which of these needs the place does not meet.
    fn lacking_needs(&mut self, asked: &[AskedNeed]) -> Result<Lacking>;
    /// Returns which of these needs (`host::needs`) the place does not meet, described with the
    /// names of the packages of its distribution.
    ///
    /// # Errors
    /// As [`PlaceExecutor::lacking_needs`].
    fn unmet_needs(&mut self, needs: &[Need]) -> Result<Vec<Missing>> {
        let asked: Vec<AskedNeed> = needs.iter().map(Need::remote_form).collect();
        let Lacking { lacking, distribution } = self.lacking_needs(&asked)?;
        let missing =
            |(at, what)| Some(needs.get::<usize>(at)?.describe_missing(&distribution, what));
        Ok(lacking.into_iter().filter_map(missing).collect())
    }
    /// Reports the progress of long operations to `watcher` from now on; it may end them.
    fn watched_by(&mut self, _watcher: SharedWatcher) {}
    /// Returns true if the place has ended, with all that was made in it.
    fn is_gone(&mut self) -> bool {
        false
    }
}

#[derive(Debug, Default)]
pub struct Lacking {
    /// Index in the question of each need that is not met, and what is missing, in words.
    pub lacking: Vec<(usize, String)>,
    /// Ids of the place's distribution, the closest first, by which packages are named.
    pub distribution: Vec<String>,
}

impl Lacking {
    /// Returns the needs that the machine of the probe does not meet.
    pub fn on_machine(probe: &Probe, asked: &[AskedNeed]) -> Lacking {
        let lacking = asked
            .iter()
            .enumerate()
            .filter_map(|(at, need)| Some((at, need.missing_thing(probe)?)));
        Lacking { lacking: lacking.collect(), distribution: distribution(probe) }
    }
}

pub type SharedWatcher = Arc<Mutex<Watcher>>;

pub fn report_progress(watcher: &SharedWatcher, progress: StepProgress) -> ControlFlow<()> {
    let mut watcher = watcher.lock().unwrap_or_else(PoisonError::into_inner);
    (*watcher)(progress)
}

/// Function that reaches a host over SSH and returns its executor.
pub type Reach = Box<dyn FnMut(&Place) -> Result<Box<dyn PlaceExecutor>> + Send>;

/// The executors of a run, by place.
pub struct PlaceExecutors {
    known: BTreeMap<Place, Box<dyn PlaceExecutor>>,
    /// Why places could not be reached. They are not tried again, as each try may take long.
    unreached: BTreeMap<Place, String>,
    reach: Reach,
    watcher: Option<SharedWatcher>,
    notes: Vec<String>,
}

impl PlaceExecutors {
    /// Creates the executors with that of this host. Other places must be added before they are
    /// used.
    pub fn with_host(executor: Box<dyn PlaceExecutor>) -> PlaceExecutors {
        PlaceExecutors::reaching(
            executor,
            Box::new(|place| Err(anyhow!("{place} was not reached"))),
        )
    }

    /// Creates the executors with that of this host. `watcher` is told the progress of long
    /// operations here and in places that are added, and may end them.
    pub fn watched(
        watcher: impl FnMut(StepProgress) -> ControlFlow<()> + Send + 'static,
    ) -> PlaceExecutors {
        let watcher: SharedWatcher = Arc::new(Mutex::new(watcher));
        let mut system = RealSystem::default();
        system.watched_by(Arc::clone(&watcher));
        PlaceExecutors { watcher: Some(watcher), ..PlaceExecutors::with_host(Box::new(system)) }
    }

    /// Creates the executors with that of this host. Other places are reached by `reach` on first
    /// use.
    pub fn reaching(executor: Box<dyn PlaceExecutor>, reach: Reach) -> PlaceExecutors {
        let (known, unreached, notes) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let mut places = PlaceExecutors { known, unreached, reach, watcher: None, notes };
        places.add_executor(&Place::Host, executor);
        places
    }

    /// Sets the function by which other places are reached on first use.
    #[must_use]
    pub fn reaching_by(self, reach: Reach) -> PlaceExecutors {
        PlaceExecutors { reach, ..self }
    }

    /// Adds an executor, or replaces that of the place.
    pub fn add_executor(&mut self, place: &Place, mut executor: Box<dyn PlaceExecutor>) {
        if let Some(watcher) = &self.watcher {
            executor.watched_by(Arc::clone(watcher));
        }
        self.unreached.remove(place);
        self.known.insert(place.clone(), executor);
    }

    /// Returns the executor in a place. Reaches the place if it was not used before.
    ///
    /// # Errors
    /// If the place cannot be reached, now or when it was tried before.
    pub fn executor_in(&mut self, place: &Place) -> Result<&mut dyn PlaceExecutor> {
        if !self.known.contains_key(place) {
            if let Some(why) = self.unreached.get(place) {
                bail!("{why} (it was not tried again)");
            }
            match (self.reach)(place) {
                Ok(executor) => self.add_executor(place, executor),
                Err(error) => {
                    self.unreached.insert(place.clone(), format!("{error:#}"));
                    return Err(error);
                }
            }
        }
        let executor =
            self.known.get_mut(place).ok_or_else(|| anyhow!("{place} was not reached"))?;
        Ok(executor.as_mut())
    }

    /// Returns true if a place has ended with all that was made in it: a guest of the run that no
    /// longer runs.
    pub fn has_place_ended(&mut self, place: &Place) -> bool {
        match self.known.get_mut(place) {
            Some(executor) => executor.is_gone(),
            None => place.is_guest(),
        }
    }

    /// Adds a note about a place whose executor is gone.
    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// Returns the notes of all executors since the last call.
    pub fn notes(&mut self) -> Vec<String> {
        let of_places = self.known.values_mut().flat_map(|executor| executor.take_remarks());
        std::mem::take(&mut self.notes).into_iter().chain(of_places).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::SimulatedSystem;

    #[test]
    fn a_host_that_cannot_be_reached_is_tried_once() {
        let tries = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&tries);
        let reach = move |place: &Place| {
            *counted.lock().unwrap() += 1;
            Err(anyhow!("{place}: no route to host"))
        };
        let mut places =
            PlaceExecutors::reaching(Box::new(SimulatedSystem::default()), Box::new(reach));
        let place = Place::from("ssh:db1");
        let mut told = || places.executor_in(&place).err().unwrap().to_string();
        assert_eq!(told(), "ssh:db1: no route to host");
        assert_eq!(told(), "ssh:db1: no route to host (it was not tried again)");
        assert_eq!(*tries.lock().unwrap(), 1);
        places.add_executor(&place, Box::new(SimulatedSystem::default()));
        assert!(places.executor_in(&place).is_ok(), "whoever reaches it otherwise may use it");
    }
}

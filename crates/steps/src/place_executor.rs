//! Who performs steps in a place: this machine's system here, an agent elsewhere. A guest of the
//! run takes all that was made in it along when it ends; a host over SSH keeps it, and is reached
//! again to be cleaned.

use super::op::Op;
use super::settings::ThingSettings;
use super::state::ArrayState;
use super::system::{RealSystem, StepProgress, Watcher};
use super::threads::ServingThread;
use super::{Place, RunTag, StepOutput};
use crate::guest::DiskKey;
use anyhow::{Result, anyhow, bail};
use iotax_host::Missing;
use iotax_host::needs::{AskedNeed, Need, distribution};
use iotax_host::probe::Probe;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Performs operations in one place. Errors say what could not be done and why.
pub trait PlaceExecutor: Send {
    /// Identity of the place's present boot.
    fn boot_id(&mut self) -> Result<String>;
    /// The device of a disk that only the place knows.
    fn locate(&mut self, key: &DiskKey) -> Result<PathBuf>;
    /// The operation with what it must know of the place before it changes it.
    fn observed(&mut self, op: Op) -> Result<Op>;
    fn perform(&mut self, op: &Op, tag: &RunTag) -> Result<StepOutput>;
    /// What an interrupted attempt made.
    fn find(&mut self, op: &Op, tag: &RunTag, others: &[StepOutput]) -> Result<Option<StepOutput>>;
    fn undo(&mut self, op: &Op, tag: &RunTag, made: &StepOutput) -> Result<()>;
    /// In which state what it made is, where that is more than being there.
    fn state(&mut self, op: &Op, made: &StepOutput) -> Result<Option<ArrayState>>;
    /// How what it made really is.
    fn settings(&mut self, op: &Op, made: &StepOutput) -> Result<ThingSettings>;
    /// Threads that serve I/O for what it made.
    fn threads(&mut self, op: &Op, made: &StepOutput) -> Result<Vec<ServingThread>>;
    /// What undoing found that is worth a word and is no failure, since this was last asked.
    fn notes(&mut self) -> Vec<String>;
    /// What of these is lacking there.
    fn lacking(&mut self, asked: &[AskedNeed]) -> Result<Lacking>;
    /// What of these needs (ids of `host::needs`) is unmet there.
    ///
    /// # Errors
    /// As [`PlaceExecutor::lacking`].
    fn missing(&mut self, needs: &[Need]) -> Result<Vec<Missing>> {
        let asked: Vec<AskedNeed> = needs.iter().map(Need::asked).collect();
        let Lacking { lacking, distribution } = self.lacking(&asked)?;
        let missing = |(at, what)| Some(needs.get::<usize>(at)?.lacking(&distribution, what));
        Ok(lacking.into_iter().filter_map(missing).collect())
    }
    /// From now on tells whoever watches how far something long is; they may end it.
    fn watched_by(&mut self, _watcher: SharedWatcher) {}
    /// Whether the place has ended, with all that was made in it.
    fn is_gone(&mut self) -> bool {
        false
    }
}

/// What a place lacks.
#[derive(Debug, Default)]
pub struct Lacking {
    /// Index of what was asked, and what is lacking, in words.
    pub lacking: Vec<(usize, String)>,
    /// The distribution that packages there are named by.
    pub distribution: Vec<String>,
}

impl Lacking {
    /// What the machine of the probe lacks.
    pub fn on(probe: &Probe, asked: &[AskedNeed]) -> Lacking {
        let lacking =
            asked.iter().enumerate().filter_map(|(at, need)| Some((at, need.lacking(probe)?)));
        Lacking { lacking: lacking.collect(), distribution: distribution(probe) }
    }
}

/// One who watches all places.
pub type SharedWatcher = Arc<Mutex<Watcher>>;

/// Tells the one who watches.
pub fn tell(watcher: &SharedWatcher, progress: StepProgress) -> ControlFlow<()> {
    let mut watcher = watcher.lock().unwrap_or_else(PoisonError::into_inner);
    (*watcher)(progress)
}

/// Reaches a host over SSH.
pub type Reach = Box<dyn FnMut(&Place) -> Result<Box<dyn PlaceExecutor>> + Send>;

/// The executors of a run, by place.
pub struct PlaceExecutors {
    known: BTreeMap<Place, Box<dyn PlaceExecutor>>,
    /// Why places could not be reached: each try may take as long as a connection does.
    unreached: BTreeMap<Place, String>,
    reach: Reach,
    watcher: Option<SharedWatcher>,
    /// Of places that are gone.
    notes: Vec<String>,
}

impl PlaceExecutors {
    /// With this host's only; others are added as they are reached.
    pub fn with_host(executor: Box<dyn PlaceExecutor>) -> PlaceExecutors {
        PlaceExecutors::reaching(
            executor,
            Box::new(|place| Err(anyhow!("{place} was not reached"))),
        )
    }

    /// With this host's only, and somebody who watches what takes long, here and in places that are
    /// added.
    pub fn watched(
        watcher: impl FnMut(StepProgress) -> ControlFlow<()> + Send + 'static,
    ) -> PlaceExecutors {
        let watcher: SharedWatcher = Arc::new(Mutex::new(watcher));
        let mut system = RealSystem::default();
        system.watched_by(Arc::clone(&watcher));
        PlaceExecutors { watcher: Some(watcher), ..PlaceExecutors::with_host(Box::new(system)) }
    }

    /// With this host's; hosts over SSH are reached when something of theirs is wanted.
    pub fn reaching(executor: Box<dyn PlaceExecutor>, reach: Reach) -> PlaceExecutors {
        let (known, unreached, notes) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let mut places = PlaceExecutors { known, unreached, reach, watcher: None, notes };
        places.add(&Place::Host, executor);
        places
    }

    /// The same where hosts over SSH are reached when something of theirs is wanted.
    #[must_use]
    pub fn reaching_by(self, reach: Reach) -> PlaceExecutors {
        PlaceExecutors { reach, ..self }
    }

    /// Adds one, or puts it in another's stead.
    pub fn add(&mut self, place: &Place, mut executor: Box<dyn PlaceExecutor>) {
        if let Some(watcher) = &self.watcher {
            executor.watched_by(Arc::clone(watcher));
        }
        self.unreached.remove(place);
        self.known.insert(place.clone(), executor);
    }

    /// The executor in a place.
    ///
    /// # Errors
    /// It was not reached, or cannot be.
    pub fn executor_in(&mut self, place: &Place) -> Result<&mut dyn PlaceExecutor> {
        if !self.known.contains_key(place) {
            if let Some(why) = self.unreached.get(place) {
                bail!("{why} (it was not tried again)");
            }
            match (self.reach)(place) {
                Ok(executor) => self.add(place, executor),
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

    /// Whether a place has ended with all that was made in it: a guest of the run that runs no
    /// more.
    pub fn gone(&mut self, place: &Place) -> bool {
        match self.known.get_mut(place) {
            Some(executor) => executor.is_gone(),
            None => place.is_guest(),
        }
    }

    /// Notes what nobody is there to tell any more.
    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// What all of them found that is worth a word, since this was last asked.
    pub fn notes(&mut self) -> Vec<String> {
        let of_places = self.known.values_mut().flat_map(|executor| executor.notes());
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
        places.add(&place, Box::new(SimulatedSystem::default()));
        assert!(places.executor_in(&place).is_ok(), "whoever reaches it otherwise may use it");
    }
}

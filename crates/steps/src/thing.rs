//! Things that a tool of the system makes under a name that carries the run's id: an array, a volume group, a pool, an
//! export, a connection to one. Each is made, found again and taken away by its own room, on this machine; the simulated twin
//! knows only which of them are there.

use super::settings::ThingSettings;
use super::state::ArrayState;
use super::{RunTag, Yield};
use anyhow::Result;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Such a thing. Errors say what could not be done and why.
pub trait Thing {
    /// What no other thing on the machine is called: `md iotax-RUN-md0`.
    fn key(&self, tag: &RunTag) -> String;

    /// What it stands on.
    fn below(&self) -> Vec<PathBuf>;

    /// Whether it is still there after a reboot.
    fn survives(&self) -> bool;

    /// Makes it. What was there before under its name is somebody else's and refused.
    fn make(&self, tag: &RunTag) -> Result<Yield>;

    /// It, or what there is of it after an interrupted attempt.
    fn find(&self, tag: &RunTag) -> Result<Option<Yield>>;

    /// Takes it away, whole or in parts; one that is gone is fine. What is no longer the one that was made is refused
    /// ([`super::system::NotOurs`]).
    fn unmake(&self, tag: &RunTag, made: &Yield) -> Result<()>;

    /// What a reader of the figures must know of it.
    fn notes(&self, _made: &Yield) -> Vec<String> {
        Vec::new()
    }

    /// In which state it is, where that is more than being there; it is asked between slices, so it must not take long.
    fn state(&self, _made: &Yield) -> Result<Option<ArrayState>> {
        Ok(None)
    }

    /// How it really is, where what was asked for does not say all of it; asked once it is up, before anything is measured.
    fn settings(&self, _made: &Yield) -> Result<ThingSettings> {
        Ok(ThingSettings::new())
    }
}

/// Who is told what share of something long is done, 0 to 1, and may end it.
pub type Told<'a> = &'a mut dyn FnMut(f64) -> ControlFlow<()>;

/// What is done to a thing that stands: a member failed, a sync waited for. It goes with the thing, so nothing of it is undone
/// on its own.
pub trait Change {
    /// Path of the thing, once resolved.
    fn of(&self) -> Result<&Path>;

    /// Does it.
    fn make(&self, told: Told<'_>) -> Result<()>;
}

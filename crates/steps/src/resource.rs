//! Effects of operations: a resource is made, found again and taken away, or one that is there is
//! changed. On this machine each does so itself; what the simulated twin knows of each is in
//! `simulated`.

use anyhow::Result;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::threads::ServingThread;
use iotax_facts::array::ArrayState;

/// Thing that is made under a name of the run's and removed again: a file, a device, a mount, a
/// process, an array, an export. Errors say what could not be done and why.
pub trait ManagedResource {
    /// Returns true if it, or a part of it, is still there after a reboot (a file is, a mount is
    /// not).
    fn survives(&self) -> bool {
        false
    }

    /// Returns true if it is left in place when it is undone.
    fn stays(&self, made: &StepOutput) -> bool {
        made.reused
    }

    /// Makes it. What was there before under its name is somebody else's and refused. What was half
    /// done when this fails is found again by `find`.
    fn make(&self, system: &mut RealSystem, tag: &RunTag) -> Result<StepOutput>;

    /// Finds it, or what there is of it after an interrupted attempt. `others` are what other steps
    /// of the run are known to have made: that is never this step's.
    fn find(&self, tag: &RunTag, others: &[StepOutput]) -> Result<Option<StepOutput>>;

    /// Removes it, whole or in parts; one that is gone is fine. What is no longer the one that was
    /// made is refused ([`iotax_drivers::refusal::NotOurs`]).
    fn unmake(&self, system: &mut RealSystem, tag: &RunTag, made: &StepOutput) -> Result<()>;

    /// Returns what a reader of the figures must know of it.
    fn notes(&self, _made: &StepOutput) -> Vec<String> {
        Vec::new()
    }

    /// Reads its state, where that is more than being there. It is asked between slices, so it must
    /// not take long.
    fn state(&self, _made: &StepOutput) -> Result<Option<ArrayState>> {
        Ok(None)
    }

    /// Returns the threads that serve I/O for it, other than the load; asked once it is up.
    fn threads(&self, _made: &StepOutput) -> Result<Vec<ServingThread>> {
        Ok(Vec::new())
    }

    /// Reads its real settings, where what was asked for does not say all of it. It is asked once
    /// it is up, before anything is measured.
    fn settings(&self, _made: &StepOutput) -> Result<ThingSettings> {
        Ok(ThingSettings::new())
    }
}

/// Change of a resource that is there: a file filled, a member failed, a sync waited for. It goes
/// with the resource, so nothing of it is undone on its own. Errors say what could not be done and
/// why.
pub trait ResourceChange {
    fn make(&self, system: &mut RealSystem) -> Result<()>;
}

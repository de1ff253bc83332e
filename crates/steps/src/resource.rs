//! What operations do: make a resource, find it again and remove it, or change an existing one. The
//! methods act on this machine; `simulated` has what tests need of each.

use anyhow::Result;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::threads::ServingThread;
use iotax_facts::array::ArrayState;

/// Thing that is made under a name of the run and removed again: a file, a device, a mount, a
/// process, an array, an export. Errors say what could not be done and why.
pub trait ManagedResource {
    /// Returns true if the resource, or a part of it, is still there after a reboot (a file is, a
    /// mount is not).
    fn outlives_reboot(&self) -> bool {
        false
    }

    /// Returns true if the resource is left in place when it is undone.
    fn stays_after_undo(&self, made: &StepOutput) -> bool {
        made.reused
    }

    /// Makes it. A name that is taken is somebody else's, and refused. `find_resource` finds what
    /// is half made when this fails.
    fn make_resource(&self, system: &mut RealSystem, tag: &RunTag) -> Result<StepOutput>;

    /// Finds the resource, or what an interrupted attempt left of it; `None` if there is nothing.
    /// `others` are the outputs of the run's other steps, which are never it.
    fn find_resource(&self, tag: &RunTag, others: &[StepOutput]) -> Result<Option<StepOutput>>;

    /// Removes the resource, whole or in parts; it is no error if it is gone. Refuses a thing that
    /// is no longer the one that was made ([`iotax_drivers::refusal::NotOurs`]).
    fn remove_resource(
        &self,
        system: &mut RealSystem,
        tag: &RunTag,
        made: &StepOutput,
    ) -> Result<()>;

    /// Returns notes on the resource for readers of the report.
    fn reader_notes(&self, _made: &StepOutput) -> Vec<String> {
        Vec::new()
    }

    /// Reads the state of the resource; `None` if it has no such state. Called between slices, so
    /// it must not take long.
    fn resource_state(&self, _made: &StepOutput) -> Result<Option<ArrayState>> {
        Ok(None)
    }

    /// Returns the threads that serve I/O for the resource, apart from the load. Called once it is
    /// up.
    fn io_threads(&self, _made: &StepOutput) -> Result<Vec<ServingThread>> {
        Ok(Vec::new())
    }

    /// Reads the actual settings of the resource, if the request does not determine all of them.
    /// Called once it is up, before anything is measured.
    fn actual_settings(&self, _made: &StepOutput) -> Result<ThingSettings> {
        Ok(ThingSettings::new())
    }
}

/// Change of an existing resource: fills a file, fails a member, waits for a sync. It disappears
/// with the resource, so it is never undone on its own. Errors say what could not be done and why.
pub trait ResourceChange {
    fn apply_change(&self, system: &mut RealSystem) -> Result<()>;
}

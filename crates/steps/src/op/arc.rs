//! Limits ZFS's cache (ARC) in a place while a stack is up. The limit is the whole machine's.

use crate::observer::{MachineAnswer, MachineQuestion, Observer};
use crate::operation::{Operation, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::zfs::ArcLimit;
use iotax_units::show_bytes;
use serde::{Deserialize, Serialize};

/// Writes `bytes` to `/sys/module/zfs/parameters/zfs_arc_max`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitArc {
    pub bytes: u64,
    /// Limit before this run, which the journal records before the change.
    #[serde(default)]
    pub was: ArcLimit,
}

impl Operation for LimitArc {
    fn describe(&self) -> String {
        format!("zfs_arc_max = {} ({})", self.bytes, show_bytes(self.bytes))
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        vec![format!("echo {} > /sys/module/zfs/parameters/zfs_arc_max", self.bytes)]
    }

    fn observe(&mut self, machine: &dyn Observer) {
        if let Some(MachineAnswer::Arc(limit)) = machine.ask_machine(MachineQuestion::Arc) {
            self.was = limit;
        }
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("restored", "the limit of ZFS's ARC"))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(format!("echo {} > /sys/module/zfs/parameters/zfs_arc_max", self.was.parameter))
    }
}

impl ManagedResource for LimitArc {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        ArcLimit::set(self.bytes)?;
        Ok(StepOutput::default())
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        // The step is half done if the module refused the limit: then its parameter is ours and the
        // limit in effect is not.
        Ok((ArcLimit::current_limit().parameter == self.bytes).then(StepOutput::default))
    }

    fn remove_resource(&self, system: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        self.was.restore(self.bytes)?.into_iter().for_each(|note| system.note(note));
        Ok(())
    }
}

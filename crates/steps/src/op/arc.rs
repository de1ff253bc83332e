//! The limit of ZFS's cache (ARC) in a place, for the time of a stack. It is the whole machine's.

use super::{Operation, RunTag, System, Undoing, Yield};
use crate::step::zfs::ArcLimit;
use crate::units::show_bytes;
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// `echo BYTES > /sys/module/zfs/parameters/zfs_arc_max`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitArc {
    /// What it may hold.
    pub bytes: u64,
    /// What it was before, from the intent on.
    #[serde(default)]
    pub was: ArcLimit,
}

impl Operation for LimitArc {
    fn describe(&self) -> String {
        format!("zfs_arc_max = {} ({})", self.bytes, show_bytes(self.bytes))
    }

    fn observe(&mut self, system: &dyn System) {
        self.was = system.arc();
    }

    fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
        system.limit_arc(self.bytes)?;
        Ok(Yield::default())
    }

    fn find(&self, system: &dyn System, _: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        // Half done is what the module has not taken: then its parameter is ours and what holds is not.
        Ok((system.arc().parameter == self.bytes).then(Yield::default))
    }

    fn undo(&self, system: &mut dyn System, _: &RunTag, _: &Yield) -> Result<()> {
        system.restore_arc(self.bytes, self.was)
    }

    fn undoing(&self, _: Option<&Yield>) -> Option<Undoing> {
        Some(Undoing::new("restored", "the limit of ZFS's ARC"))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &Yield) -> Option<String> {
        Some(format!("echo {} > /sys/module/zfs/parameters/zfs_arc_max", self.was.parameter))
    }

    fn survives_reboot(&self) -> bool {
        false
    }
}

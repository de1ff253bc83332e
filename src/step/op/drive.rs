//! A drive of a lab guest: a sparse file of ours, which QEMU shows as an NVMe drive.

use super::{Operation, RunTag, System, Undoing, Yield};
use crate::units::show_bytes;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A sparse file with our marker behind the data. It is never one of before: what that would have on it is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeDrive {
    /// Its path.
    pub path: PathBuf,
    /// Bytes of the drive; the marker lies behind them.
    pub bytes: u64,
}

impl Operation for MakeDrive {
    fn describe(&self) -> String {
        format!("create {} ({}, sparse)", self.path.display(), show_bytes(self.bytes))
    }

    fn perform(&self, system: &mut dyn System, tag: &RunTag) -> Result<Yield> {
        system.make_drive(&self.path, self.bytes, &tag.run_id)
    }

    fn find(&self, system: &dyn System, tag: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        system.find_file(&self.path, &tag.run_id)
    }

    fn undo(&self, system: &mut dyn System, _: &RunTag, made: &Yield) -> Result<()> {
        system.remove_file(&self.path, made)
    }

    fn undoing(&self, _: Option<&Yield>) -> Option<Undoing> {
        Some(Undoing::new("removed", self.path.display()))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &Yield) -> Option<String> {
        Some(format!("rm {}", self.path.display()))
    }

    fn survives_reboot(&self) -> bool {
        true
    }
}

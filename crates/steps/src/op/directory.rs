//! A directory of the run (a mount point); removed only when empty.

use super::{Operation, Own, RunTag, System, Undoing, Yield};
use crate::shell;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `mkdir -m 0700`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeDirectory {
    /// Within the run directory, so its name is this run's alone.
    pub path: PathBuf,
}

impl Operation for MakeDirectory {
    fn describe(&self) -> String {
        format!("mkdir -m 0700 {}", self.path.display())
    }

    fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
        system.make_directory(&self.path)?;
        Ok(Yield { path: Some(self.path.clone()), ..Yield::default() })
    }

    fn find(&self, system: &dyn System, _: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        Ok(system.exists(&self.path).then(|| Yield { path: Some(self.path.clone()), ..Yield::default() }))
    }

    fn own<'a>(&'a self, _: &'a Yield) -> Vec<Own<'a>> {
        vec![Own::InFolder(&self.path)]
    }

    fn undo(&self, system: &mut dyn System, _: &RunTag, _: &Yield) -> Result<()> {
        system.remove_directory(&self.path)
    }

    fn undoing(&self, _: Option<&Yield>) -> Option<Undoing> {
        Some(Undoing::new("removed", self.path.display()))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &Yield) -> Option<String> {
        Some(format!("rmdir {}", shell::path(&self.path)))
    }

    fn survives_reboot(&self) -> bool {
        true
    }
}

//! Makes a directory of the run (a mount point), which is removed only when empty.

use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::{Context, Result};
use iotax_drivers::plain_file::gone_is_fine;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeDirectory {
    /// Path within the run directory, so that its name is this run's alone.
    pub path: PathBuf,
}

impl Operation for MakeDirectory {
    fn describe(&self) -> String {
        format!("mkdir -m 0700 {}", self.path.display())
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        vec![format!("mkdir -p -m 0700 {}", shell::path(&self.path))]
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::InFolder(&self.path)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", self.path.display()))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(format!("rmdir {}", shell::path(&self.path)))
    }
}

impl ManagedResource for MakeDirectory {
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        let made = fs::DirBuilder::new().mode(0o700).create(&self.path);
        made.with_context(|| format!("cannot make directory {}", self.path.display()))?;
        Ok(StepOutput::found_at(&self.path))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(fs::symlink_metadata(&self.path).is_ok().then(|| StepOutput::found_at(&self.path)))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        gone_is_fine(fs::remove_dir(&self.path))
            .with_context(|| format!("cannot remove directory {}", self.path.display()))
    }
}

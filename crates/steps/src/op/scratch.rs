//! Writes the initramfs or the seed disk of a guest: files in the run's folder.

use crate::agent_program::program;
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::plain_file::{remove_file, write_file};
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Initramfs with the agent as /init, and the kernel modules that the guest needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildInitramfs {
    pub path: PathBuf,
    /// Folder of the guest kernel's modules: `/lib/modules/VERSION`, or a copy of it in our cache.
    pub modules: PathBuf,
    /// Names of modules that this guest needs beyond those of every guest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<String>,
}

/// Disk that brings the agent into a guest that runs its own system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildSeed {
    pub path: PathBuf,
    /// Seconds for which the agent in the guest waits for that system to start.
    #[serde(default)]
    pub patience_s: u64,
}

/// File that is built from files of this machine, and removed at the end of the run.
trait Scratch {
    fn path(&self) -> &Path;

    /// Returns a clause that says what the file is built from, for [`Operation::describe`].
    fn origin_clause(&self) -> String {
        String::new()
    }

    fn build_content(&self) -> Result<Vec<u8>>;
}

impl Scratch for BuildInitramfs {
    fn path(&self) -> &Path {
        &self.path
    }

    fn origin_clause(&self) -> String {
        format!(" from {}", self.modules.display())
    }

    fn build_content(&self) -> Result<Vec<u8>> {
        iotax_qemu::initramfs::initramfs_for(program(), &self.modules, &self.more)
    }
}

impl Scratch for BuildSeed {
    fn path(&self) -> &Path {
        &self.path
    }

    fn build_content(&self) -> Result<Vec<u8>> {
        iotax_qemu::seed::seed(program(), Duration::from_secs(self.patience_s))
    }
}

impl<T: Scratch> Operation for T {
    fn describe(&self) -> String {
        format!("write {}{}", self.path().display(), self.origin_clause())
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::InFolder(self.path())]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", self.path().display()))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(format!("rm {}", shell::path(self.path())))
    }
}

impl<T: Scratch> ManagedResource for T {
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        write_file(self.path(), &self.build_content()?)?;
        Ok(StepOutput::found_at(self.path()))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(self.path().symlink_metadata().is_ok().then(|| StepOutput::found_at(self.path())))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        remove_file(self.path())
    }
}

//! A file system on a block device of ours, and its mount.

use super::{Operation, PathRef, RunTag, System, Undoing, Yield};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `mkfs`, with its discard turned off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeFilesystem {
    /// `xfs` or `ext4`.
    pub kind: String,
    /// The block device.
    pub device: PathRef,
    /// Label (at most 12 bytes, xfs's limit).
    pub label: String,
}

impl Operation for MakeFilesystem {
    fn describe(&self) -> String {
        format!("mkfs.{} (no discard, label {}) {}", self.kind, self.label, self.device)
    }

    fn irreversible(&self) -> Option<String> {
        Some(format!("what {} held is lost", self.device))
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.device]
    }

    fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
        system.make_filesystem(&self.kind, self.device.path()?, &self.label)?;
        Ok(Yield::default())
    }

    fn survives_reboot(&self) -> bool {
        false
    }
}

/// `mount -o noatime,nosuid,nodev`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The block device.
    pub device: PathRef,
    /// A directory of the run.
    pub directory: PathBuf,
    /// File system type.
    pub kind: String,
}

impl Operation for Mount {
    fn describe(&self) -> String {
        format!("mount -t {} -o noatime,nosuid,nodev {} {}", self.kind, self.device, self.directory.display())
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.device]
    }

    fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
        system.mount(self.device.path()?, &self.directory, &self.kind)?;
        Ok(Yield { path: Some(self.directory.clone()), ..Yield::default() })
    }

    fn find(&self, system: &dyn System, _: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        let made = Yield { path: Some(self.directory.clone()), ..Yield::default() };
        Ok(system.mounted(&self.directory)?.then_some(made))
    }

    fn undo(&self, system: &mut dyn System, _: &RunTag, _: &Yield) -> Result<()> {
        match system.mounted(&self.directory)? {
            true => system.unmount(&self.directory),
            false => Ok(()),
        }
    }

    fn undoing(&self, _: Option<&Yield>) -> Option<Undoing> {
        Some(Undoing::new("unmounted", self.directory.display()))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &Yield) -> Option<String> {
        Some(format!("umount {}", self.directory.display()))
    }

    fn survives_reboot(&self) -> bool {
        false
    }
}

//! A file system on block devices of ours, and its mount.

use super::{Operation, Own, PathRef, RunTag, System, Undoing, Yield};
use crate::shell;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `mkfs`, with its discard turned off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeFilesystem {
    /// `xfs`, `ext4` or `btrfs`.
    pub kind: String,
    /// The block device.
    pub device: PathRef,
    /// Further devices of a btrfs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<PathRef>,
    /// Label (at most 12 bytes, xfs's limit).
    pub label: String,
    /// Further words of mkfs, as `-b`, `size=4096`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl MakeFilesystem {
    /// All devices.
    pub fn devices(&self) -> impl Iterator<Item = &PathRef> {
        std::iter::once(&self.device).chain(&self.others)
    }

    fn named(&self, between: &str) -> String {
        self.devices().map(ToString::to_string).collect::<Vec<_>>().join(between)
    }
}

impl Operation for MakeFilesystem {
    fn describe(&self) -> String {
        let options: String = self.options.iter().map(|word| format!("{word} ")).collect();
        format!("mkfs.{} (no discard, label {}) {options}{}", self.kind, self.label, self.named(" "))
    }

    fn irreversible(&self) -> Option<String> {
        Some(format!("what {} held is lost", self.named(", ")))
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        std::iter::once(&mut self.device).chain(&mut self.others).collect()
    }

    fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
        system.make_filesystem(self)?;
        Ok(Yield::default())
    }

    fn find(&self, system: &dyn System, _: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        system.await_filesystem(self)?;
        Ok(None)
    }

    fn survives_reboot(&self) -> bool {
        false
    }
}

/// `mount -o noatime,nosuid,nodev`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The block device, or the name of a file system in a pool.
    pub device: PathRef,
    /// Further devices of a btrfs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<PathRef>,
    /// A directory of the run.
    pub directory: PathBuf,
    /// File system type.
    pub kind: String,
    /// The time of the last access is written now and then, as systems do, and not never.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relatime: bool,
}

impl Mount {
    /// Of one device, without times of access: reading must not write, or the file system would pay for the measuring.
    pub fn of(device: PathRef, directory: PathBuf, kind: &str) -> Mount {
        Mount { device, others: Vec::new(), directory, kind: kind.to_owned(), relatime: false }
    }

    /// What only that type understands. btrfs would discard by itself, and looks for its other devices nowhere.
    ///
    /// # Errors
    /// A device is not known yet.
    pub fn data(&self) -> Result<String> {
        let mut words: Vec<String> = Vec::new();
        if self.kind == "btrfs" {
            words.push("nodiscard".into());
        }
        for other in &self.others {
            words.push(format!("device={}", other.path()?.display()));
        }
        Ok(words.join(","))
    }
}

impl Operation for Mount {
    fn describe(&self) -> String {
        let atime = if self.relatime { "relatime" } else { "noatime" };
        let nodiscard = if self.kind == "btrfs" { ",nodiscard" } else { "" };
        let others: String = self.others.iter().map(|other| format!(",device={other}")).collect();
        let (kind, directory) = (&self.kind, self.directory.display());
        format!("mount -t {kind} -o {atime},nosuid,nodev{nodiscard}{others} {} {directory}", self.device)
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        std::iter::once(&mut self.device).chain(&mut self.others).collect()
    }

    fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
        system.mount(self)?;
        Ok(Yield { path: Some(self.directory.clone()), ..Yield::default() })
    }

    fn find(&self, system: &dyn System, _: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        let made = Yield { path: Some(self.directory.clone()), ..Yield::default() };
        Ok(system.mounted(&self.directory)?.then_some(made))
    }

    fn own<'a>(&'a self, _: &'a Yield) -> Vec<Own<'a>> {
        vec![Own::InFolder(&self.directory)]
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
        Some(format!("umount {}", shell::path(&self.directory)))
    }

    fn survives_reboot(&self) -> bool {
        false
    }
}

//! A loop device over a file. Its number is not known beforehand, so an interrupted attach is found
//! again by its backing file and by the limit of bytes that ours always have, among those that no other
//! step is known to have made.

use super::{Operation, PathRef, RunTag, System, Undoing, Yield};
use crate::shell;
use crate::step::loops::{FileId, LoopOf, LoopRequest};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `losetup`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachLoop {
    /// File or device below.
    pub backing: PathRef,
    /// Bytes of it that the loop device shows.
    pub bytes: u64,
    /// Direct I/O below.
    pub direct_io: bool,
    /// No write passes.
    pub read_only: bool,
    /// Which file that is, from the intent on: its name may be gone when the device is to be detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileId>,
}

impl AttachLoop {
    fn known(&self) -> Result<LoopOf<'_>> {
        Ok(LoopOf { backing: self.backing.path()?, file: self.file, bytes: self.bytes })
    }
}

impl Operation for AttachLoop {
    fn describe(&self) -> String {
        format!(
            "losetup --find --show --sizelimit {} --direct-io={}{} {}",
            self.bytes,
            if self.direct_io { "on" } else { "off" },
            if self.read_only { " --read-only" } else { "" },
            self.backing
        )
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.backing]
    }

    fn observe(&mut self, system: &dyn System) {
        self.file = self.backing.path().ok().and_then(|path| system.file_id(path));
    }

    fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
        let device = system.attach_loop(&LoopRequest {
            backing: self.backing.path()?,
            bytes: self.bytes,
            direct_io: self.direct_io,
            read_only: self.read_only,
        })?;
        Ok(Yield { path: Some(device), ..Yield::default() })
    }

    fn find(&self, system: &dyn System, _: &RunTag, others: &[Yield]) -> Result<Option<Yield>> {
        let devices = system.loops_on(&self.known()?)?;
        // Stacks that share nothing (`own`) have a loop device each on one file.
        let is_others = |device: &PathBuf| others.iter().any(|made| made.path.as_ref() == Some(device));
        let found = devices.into_iter().find(|device| !is_others(device));
        Ok(found.map(|path| Yield { path: Some(path), ..Yield::default() }))
    }

    fn undo(&self, system: &mut dyn System, _: &RunTag, made: &Yield) -> Result<()> {
        let device = made.path.as_ref().context("no loop device was recorded")?;
        system.detach_loop(device, &self.known()?)
    }

    fn undoing(&self, made: Option<&Yield>) -> Option<Undoing> {
        let device = made.and_then(|made| made.path.as_ref()).map(|device| device.display().to_string());
        Some(Undoing::new(
            "detached",
            device.unwrap_or_else(|| format!("the loop device over {}", self.backing)),
        ))
    }

    fn undo_by_hand(&self, _: &RunTag, made: &Yield) -> Option<String> {
        made.path.as_ref().map(|device| format!("losetup --detach {}", shell::path(device)))
    }

    fn survives_reboot(&self) -> bool {
        false
    }
}

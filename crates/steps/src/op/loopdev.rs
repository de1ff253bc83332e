//! Attaches a loop device over a file. Its number is not known beforehand, so an interrupted attach
//! is found again by the backing file and the size limit, which ours always have, among the devices
//! that no other step is known to have made.

use crate::observer::{MachineAnswer, MachineQuestion, Observer};
use crate::operation::{Operation, Undoing};
use crate::resource::ManagedResource;
use anyhow::{Context, Result};
use iotax_drivers::loops::{self, FileId, LoopOf};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachLoop {
    pub backing: PathRef,
    /// Size of the loop device in bytes; the rest of the backing file is not shown.
    pub bytes: u64,
    pub direct_io: bool,
    pub read_only: bool,
    /// Device and inode of the backing file, which the journal records before the attach: the
    /// file's name may be gone when the device is detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileId>,
}

impl AttachLoop {
    fn known_loop(&self) -> Result<LoopOf<'_>> {
        Ok(LoopOf { backing: self.backing.resolved_path()?, file: self.file, bytes: self.bytes })
    }
}

impl AttachLoop {
    fn losetup_words(&self) -> Vec<String> {
        let direct = format!("--direct-io={}", if self.direct_io { "on" } else { "off" });
        let (size, backing) = (self.bytes.to_string(), self.backing.to_string());
        let words = ["losetup", "--find", "--show", "--sizelimit", &size, &direct];
        let read_only: &[&str] = if self.read_only { &["--read-only"] } else { &[] };
        [&words[..], read_only, &[&backing]].concat().into_iter().map(str::to_owned).collect()
    }
}

impl Operation for AttachLoop {
    fn describe(&self) -> String {
        self.losetup_words().join(" ")
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        let words = self.losetup_words();
        vec![format!("{out}=$({})", shell::quote_line(words))]
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.backing]
    }

    fn observe(&mut self, machine: &dyn Observer) {
        let question = self.backing.resolved_path().ok().map(MachineQuestion::File);
        self.file = match question.and_then(|question| machine.ask_machine(question)) {
            Some(MachineAnswer::File(file)) => Some(file),
            _ => None,
        };
    }

    fn undo_summary(&self, made: Option<&StepOutput>) -> Option<Undoing> {
        let device =
            made.and_then(|made| made.path.as_ref()).map(|device| device.display().to_string());
        Some(Undoing::new(
            "detached",
            device.unwrap_or_else(|| format!("the loop device over {}", self.backing)),
        ))
    }

    fn undo_by_hand(&self, _: &RunTag, made: &StepOutput) -> Option<String> {
        made.path.as_ref().map(|device| format!("losetup --detach {}", shell::path(device)))
    }
}

impl ManagedResource for AttachLoop {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        Ok(StepOutput::found_at(loops::attach(
            &self.known_loop()?,
            self.direct_io,
            self.read_only,
        )?))
    }

    fn find_resource(&self, _: &RunTag, others: &[StepOutput]) -> Result<Option<StepOutput>> {
        let devices = loops::attached(&self.known_loop()?)?;
        // Stacks that share nothing (`own`) have a loop device each on one file.
        let is_others =
            |device: &PathBuf| others.iter().any(|made| made.path.as_ref() == Some(device));
        Ok(devices.into_iter().find(|device| !is_others(device)).map(StepOutput::found_at))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, made: &StepOutput) -> Result<()> {
        let device = made.path.as_ref().context("no loop device was recorded")?;
        loops::detach(device, &self.known_loop()?)
    }
}

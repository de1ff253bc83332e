//! An array of the kernel's RAID driver (md) over several block devices, made by mdadm. Its first
//! sync is a step of its own.

use super::drives::{Drives, held_is_lost, left_on, today};
use super::{
    ManagedResource, Observer, Operation, Own, PathRef, RealSystem, RunTag, StepOutput, Undoing,
};
use crate::md;
use crate::state::ArrayState;
use crate::threads::{self, ServingThread};
use anyhow::Result;
use iotax_units::shell;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateArray {
    /// Block devices, in the order of their roles.
    pub members: Vec<PathRef>,
    /// Name of the array, at most 28 bytes. It carries the run's id.
    pub name: String,
    /// RAID level: 0, 1, 5, 6 or 10.
    pub level: u8,
    /// Bytes of a chunk; `None` for RAID 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<u64>,
    /// Layout of parity or copies; `None` for mdadm's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Format of the superblock: `1.2`.
    pub metadata: String,
    /// True if it keeps a bitmap of what is being written, on its members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bitmap: bool,
    /// Bytes of each member that hold data. RAID 0 takes all that there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Offset of the data on each member, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_offset: Option<u64>,
    /// True if the members may differ in size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uneven: bool,
    /// True if parity and copies are not computed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assume_clean: bool,
    /// Bounds of syncs and rebuilds under load, in bytes a second: least and most.
    #[serde(default, skip_serializing_if = "SyncBounds::are_none")]
    pub sync_speed: SyncBounds,
    /// Bytes that the plan counts on.
    pub bytes: u64,
    /// Identities of the members, recorded with the intent.
    #[serde(default, skip_serializing_if = "Drives::is_empty")]
    pub drives: Drives,
}

impl CreateArray {
    /// Returns the bytes that its first sync writes: parity, or every copy but the first.
    pub fn first_sync_bytes(&self) -> u64 {
        let (members, each) = (self.members.len() as u64, self.size.unwrap_or(0));
        let copies =
            || self.layout.as_ref().and_then(|layout| layout[1..].parse().ok()).unwrap_or(2u64);
        match self.level {
            _ if self.assume_clean => 0,
            1 => each * members.saturating_sub(1),
            5 => each,
            6 => 2 * each,
            10 => each * members / copies().max(1) * (copies() - 1),
            _ => 0,
        }
    }
}

/// Least and most speed of a sync. The system's bounds apply where none is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncBounds {
    /// Speed that is reached even when others want the drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<u64>,
    /// Speed that is not exceeded even when nobody else wants the drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
}

impl SyncBounds {
    fn are_none(&self) -> bool {
        *self == SyncBounds::default()
    }
}

impl ManagedResource for CreateArray {
    fn survives(&self) -> bool {
        // The superblocks survive, and udev assembles an array from them again.
        true
    }

    fn make(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        md::create(self)
    }

    fn threads(&self, made: &StepOutput) -> Result<Vec<ServingThread>> {
        let device = made.path.as_ref().map(|path| path.canonicalize()).transpose()?;
        let name = device.as_ref().and_then(|path| path.file_name()?.to_str());
        Ok(name.map_or_else(Vec::new, threads::of_array))
    }

    fn find(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        md::find(&today(self, &self.drives).0)
    }

    fn unmake(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        let (today, others) = today(self, &self.drives);
        md::unmake(&today)?;
        left_on(&others)
    }

    fn state(&self, made: &StepOutput) -> Result<Option<ArrayState>> {
        Ok(made.path.as_deref().and_then(md::state_of))
    }
}

impl Operation for CreateArray {
    fn describe(&self) -> String {
        let words = md::create_words(self);
        let members: Vec<String> = self.members.iter().map(ToString::to_string).collect();
        format!("mdadm {} {}", words.join(" "), members.join(" "))
    }

    fn irreversible(&self) -> Option<String> {
        Some(held_is_lost(&self.members))
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        self.members.iter_mut().collect()
    }

    fn observe(&mut self, machine: &dyn Observer) {
        self.drives = Drives::about_to_write(machine, &self.inputs());
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undoing(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("stopped", format!("array {}, its superblocks zeroed", self.name)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let members = shell::line(self.members.iter().map(PathRef::to_string));
        let array = shell::word(&format!("/dev/md/{}", self.name));
        Some(format!("mdadm --stop {array}; mdadm --zero-superblock {members}"))
    }
}

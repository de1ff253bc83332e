//! Removes a member from an array of a running SPDK target, as if it had failed, brings it back to
//! be rebuilt, or waits for the rebuild. It makes nothing of its own: the array is removed whole,
//! in whatever state it is.

use super::{Operation, PathRef, RealSystem, ResourceChange};
use crate::spdk;
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// Change of the array below a bdev.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSpdkArray {
    /// Bdev that a layer made.
    pub made: PathRef,
    pub change: SpdkChange,
    /// Bytes that are written to a member that returns; 0 if unknown.
    #[serde(default)]
    pub bytes: u64,
}

/// Change of a member, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpdkChange {
    /// Calls `bdev_raid_remove_base_bdev`: the array goes on without the member.
    Leaves(usize),
    /// Calls `bdev_raid_add_base_bdev`: what the member lacks is rebuilt on it.
    Returns(usize),
    /// Waits until all members are whole.
    AwaitWhole,
}

impl ResourceChange for ChangeSpdkArray {
    fn make(&self, system: &mut RealSystem) -> Result<()> {
        spdk::raid::change(self, &mut system.synced())
    }
}

impl Operation for ChangeSpdkArray {
    fn describe(&self) -> String {
        match self.change {
            SpdkChange::Leaves(member) => {
                format!("bdev_raid_remove_base_bdev of member {} below {}", member + 1, self.made)
            }
            SpdkChange::Returns(member) => {
                format!("bdev_raid_add_base_bdev of member {} below {}", member + 1, self.made)
            }
            SpdkChange::AwaitWhole => {
                format!("wait until the array below {} is rebuilt", self.made)
            }
        }
    }
}

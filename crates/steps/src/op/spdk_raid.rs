//! A member of an array of a running SPDK target leaves it, as one that failed, comes back and is
//! rebuilt, or the rebuild is waited for. It makes nothing of its own: the array is taken away
//! whole, in whatever state it is.

use super::{Operation, PathRef, RealSystem, ResourceChange};
use crate::spdk;
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// What is done to the array below a bdev.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSpdkArray {
    /// The bdev that a layer made.
    pub made: PathRef,
    pub change: SpdkChange,
    /// Bytes that are written to a member that returns; 0: not known.
    #[serde(default)]
    pub bytes: u64,
}

/// Of which member, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpdkChange {
    /// `bdev_raid_remove_base_bdev`: the array goes on without it.
    Leaves(usize),
    /// `bdev_raid_add_base_bdev`: what it lacks is rebuilt on it.
    Returns(usize),
    /// Until all members are whole.
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

//! Removes a member from an array of a running SPDK target, as if it had failed, brings it back to
//! be rebuilt, or waits for the rebuild. Nothing is undone for it: the array is removed whole, in
//! whatever state it is.

use crate::operation::Operation;
use crate::resource::ResourceChange;
use anyhow::Result;
use iotax_drivers::spdk;
use iotax_drivers::spdk::raid::{ChangeSpdkArray, SpdkChange};
use iotax_drivers::system::RealSystem;

impl ResourceChange for ChangeSpdkArray {
    fn apply_change(&self, system: &mut RealSystem) -> Result<()> {
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

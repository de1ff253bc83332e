//! A member of an array of a running SPDK target that leaves it, as one that failed, or comes back and is rebuilt. It makes
//! nothing of its own: the array is taken away whole, in whatever state it is.

use super::spdk::rpc_py;
use super::{Operation, RunTag, System, Yield};
use crate::step::spdk;
use crate::step::thing::Thing;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Membership {
    /// `bdev_raid_remove_base_bdev`: the array goes on without it.
    Leaves,
    /// `bdev_raid_add_base_bdev`: what it lacks is rebuilt on it.
    Returns,
}

/// What is done to the array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveSpdkMember {
    /// The target's JSON-RPC socket.
    pub rpc: PathBuf,
    /// The array's name there.
    pub array: String,
    /// The member's.
    pub member: String,
    /// Which way.
    pub membership: Membership,
}

impl MoveSpdkMember {
    fn call(&self) -> String {
        match self.membership {
            Membership::Leaves => rpc_py(&self.rpc, "bdev_raid_remove_base_bdev", &self.member),
            Membership::Returns => {
                rpc_py(&self.rpc, "bdev_raid_add_base_bdev", &format!("{} {}", self.array, self.member))
            }
        }
    }
}

impl Operation for MoveSpdkMember {
    fn describe(&self) -> String {
        self.call()
    }

    fn irreversible(&self) -> Option<String> {
        (self.membership == Membership::Returns)
            .then(|| format!("{} is written anew by the rebuild", self.member))
    }

    fn perform(&self, system: &mut dyn System, tag: &RunTag) -> Result<Yield> {
        system.make_thing(self, tag)
    }

    fn find(&self, system: &dyn System, tag: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        system.find_thing(self, tag)
    }

    fn undo(&self, system: &mut dyn System, tag: &RunTag, made: &Yield) -> Result<()> {
        system.unmake_thing(self, tag, made)
    }

    fn survives_reboot(&self) -> bool {
        false
    }
}

impl Thing for MoveSpdkMember {
    fn key(&self, _: &RunTag) -> String {
        format!("{:?} {}", self.membership, self.member)
    }

    fn below(&self) -> Vec<PathBuf> {
        vec![PathBuf::from(&self.array)]
    }

    fn survives(&self) -> bool {
        false
    }

    fn make(&self, _: &RunTag) -> Result<Yield> {
        spdk::raid::move_member(self)?;
        Ok(Yield::default())
    }

    /// Whatever state the array is in, it is taken away as one.
    fn find(&self, _: &RunTag) -> Result<Option<Yield>> {
        Ok(None)
    }

    fn unmake(&self, _: &RunTag, _: &Yield) -> Result<()> {
        Ok(())
    }
}

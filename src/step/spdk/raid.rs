//! The state of an array of a target, and members that leave it or come back. Refuses to move
//! a member that is not where it is thought to be.

use super::look::listed;
use super::rpc::{LIMIT, Rpc};
use crate::step::op::{Membership, MoveSpdkMember};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::path::Path;

/// An array as `bdev_raid_get_bdevs` tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// SPDK's word: `online`, `configuring`, `offline`. One without a member is online all the same.
    pub state: String,
    /// How many members it was made of.
    pub members: u64,
    /// How many of them are in it. One that is being rebuilt is.
    pub there: u64,
    /// Percent of a rebuild that is done, while there is one.
    pub rebuilt: Option<u64>,
    /// Names of those that are in it.
    names: Vec<String>,
}

impl Array {
    /// All members are in it, and none is being rebuilt.
    pub fn is_whole(&self) -> bool {
        self.state == "online" && self.there == self.members && self.rebuilt.is_none()
    }
}

/// Asks the target.
///
/// # Errors
/// When it does not answer, or has no such array.
pub fn array(socket: &Path, name: &str) -> Result<Array> {
    array_of(&mut Rpc::connect(socket, LIMIT)?, socket, name)
}

fn array_of(rpc: &mut Rpc, socket: &Path, name: &str) -> Result<Array> {
    let all = listed(rpc, "bdev_raid_get_bdevs", json!({"category": "all"}))?;
    let told = all.iter().find(|one| one["name"] == name);
    let told =
        told.with_context(|| format!("the SPDK target behind {} has no array {name}", socket.display()))?;
    understood(told).with_context(|| format!("the SPDK target tells too little of its array {name}: {told}"))
}

fn understood(told: &Value) -> Option<Array> {
    let members = told["base_bdevs_list"].as_array()?.iter();
    Some(Array {
        state: told["state"].as_str()?.to_owned(),
        members: told["num_base_bdevs"].as_u64()?,
        there: told["num_base_bdevs_discovered"].as_u64()?,
        rebuilt: told["process"]["progress"]["percent"].as_u64(),
        names: members.filter_map(|member| member["name"].as_str()).map(str::to_owned).collect(),
    })
}

/// Takes a member out of its array, or puts it back, and looks that it has happened.
///
/// # Errors
/// When the target refuses, or the member was not where it was thought to be.
pub fn move_member(asked: &MoveSpdkMember) -> Result<()> {
    let mut rpc = Rpc::connect(&asked.rpc, LIMIT)?;
    let (array, member) = (&asked.array, &asked.member);
    let is_in =
        |rpc: &mut Rpc| -> Result<bool> { Ok(array_of(rpc, &asked.rpc, array)?.names.contains(member)) };
    let was_in = is_in(&mut rpc)?;
    match asked.membership {
        Membership::Leaves => {
            ensure!(was_in, "{member} is not in the array {array}");
            rpc.call("bdev_raid_remove_base_bdev", json!({"name": member}))?;
        }
        Membership::Returns => {
            ensure!(!was_in, "{member} is in the array {array} already");
            rpc.call("bdev_raid_add_base_bdev", json!({"raid_bdev": array, "base_bdev": member}))?;
        }
    }
    let there = is_in(&mut rpc)?;
    if there != (asked.membership == Membership::Returns) {
        bail!(
            "the SPDK target says that it has done so, and {member} is {}in {array}",
            if there { "" } else { "not " }
        );
    }
    Ok(())
}

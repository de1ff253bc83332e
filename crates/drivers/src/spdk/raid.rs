//! Reads the state of an array of a target, takes members out and puts them back. Refuses to move a
//! member that is not where it is expected.

use super::look::{Bdevs, list_objects};
use super::rpc::{LIMIT, Rpc};
use crate::spdk::names::{array_below, member as spdk_member};

use crate::path_ref::PathRef;
use crate::settings::ThingSettings;
use crate::system::ProgressFn;
use anyhow::{Context, Result, bail, ensure};
use iotax_facts::array::ArrayState;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use std::thread;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSpdkArray {
    pub made: PathRef,
    pub change: SpdkChange,
    /// Bytes that a rebuild writes to a member that returns; 0 if unknown.
    #[serde(default)]
    pub bytes: u64,
}

/// Change of one member of an array, which is counted from 0, or wait for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpdkChange {
    /// Calls `bdev_raid_remove_base_bdev`: the array goes on without the member.
    Leaves(usize),
    /// Calls `bdev_raid_add_base_bdev`: what the member lacks is rebuilt on it.
    Returns(usize),
    AwaitWhole,
}

const PAUSE: Duration = Duration::from_millis(100);

/// Array as `bdev_raid_get_bdevs` reports it.
struct Array {
    /// SPDK's word for the state: `online`, `configuring` or `offline`. An array that lacks members
    /// is online nonetheless.
    word: String,
    /// Number of members it was made of.
    members: u32,
    /// Number of members that are in it, including one that is being rebuilt.
    there: u32,
    /// Percentage of the rebuild that is done; `None` if none runs.
    rebuilt: Option<f64>,
    names: Vec<String>,
}

impl Array {
    fn look_up(rpc: &mut Rpc, name: &str) -> Result<Array> {
        let reported = raid_value(rpc, name)?;
        Array::understood(&reported).with_context(|| {
            format!("the SPDK target reports too little of its array {name}: {reported}")
        })
    }

    fn understood(reported: &Value) -> Option<Array> {
        let count = |key: &str| reported[key].as_u64().and_then(|count| u32::try_from(count).ok());
        let members = reported["base_bdevs_list"].as_array()?.iter();
        Some(Array {
            word: reported["state"].as_str()?.to_owned(),
            members: count("num_base_bdevs")?,
            there: count("num_base_bdevs_discovered")?,
            rebuilt: reported["process"]["progress"]["percent"].as_f64(),
            names: members
                .filter_map(|member| member["name"].as_str())
                .map(str::to_owned)
                .collect(),
        })
    }

    fn to_array_state(&self) -> ArrayState {
        let missing = self.members.saturating_sub(self.there);
        match self.rebuilt {
            _ if self.word != "online" => ArrayState::Down { word: self.word.clone() },
            // SPDK rebuilds one member at a time.
            Some(percent) => ArrayState::Rebuilding { missing: missing + 1, done: percent / 100.0 },
            None if missing > 0 => ArrayState::Degraded { missing },
            None => ArrayState::Healthy,
        }
    }
}

fn raid_value(rpc: &mut Rpc, name: &str) -> Result<Value> {
    let all = list_objects(rpc, "bdev_raid_get_bdevs", json!({"category": "all"}))?;
    let array = all.into_iter().find(|one| one["name"] == name);
    array.with_context(|| format!("the SPDK target has no array {name}"))
}

pub fn raid_state(socket: &Path, array: &str) -> Result<ArrayState> {
    Ok(Array::look_up(&mut Rpc::connect(socket, LIMIT)?, array)?.to_array_state())
}

pub fn raid_settings(socket: &Path, array: &str) -> Result<ThingSettings> {
    let reported = raid_value(&mut Rpc::connect(socket, LIMIT)?, array)?;
    let names = ["raid_level", "strip_size_kb", "num_base_bdevs", "superblock"];
    let known = names.iter().filter(|name| !reported[**name].is_null());
    let word = |name: &str| {
        reported[name].as_str().map_or_else(|| reported[name].to_string(), str::to_owned)
    };
    Ok(known.map(|name| ((*name).to_owned(), word(name))).collect())
}

/// Takes a member out of its array, puts it back, or waits until all are whole.
///
/// # Errors
/// If the target is not there or refuses, the member is not where it is expected, members are
/// missing and nothing is rebuilt, or `progress` says stop.
pub fn change(asked: &ChangeSpdkArray, progress: ProgressFn<'_>) -> Result<()> {
    let (socket, bdev) = asked.made.bdev()?;
    let (mut rpc, array) = (Rpc::connect(socket, LIMIT)?, array_below(bdev));
    let (member, returns) = match asked.change {
        SpdkChange::Leaves(member) => (member, false),
        SpdkChange::Returns(member) => (member, true),
        SpdkChange::AwaitWhole => return await_whole(&mut rpc, &array, progress),
    };
    let member = member_of(&mut rpc, bdev, member)?;
    move_member(&mut rpc, &array, &member, returns)
}

/// Returns the name of a member's bdev. For a file it is the part without the marker.
fn member_of(rpc: &mut Rpc, bdev: &str, member: usize) -> Result<String> {
    let (whole, bdevs) = (spdk_member(bdev, member), Bdevs::look_up(rpc)?);
    let part = format!("{whole}p0");
    let found = [part, whole].into_iter().find(|name| bdevs.find_bdev(name).is_some());
    found.with_context(|| format!("the SPDK target has no member {} of {bdev}", member + 1))
}

fn move_member(rpc: &mut Rpc, array: &str, member: &str, returns: bool) -> Result<()> {
    let is_in = |rpc: &mut Rpc| -> Result<bool> {
        Ok(Array::look_up(rpc, array)?.names.iter().any(|name| name == member))
    };
    let was_in = is_in(rpc)?;
    match returns {
        false => {
            ensure!(was_in, "{member} is not in the array {array}");
            rpc.call("bdev_raid_remove_base_bdev", json!({"name": member}))?;
        }
        true => {
            ensure!(!was_in, "{member} is in the array {array} already");
            rpc.call("bdev_raid_add_base_bdev", json!({"raid_bdev": array, "base_bdev": member}))?;
        }
    }
    let is = is_in(rpc)?;
    ensure!(
        is == returns,
        "the SPDK target says that it is done, and {member} is {}in {array}",
        if is { "" } else { "not " }
    );
    Ok(())
}

fn await_whole(rpc: &mut Rpc, array: &str, progress: ProgressFn<'_>) -> Result<()> {
    loop {
        let done = match Array::look_up(rpc, array)?.to_array_state() {
            ArrayState::Healthy => return Ok(()),
            ArrayState::Rebuilding { done, .. } => done,
            other => bail!("the array {array} is {other}, and nothing is rebuilt"),
        };
        if progress(done).is_break() {
            bail!("interrupted at {:.0} % of the rebuild of {array}", done * 100.0);
        }
        thread::sleep(PAUSE);
    }
}

//! Makes a bdev of a running SPDK target over files or devices of this host: a bdev for each
//! member, RAID and a logical volume over them where requested. Also splits a bdev into equal
//! parts. All belong to the target, under names that carry the run's id.

use super::spdk::{SpdkKind, kind, rpc_py};
use super::{ManagedResource, Operation, Own, PathRef, RealSystem, RunTag, StepOutput, Undoing};
use crate::settings::ThingSettings;
use crate::spdk;
use crate::state::ArrayState;
use crate::threads::ServingThread;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Bdev over files or devices, made in the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinSpdk {
    /// The target's JSON-RPC socket.
    pub rpc: PathBuf,
    /// Files or devices below.
    pub members: Vec<PathRef>,
    /// True for io_uring, false for libaio.
    pub uring: bool,
    /// True if the target opens them only for reading.
    pub read_only: bool,
    /// Number of MiB of each that are used, from its start; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mib: Option<u64>,
    /// Array that joins the members; `None` if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raid: Option<SpdkRaid>,
    /// Logical volume on top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lvol: Option<SpdkLvol>,
    /// Prefix of all names.
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpdkRaid {
    /// SPDK's word for the level: `raid0`, `raid1`, `raid5f`, `concat`.
    pub level: String,
    /// Strip size in KiB; `None` if the level has no strips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strip_kib: Option<u64>,
}

/// Only volume of a store of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpdkLvol {
    /// True if clusters are allocated as they are written.
    pub thin: bool,
    pub cluster: u64,
    pub mib: u64,
}

impl JoinSpdk {
    /// Returns the methods of its members' bdevs.
    pub fn kind(&self) -> &'static SpdkKind {
        kind(self.uring)
    }

    /// Returns the name of the bdev over a whole member.
    pub fn member(&self, at: usize) -> String {
        member_name(&self.name, at)
    }

    /// Returns the name of the bdev that represents a member in the array.
    pub fn base(&self, at: usize) -> String {
        match self.mib {
            Some(_) => format!("{}p0", self.member(at)),
            None => self.member(at),
        }
    }

    /// Returns the name of the array, or of the only member.
    pub fn joined(&self) -> String {
        match (&self.raid, &self.lvol) {
            (None, _) => self.base(0),
            (Some(_), Some(_)) => format!("{}{ARRAY}", self.name),
            (Some(_), None) => self.name.clone(),
        }
    }

    /// Returns the name of the store of logical volumes.
    pub fn store(&self) -> String {
        format!("{}{STORE}", self.name)
    }

    pub fn volume(&self) -> &'static str {
        VOLUME.trim_start_matches('/')
    }

    /// Returns the name of the bdev that a layer above is given.
    pub fn bdev(&self) -> String {
        match &self.lvol {
            Some(_) => format!("{}{VOLUME}", self.store()),
            None => self.joined(),
        }
    }

    /// Returns the paths of the members, once resolved.
    ///
    /// # Errors
    /// If one is not known yet.
    pub fn paths(&self) -> Result<Vec<&Path>> {
        self.members.iter().map(PathRef::path).collect()
    }

    /// Returns the methods that the target must have.
    pub fn methods(&self) -> Vec<&'static str> {
        let mut methods =
            vec![self.kind().create, self.kind().delete, "bdev_get_bdevs", "bdev_wait_for_examine"];
        methods.extend(self.mib.iter().flat_map(|_| SPLIT));
        methods.extend(self.raid.iter().flat_map(|_| RAID));
        methods.extend(self.lvol.iter().flat_map(|_| LVOL));
        methods
    }
}

/// Suffixes of an array, a store and its volume, after the name that all have in common.
const ARRAY: &str = "-raid";
const STORE: &str = "-lvs";
const VOLUME: &str = "/lvol";

/// Returns the prefix of the name of a bdev that a layer was given, and true if a volume is on top.
fn common(bdev: &str) -> (&str, bool) {
    let store = bdev.strip_suffix(VOLUME).and_then(|store| store.strip_suffix(STORE));
    (store.unwrap_or(bdev), store.is_some())
}

fn member_name(common: &str, at: usize) -> String {
    format!("{common}-m{at}")
}

/// Returns the name of the array that such a bdev is or is on.
pub fn array_below(bdev: &str) -> String {
    match common(bdev) {
        (name, true) => format!("{name}{ARRAY}"),
        (name, false) => name.to_owned(),
    }
}

/// Returns the name of the bdev over a whole member of that array.
pub fn member(bdev: &str, at: usize) -> String {
    member_name(common(bdev).0, at)
}

const SPLIT: [&str; 2] = ["bdev_split_create", "bdev_split_delete"];
const RAID: [&str; 3] = ["bdev_raid_create", "bdev_raid_delete", "bdev_raid_get_bdevs"];
const LVOL: [&str; 5] = [
    "bdev_lvol_create_lvstore",
    "bdev_lvol_delete_lvstore",
    "bdev_lvol_get_lvstores",
    "bdev_lvol_create",
    "bdev_lvol_delete",
];

impl Operation for JoinSpdk {
    fn describe(&self) -> String {
        let members: Vec<String> = self.members.iter().map(ToString::to_string).collect();
        let part = self.mib.map(|mib| format!(" ({mib} MiB of each)")).unwrap_or_default();
        let mode = if self.read_only { ", read-only" } else { "" };
        let raid = self.raid.as_ref().map(|raid| {
            let strip =
                raid.strip_kib.map(|kib| format!(" strip_size_kb={kib}")).unwrap_or_default();
            format!(", bdev_raid_create {} {}{strip}", self.joined(), raid.level)
        });
        let lvol = self.lvol.as_ref().map(|lvol| {
            let thin = if lvol.thin { " thin_provision" } else { "" };
            format!(
                ", bdev_lvol_create_lvstore {} cluster_sz={}, bdev_lvol_create lvol of {} MiB{thin}",
                self.store(),
                lvol.cluster,
                lvol.mib
            )
        });
        format!(
            "{} {} over {}{part}{mode}{}{} in the SPDK target behind {}",
            self.kind().create,
            self.name,
            members.join(", "),
            raid.unwrap_or_default(),
            lvol.unwrap_or_default(),
            self.rpc.display()
        )
    }

    fn irreversible(&self) -> Option<String> {
        self.lvol.as_ref().map(|_| "what was below the store of logical volumes is lost".to_owned())
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        self.members.iter_mut().collect()
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undoing(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new(
            "removed",
            format!("{} from the SPDK target behind {}", self.bdev(), self.rpc.display()),
        ))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let mut calls = Vec::new();
        let mut call = |method: &str, rest: &[&str]| calls.push(rpc_py(&self.rpc, method, rest));
        if self.lvol.is_some() {
            call("bdev_lvol_delete", &[&self.bdev()]);
            call("bdev_lvol_delete_lvstore", &["-l", &self.store()]);
        }
        if self.raid.is_some() {
            call("bdev_raid_delete", &[&self.joined()]);
        }
        for at in 0..self.members.len() {
            if self.mib.is_some() {
                call("bdev_split_delete", &[&self.member(at)]);
            }
            call(self.kind().delete, &[&self.member(at)]);
        }
        Some(calls.join("; "))
    }
}

impl ManagedResource for JoinSpdk {
    /// Returns true if there is a store of logical volumes, which lies on the members themselves.
    fn survives(&self) -> bool {
        self.lvol.is_some()
    }

    fn make(&self, _: &mut RealSystem, tag: &RunTag) -> Result<StepOutput> {
        spdk::join::make(self, tag)?;
        Ok(StepOutput::default())
    }

    fn find(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(spdk::join::is_there(self)?.then(StepOutput::default))
    }

    fn unmake(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        spdk::join::unmake(self)
    }

    fn state(&self, _: &StepOutput) -> Result<Option<ArrayState>> {
        self.raid.as_ref().map(|_| spdk::raid::state(&self.rpc, &self.joined())).transpose()
    }

    fn threads(&self, _: &StepOutput) -> Result<Vec<ServingThread>> {
        spdk::threads(&self.rpc)
    }

    fn settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        let told =
            self.raid.as_ref().map(|_| spdk::raid::settings(&self.rpc, &self.joined())).transpose();
        Ok(told?.unwrap_or_default())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitSpdk {
    pub bdev: PathRef,
    pub parts: u32,
    pub mib: u64,
}

impl SplitSpdk {
    /// Returns one of its parts, counted from 0.
    ///
    /// # Errors
    /// If [`SplitSpdk::bdev`] is not a bdev.
    pub fn part(&self, at: u32) -> Result<PathRef> {
        let (rpc, base) = self.bdev.bdev()?;
        Ok(PathRef::Bdev { rpc: rpc.clone(), name: format!("{base}p{at}") })
    }

    fn name(&self) -> String {
        self.bdev.to_string()
    }
}

impl Operation for SplitSpdk {
    fn describe(&self) -> String {
        format!("bdev_split_create {} in {} parts of {} MiB", self.name(), self.parts, self.mib)
    }

    fn undoing(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", format!("the parts of {}", self.name())))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let (rpc, base) = self.bdev.bdev().ok()?;
        Some(rpc_py(rpc, "bdev_split_delete", &[base]))
    }
}

impl ManagedResource for SplitSpdk {
    fn make(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        spdk::join::split(self).with_context(|| format!("cannot split {}", self.name()))?;
        Ok(StepOutput::default())
    }

    fn find(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(spdk::join::is_split(self)?.then(StepOutput::default))
    }

    fn unmake(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        spdk::join::unsplit(self)
    }
}

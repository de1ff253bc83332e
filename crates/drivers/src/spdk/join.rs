//! Makes a bdev over one or several files or devices: a bdev for each, and on these, if asked for,
//! an array without a superblock and a store with one logical volume. Refuses members that the
//! target has open already, and those on which it finds something. Removes what a store leaves on
//! members, even if the target is gone.

use super::file;
use super::look::{Bdevs, list_objects, running};
use super::rpc::{LIMIT, Rpc};
use super::target::SpdkConnection;
use crate::run_tag::RunTag;
use crate::settings::ThingSettings;
use crate::spdk::raid;
use iotax_facts::array::ArrayState;

use crate::path_ref::PathRef;
use crate::refusal::{NotOurs, NothingMade};
use crate::spdk::file::{SpdkKind, kind};
use crate::spdk::names::{ARRAY, STORE, VOLUME, member_name};
use anyhow::{Context, Result, anyhow, bail};
use iotax_host::guard::admit::claim_device;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

/// Bdev over files or devices, made in the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinSpdk {
    pub rpc: PathBuf,
    pub members: Vec<PathRef>,
    pub uring: bool,
    pub read_only: bool,
    /// MiB of each member that are used, from its start; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mib: Option<u64>,
    /// Array that joins the members; `None` if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raid: Option<SpdkRaid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lvol: Option<SpdkLvol>,
    /// Prefix of the names of all bdevs and stores that are made.
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

/// Logical volume in a store that has no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpdkLvol {
    /// True if clusters are allocated as they are written.
    pub thin: bool,
    pub cluster: u64,
    pub mib: u64,
}

impl JoinSpdk {
    pub fn kind(&self) -> &'static SpdkKind {
        kind(self.uring)
    }

    pub fn member(&self, at: usize) -> String {
        member_name(&self.name, at)
    }

    /// Returns the name of the bdev of a member, counted from 0, that goes into the array: its used
    /// part, or all of it.
    pub fn base(&self, at: usize) -> String {
        match self.mib {
            Some(_) => format!("{}p0", self.member(at)),
            None => self.member(at),
        }
    }

    /// Returns the name of the array or, without one, of the bdev of the only member.
    pub fn joined_bdev(&self) -> String {
        match (&self.raid, &self.lvol) {
            (None, _) => self.base(0),
            (Some(_), Some(_)) => format!("{}{ARRAY}", self.name),
            (Some(_), None) => self.name.clone(),
        }
    }

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
            None => self.joined_bdev(),
        }
    }

    pub fn paths(&self) -> Result<Vec<&Path>> {
        self.members.iter().map(PathRef::resolved_path).collect()
    }

    pub fn array_state(&self) -> Result<Option<ArrayState>> {
        self.raid.as_ref().map(|_| raid::raid_state(&self.rpc, &self.joined_bdev())).transpose()
    }

    pub fn array_settings(&self) -> Result<ThingSettings> {
        let settings =
            self.raid.as_ref().map(|_| raid::raid_settings(&self.rpc, &self.joined_bdev()));
        Ok(settings.transpose()?.unwrap_or_default())
    }

    pub fn methods(&self) -> Vec<&'static str> {
        let mut methods =
            vec![self.kind().create, self.kind().delete, "bdev_get_bdevs", "bdev_wait_for_examine"];
        methods.extend(self.mib.iter().flat_map(|_| SPLIT));
        methods.extend(self.raid.iter().flat_map(|_| RAID));
        methods.extend(self.lvol.iter().flat_map(|_| LVOL));
        methods
    }
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

    pub fn name(&self) -> String {
        self.bdev.to_string()
    }
}

/// First bytes of a blobstore, which a store of logical volumes is.
const MAGIC: &[u8] = b"SPDKBLOB";
const SUPERBLOCK: usize = 4096;
/// Bytes at the start of a member that are searched for the store's name. Its metadata begins after
/// masks of a bit for each cluster and page, so the name is far within this.
const METADATA: usize = 4 << 20;

/// Makes the bdevs of the members and, as far as they are asked for, the array and the volume on
/// them.
///
/// # Errors
/// [`NothingMade`] if something of these names exists, or the target has a member open already.
/// Fails too if the target is not there or refuses, finds something on a member, or the array is
/// not online.
pub fn make_joined_bdev(asked: &JoinSpdk, tag: &RunTag) -> Result<()> {
    let mut rpc = Rpc::connect(&asked.rpc, LIMIT)?;
    let target = SpdkConnection::ask_target(&mut rpc, &asked.rpc)?;
    refuse_what_is_there(asked, &mut rpc, tag)?;
    for member in members(asked)? {
        member.create_file_bdev(&mut rpc, target.process)?;
    }
    refuse_what_is_found(asked, &mut rpc)?;
    if let Some(mib) = asked.mib {
        for at in 0..asked.members.len() {
            let split =
                json!({"base_bdev": asked.member(at), "split_count": 1, "split_size_mb": mib});
            rpc.call("bdev_split_create", split)?;
        }
    }
    make_array(asked, &mut rpc)?;
    make_volume(asked, &mut rpc)
}

fn members(asked: &JoinSpdk) -> Result<Vec<file::Bdev<'_>>> {
    let bdev = |(at, path)| file::Bdev {
        name: asked.member(at),
        path,
        kind: asked.kind(),
        read_only: asked.read_only,
    };
    Ok(asked.paths()?.into_iter().enumerate().map(bdev).collect())
}

/// Refuses if something of these names exists, or the target has a bdev of another run or person
/// over a member. This run has made nothing yet, so it is somebody else's.
fn refuse_what_is_there(asked: &JoinSpdk, rpc: &mut Rpc, tag: &RunTag) -> Result<()> {
    let there = existing_parts(asked, rpc)?;
    if !there.is_empty() {
        let why = anyhow!(
            "the SPDK target has {} already, which this run did not make",
            there.join(", ")
        );
        return Err(why.context(NothingMade));
    }
    let bdevs = Bdevs::look_up(rpc)?;
    let ours = format!("iotax-{}-", tag.run_id);
    for path in asked.paths()? {
        // Disks of guests of the same run may be beside it if all of them only read.
        if let Some(bdev) = bdevs.bdev_over(path).filter(|bdev| !bdev.starts_with(&ours)) {
            let path = path.display();
            let why = anyhow!(
                "{path} is the bdev {bdev} of the SPDK target at {} already; hint: another member, or take that bdev away",
                asked.rpc.display()
            );
            return Err(why.context(NothingMade));
        }
    }
    Ok(())
}

/// Refuses members on which the target found something. A target examines what it opens: leftover
/// superblocks become arrays and stores that hold the member.
fn refuse_what_is_found(asked: &JoinSpdk, rpc: &mut Rpc) -> Result<()> {
    rpc.call("bdev_wait_for_examine", Value::Null)?;
    let bdevs = Bdevs::look_up(rpc)?;
    for (at, path) in asked.paths()?.into_iter().enumerate() {
        if bdevs.find_bdev(&asked.member(at)).is_some_and(|bdev| bdev["claimed"] == true) {
            bail!(
                "the SPDK target has found partitions, an lvstore or a RAID superblock on {}, and holds it for them; hint: \
                 wipe what is left there (wipefs, or zero its first MiB) if nobody needs it",
                path.display()
            );
        }
    }
    Ok(())
}

fn make_array(asked: &JoinSpdk, rpc: &mut Rpc) -> Result<()> {
    let Some(raid) = &asked.raid else { return Ok(()) };
    let bases: Vec<String> = (0..asked.members.len()).map(|at| asked.base(at)).collect();
    let mut array = json!({"name": asked.joined_bdev(), "raid_level": raid.level, "base_bdevs": bases, "superblock": false});
    if let Some(kib) = raid.strip_kib {
        array["strip_size_kb"] = kib.into();
    }
    rpc.call("bdev_raid_create", array)?;
    // SPDK makes an array even if members are missing, and the array waits for them.
    match array_named(rpc, &asked.joined_bdev())? {
        Some(made) if made["state"] == "online" => Ok(()),
        Some(made) => {
            bail!("the array {} is {}, and not online", asked.joined_bdev(), made["state"])
        }
        None => bail!("the SPDK target shows no array {}", asked.joined_bdev()),
    }
}

fn make_volume(asked: &JoinSpdk, rpc: &mut Rpc) -> Result<()> {
    let Some(lvol) = &asked.lvol else { return Ok(()) };
    // Existing data is not cleared: that would discard or write it, and reads of it measure as well
    // as any.
    let store = json!({
        "bdev_name": asked.joined_bdev(), "lvs_name": asked.store(), "cluster_sz": lvol.cluster, "clear_method": "none",
    });
    rpc.call("bdev_lvol_create_lvstore", store)?;
    let volume = json!({
        "lvs_name": asked.store(), "lvol_name": asked.volume(), "size_in_mib": lvol.mib, "thin_provision": lvol.thin,
        "clear_method": "none",
    });
    rpc.call("bdev_lvol_create", volume).map(drop)?;
    Ok(())
}

fn array_named(rpc: &mut Rpc, name: &str) -> Result<Option<Value>> {
    let all = list_objects(rpc, "bdev_raid_get_bdevs", json!({"category": "all"}))?;
    Ok(all.into_iter().find(|array| array["name"] == name))
}

fn store_named(rpc: &mut Rpc, name: &str) -> Result<Option<Value>> {
    let all = list_objects(rpc, "bdev_lvol_get_lvstores", Value::Null)?;
    Ok(all.into_iter().find(|store| store["name"] == name))
}

/// Returns the names of all parts that exist. Asks for arrays, too: one that waits for its members
/// is not among the bdevs.
fn existing_parts(asked: &JoinSpdk, rpc: &mut Rpc) -> Result<Vec<String>> {
    let bdevs = Bdevs::look_up(rpc)?;
    let members = (0..asked.members.len()).flat_map(|at| [asked.member(at), asked.base(at)]);
    let mut there: Vec<String> = members.filter(|name| bdevs.find_bdev(name).is_some()).collect();
    there.dedup();
    if asked.raid.is_some() && array_named(rpc, &asked.joined_bdev())?.is_some() {
        there.push(asked.joined_bdev());
    }
    if asked.lvol.is_some() && store_named(rpc, &asked.store())?.is_some() {
        there.push(asked.store());
    }
    Ok(there)
}

/// Returns true if any part of it exists, or a store of that name is on the members.
///
/// # Errors
/// If the target does not answer, or a member cannot be read.
pub fn is_there(asked: &JoinSpdk) -> Result<bool> {
    let in_target = match running(&asked.rpc)? {
        Some(mut rpc) => !existing_parts(asked, &mut rpc)?.is_empty(),
        None => false,
    };
    Ok(in_target || has_store(asked)?)
}

/// Removes the volume, its store, the array and the members' bdevs, as far as they exist, and wipes
/// the superblocks of the store off the members.
///
/// # Errors
/// [`NotOurs`] if something of one of these names is over something else, or a member carries
/// another store or is in use. Fails too if the target refuses, or a member cannot be read or
/// written.
pub fn unmake_joined_bdev(asked: &JoinSpdk) -> Result<()> {
    if let Some(mut rpc) = running(&asked.rpc)? {
        let bdevs = Bdevs::look_up(&mut rpc)?;
        let members = members(asked)?;
        members.iter().try_for_each(|member| member.check_ours(&bdevs))?;
        unmake_volume(asked, &mut rpc, &bdevs)?;
        unmake_array(asked, &mut rpc)?;
        let bdevs = Bdevs::look_up(&mut rpc)?;
        for (at, member) in members.iter().enumerate() {
            if asked.mib.is_some() && bdevs.find_bdev(&asked.base(at)).is_some() {
                rpc.call("bdev_split_delete", json!({"base_bdev": asked.member(at)}))?;
            }
            member.delete_file_bdev(&mut rpc, &bdevs)?;
        }
    }
    wipe_store(asked)
}

fn unmake_volume(asked: &JoinSpdk, rpc: &mut Rpc, bdevs: &Bdevs) -> Result<()> {
    if asked.lvol.is_none() {
        return Ok(());
    }
    let Some(store) = store_named(rpc, &asked.store())? else { return Ok(()) };
    let below = store["base_bdev"].as_str().unwrap_or_default();
    if below != asked.joined_bdev() {
        let why = format!("the SPDK target's lvstore {} is on {below}: left alone", asked.store());
        return Err(NotOurs(why).into());
    }
    if bdevs.find_bdev(&asked.bdev()).is_some() {
        rpc.call("bdev_lvol_delete", json!({"name": asked.bdev()}))?;
    }
    rpc.call("bdev_lvol_delete_lvstore", json!({"lvs_name": asked.store()})).map(drop)?;
    Ok(())
}

fn unmake_array(asked: &JoinSpdk, rpc: &mut Rpc) -> Result<()> {
    if asked.raid.is_none() {
        return Ok(());
    }
    let Some(array) = array_named(rpc, &asked.joined_bdev())? else { return Ok(()) };
    let ours: Vec<String> = (0..asked.members.len()).map(|at| asked.base(at)).collect();
    let listed = array["base_bdevs_list"].as_array().into_iter().flatten();
    // A member that was removed from the array has no name there.
    let mut members = listed.filter_map(|member| member["name"].as_str());
    if let Some(other) = members.find(|name| ours.iter().all(|base| base != name)) {
        let why = format!(
            "the SPDK target's array {} has {other} in it: left alone",
            asked.joined_bdev()
        );
        return Err(NotOurs(why).into());
    }
    rpc.call("bdev_raid_delete", json!({"name": asked.joined_bdev()})).map(drop)?;
    Ok(())
}

/// Signs of a store at the start of a member.
struct StoreStart<'a> {
    path: &'a Path,
    begins: bool,
    /// True if it has the name of our store.
    ours: bool,
    other: Option<String>,
}

/// Reads the start of each member that can be opened, and returns it with the member's index. A
/// member that is gone carries nothing.
fn starts(asked: &JoinSpdk) -> Result<Vec<(usize, StoreStart<'_>)>> {
    let mut starts = Vec::new();
    for (at, path) in asked.paths()?.into_iter().enumerate() {
        let Ok(file) = File::open(path) else { continue };
        let start = start_of(&file).with_context(|| format!("cannot read {}", path.display()))?;
        let known = [asked.store(), asked.volume().to_owned()];
        let start = StoreStart {
            path,
            begins: start.starts_with(MAGIC),
            ours: contains(&start, asked.store().as_bytes()),
            other: names_in(&start).into_iter().find(|name| !known.contains(name)),
        };
        starts.push((at, start));
    }
    Ok(starts)
}

/// Returns true if each member has all of the store, and not just its strip or stretch of it.
fn is_whole_on_each(asked: &JoinSpdk) -> bool {
    asked.raid.as_ref().is_none_or(|raid| raid.level == "raid1")
}

/// Returns true if the members carry a store of ours, as they do after its target was killed.
fn has_store(asked: &JoinSpdk) -> Result<bool> {
    if asked.lvol.is_none() {
        return Ok(false);
    }
    let starts = starts(asked)?;
    Ok(match is_whole_on_each(asked) {
        true => starts.iter().any(|(_, start)| start.begins && start.ours),
        false => {
            starts.iter().any(|(_, start)| start.begins)
                && starts.iter().any(|(_, start)| start.ours)
        }
    })
}

/// Wipes the superblocks of our store off the members, if there are any: the target has wiped them
/// already if it deleted the store.
fn wipe_store(asked: &JoinSpdk) -> Result<()> {
    if !has_store(asked)? {
        return Ok(());
    }
    let starts = starts(asked)?;
    let carriers: Vec<&Path> = match is_whole_on_each(asked) {
        // Drives may have been exchanged since: each is ours only if it carries the superblock and
        // the name itself.
        true => starts
            .iter()
            .filter(|(_, start)| start.begins && start.ours)
            .map(|(_, s)| s.path)
            .collect(),
        false => {
            if let Some((_, start)) = starts.iter().find(|(at, start)| is_anothers(*at, start)) {
                let path = start.path.display();
                let of = start.other.as_deref().unwrap_or("without a name");
                let why = format!(
                    "{path} carries another lvstore ({of}): nothing of {} is wiped",
                    asked.store()
                );
                return Err(NotOurs(why).into());
            }
            starts.iter().filter(|(_, start)| start.begins).map(|(_, start)| start.path).collect()
        }
    };
    carriers.into_iter().try_for_each(|path| {
        wipe(path).with_context(|| {
            format!("cannot take the superblock of {} off {}", asked.store(), path.display())
        })
    })
}

/// Returns true if the start of a member shows that it is somebody else's. Where each member has a
/// strip or a stretch, only the first one has the superblock.
fn is_anothers(at: usize, start: &StoreStart) -> bool {
    start.other.is_some() || (start.begins && at > 0)
}

fn wipe(path: &Path) -> Result<()> {
    let is_device = std::fs::metadata(path)?.file_type().is_block_device();
    // A process that holds it exclusively by now uses what is on it.
    let _hold = is_device
        .then(|| claim_device(path).map_err(|error| NotOurs(format!("{error:#}: left alone"))))
        .transpose()?;
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    if start_of(&file)?.starts_with(MAGIC) {
        file.write_all_at(&[0; SUPERBLOCK], 0)?;
        file.sync_all()?;
    }
    Ok(())
}

/// Returns the names of stores and volumes: the values of attributes called `name`. Before each
/// attribute's name and value are the lengths of both, of two bytes each.
fn names_in(start: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"name";
    let value = |at: usize| {
        let lengths = start.get(at.checked_sub(4)?..at)?;
        let length = |at: usize| usize::from(u16::from_le_bytes([lengths[at], lengths[at + 1]]));
        let value = start.get(at + KEY.len()..)?.get(..length(2))?;
        let text = std::str::from_utf8(value.strip_suffix(&[0]).unwrap_or(value)).ok()?;
        (length(0) == KEY.len() && !text.is_empty()).then(|| text.to_owned())
    };
    let keys = start.windows(KEY.len()).enumerate().filter(|(_, window)| *window == KEY);
    keys.filter_map(|(at, _)| value(at)).collect()
}

fn start_of(file: &File) -> std::io::Result<Vec<u8>> {
    let mut start = vec![0; METADATA];
    let mut read = 0;
    while read < start.len() {
        match file.read_at(&mut start[read..], read as u64)? {
            0 => break,
            bytes => read += bytes,
        }
    }
    start.truncate(read);
    Ok(start)
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

pub fn split(asked: &SplitSpdk) -> Result<()> {
    let (socket, base) = asked.bdev.bdev()?;
    let mut rpc = Rpc::connect(socket, LIMIT)?;
    // The split uses the real name: an alias crashes the target (SPDK 26.09-pre).
    let bdevs = Bdevs::look_up(&mut rpc)?;
    let split = json!({"base_bdev": bdevs.real_name(base)?, "split_count": asked.parts, "split_size_mb": asked.mib});
    rpc.call("bdev_split_create", split).map(drop)?;
    Ok(())
}

/// Returns true if the bdev is split. A target that is gone has nothing.
///
/// # Errors
/// If the target is there and does not answer, or [`SplitSpdk::bdev`] is not a bdev.
pub fn is_split(asked: &SplitSpdk) -> Result<bool> {
    let (socket, base) = asked.bdev.bdev()?;
    let Some(mut rpc) = running(socket)? else { return Ok(false) };
    Ok(Bdevs::look_up(&mut rpc)?.find_bdev(&format!("{base}p0")).is_some())
}

pub fn unsplit(asked: &SplitSpdk) -> Result<()> {
    let (socket, base) = asked.bdev.bdev()?;
    let Some(mut rpc) = running(socket)? else { return Ok(()) };
    let bdevs = Bdevs::look_up(&mut rpc)?;
    if bdevs.find_bdev(&format!("{base}p0")).is_some() {
        rpc.call("bdev_split_delete", json!({"base_bdev": bdevs.real_name(base)?}))?;
    }
    Ok(())
}

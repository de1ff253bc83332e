//! Makes the disk of a guest in a target: a bdev over a file or device of this host, the part of it
//! that the guest is to have, and a vhost-user-blk controller. Over a bdev that a layer below has
//! made, it makes only the controller. Refuses to remove what is not ours.

use super::file;
use super::look::{Bdevs, controller, direct, running};
use super::rpc::{LIMIT, Rpc};
use super::target::SpdkConnection;

use crate::path_ref::PathRef;
use crate::refusal::NotOurs;
use crate::spdk::file::{SpdkKind, kind};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportSpdk {
    pub rpc: PathBuf,
    pub backing: PathRef,
    /// True for io_uring, false for libaio.
    pub uring: bool,
    /// True if the guest cannot write. The target then opens the backing only for reading.
    pub read_only: bool,
    /// Part of the backing that the guest gets; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<BdevPart>,
    /// CPU mask of the reactors that may serve the controller; `None` for the target's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpumask: Option<String>,
    /// Name of the controller, and of the bdev if it makes one.
    pub name: String,
}

/// One of the equal parts that a bdev is split into: its index, from 0, and its size in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BdevPart {
    pub at: u64,
    pub mib: u64,
}

impl ExportSpdk {
    pub fn kind(&self) -> &'static SpdkKind {
        kind(self.uring)
    }

    /// Returns the name of the bdev that the controller serves.
    pub fn bdev(&self) -> String {
        match (&self.backing, self.part) {
            (PathRef::Bdev { name, .. }, _) => name.clone(),
            (_, Some(part)) => format!("{}p{}", self.name, part.at),
            (_, None) => self.name.clone(),
        }
    }

    pub fn is_over_a_bdev(&self) -> bool {
        matches!(self.backing, PathRef::Bdev { .. })
    }
}

/// Makes the bdev (unless a layer below has made one), the guest's part of it and the controller.
/// Returns the socket that QEMU connects to.
///
/// # Errors
/// If the target is not there or refuses, it has opened another file than this host would or opened
/// it through the page cache, or its socket is not visible on this host.
pub fn export(asked: &ExportSpdk) -> Result<PathBuf> {
    let mut rpc = Rpc::connect(&asked.rpc, LIMIT)?;
    if let Some(of_file) = of_file(asked)? {
        let target = SpdkConnection::ask_target(&mut rpc, &asked.rpc)?;
        of_file.create_file_bdev(&mut rpc, target.process)?;
        if let Some(part) = asked.part {
            // A file has its marker after the data, and guests side by side have a part each.
            let split = json!({"base_bdev": asked.name, "split_count": part.at + 1, "split_size_mb": part.mib});
            rpc.call("bdev_split_create", split)?;
        }
    }
    let bdev = match asked.is_over_a_bdev() {
        true => Bdevs::look_up(&mut rpc)?.real_name(&asked.bdev())?.to_owned(),
        false => asked.bdev(),
    };
    rpc.call("vhost_create_blk_controller", controller_of(asked, &bdev))?;
    let made = controller(&mut rpc, &asked.name)?;
    let socket =
        made.with_context(|| format!("the SPDK target shows no controller {}", asked.name))?.socket;
    match socket.is_absolute() && socket.exists() {
        true => Ok(socket),
        false => bail!(
            "the SPDK target's socket {} is not to be seen on this host; hint: start the target with -S and a folder of this host",
            socket.display()
        ),
    }
}

/// Returns the bdev that is made for this disk, or `None` if the disk is over another layer's bdev.
fn of_file(asked: &ExportSpdk) -> Result<Option<file::Bdev<'_>>> {
    if asked.is_over_a_bdev() {
        return Ok(None);
    }
    let path = asked.backing.resolved_path()?;
    Ok(Some(file::Bdev {
        name: asked.name.clone(),
        path,
        kind: asked.kind(),
        read_only: asked.read_only,
    }))
}

fn controller_of(asked: &ExportSpdk, bdev: &str) -> Value {
    let mut controller = json!({"ctrlr": asked.name, "dev_name": bdev});
    if asked.read_only {
        controller["readonly"] = true.into();
    }
    if let Some(mask) = &asked.cpumask {
        controller["cpumask"] = mask.as_str().into();
    }
    controller
}

/// Returns `None` if neither the controller nor its bdev exists or the target is gone, else the
/// socket of the controller, if that exists.
///
/// # Errors
/// If the target is there and does not answer.
pub fn find_export(asked: &ExportSpdk) -> Result<Option<Option<PathBuf>>> {
    let Some(mut rpc) = running(&asked.rpc)? else { return Ok(None) };
    let controller = controller(&mut rpc, &asked.name)?;
    let there = controller.is_some() || Bdevs::look_up(&mut rpc)?.find_bdev(&asked.name).is_some();
    Ok(there.then(|| controller.map(|controller| controller.socket)))
}

/// Removes the controller, the part and the bdev, as far as they exist.
///
/// # Errors
/// [`NotOurs`] if the controller or the bdev of that name is over something else. Fails too if the
/// target refuses.
pub fn unexport(asked: &ExportSpdk) -> Result<()> {
    let Some(mut rpc) = running(&asked.rpc)? else { return Ok(()) };
    let (name, of_file) = (&asked.name, of_file(asked)?);
    let bdevs = Bdevs::look_up(&mut rpc)?;
    if let Some(of_file) = &of_file {
        of_file.check_ours(&bdevs)?;
    }
    if let Some(controller) = controller(&mut rpc, name)? {
        if let Some(other) = controller.bdev.filter(|bdev| !bdevs.are_one(bdev, &asked.bdev())) {
            let why = format!(
                "the SPDK target's controller {name} serves {other}, not {}: left alone",
                asked.bdev()
            );
            return Err(NotOurs(why).into());
        }
        rpc.call("vhost_delete_controller", json!({"ctrlr": name}))?;
    }
    let Some(of_file) = of_file else { return Ok(()) };
    if asked.part.is_some() && Bdevs::look_up(&mut rpc)?.find_bdev(&format!("{name}p0")).is_some() {
        rpc.call("bdev_split_delete", json!({"base_bdev": name}))?;
    }
    of_file.delete_file_bdev(&mut rpc, &bdevs)
}

/// Returns the settings of a guest's disk that the target reports, by names such as `read-only` and
/// `block-size`.
///
/// # Errors
/// If it does not answer, or no longer has such a disk.
pub fn read_back(socket: &Path, name: &str) -> Result<BTreeMap<String, String>> {
    let mut rpc = Rpc::connect(socket, LIMIT)?;
    let target = SpdkConnection::ask_target(&mut rpc, socket)?;
    let gone = || format!("the SPDK target at {} has no {name} any more", socket.display());
    let bdevs = Bdevs::look_up(&mut rpc)?;
    let controller = controller(&mut rpc, name)?.with_context(gone)?;
    let serves = controller.bdev.as_deref().with_context(gone)?;
    let bdev = bdevs.find_bdev(serves).with_context(gone)?;
    let on_off = |on: bool| if on { "on" } else { "off" }.to_owned();
    // For a part of a file, this shows the file's bdev: a reader wants to know what serves the
    // disk.
    let shown = bdevs.find_bdev(name).unwrap_or(bdev);
    let settings = [
        ("read-only", Some(on_off(controller.read_only))),
        ("cache.direct", all_direct(&bdevs.files_below(serves), target.process).map(on_off)),
        ("bdev", shown["product_name"].as_str().map(str::to_owned)),
        (
            "block-size",
            bdev["block_size"]
                .as_u64()
                .or(shown["block_size"].as_u64())
                .map(|bytes| bytes.to_string()),
        ),
        ("raid", raid(&bdevs, serves)),
        ("server", Some(target.facts.describe_target())),
    ];
    Ok(settings
        .into_iter()
        .filter_map(|(option, value)| Some((option.to_owned(), value?)))
        .collect())
}

/// Returns true if the process has each of the files open with O_DIRECT, and `None` if there are
/// none or that is not known of each.
fn all_direct(files: &[PathBuf], process: Option<u32>) -> Option<bool> {
    let each = files.iter().map(|path| direct(path, process).ok().flatten());
    each.collect::<Option<Vec<bool>>>()
        .filter(|all| !all.is_empty())
        .map(|all| all.into_iter().all(|one| one))
}

fn raid(bdevs: &Bdevs, name: &str) -> Option<String> {
    let raid = bdevs.array_below(name)?;
    let (level, members, there) =
        (&raid["raid_level"], &raid["num_base_bdevs"], &raid["num_base_bdevs_discovered"]);
    let degraded = if members == there { String::new() } else { format!(", {there} there") };
    Some(format!("{} of {members}, {}{degraded}", level.as_str()?, raid["state"].as_str()?))
}

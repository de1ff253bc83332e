//! A disk of a guest in a target: a bdev over a file or device of this host, the part of it that the guest is to have, and a
//! vhost-user-blk controller. Refuses a bdev that is over another file than was meant, and to take away what is not ours.

use super::rpc::{LIMIT, Rpc, RpcError};
use super::target::Target;
use crate::host::facts::logical_block_below;
use crate::step::op::ExportSpdk;
use crate::step::system::NotOurs;
use anyhow::{Context, Result, bail};
use rustix::fs::OFlags;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A controller as the target describes it.
struct Controller {
    socket: PathBuf,
    /// The target has none for it any more, when the bdev was removed under it.
    bdev: Option<String>,
    read_only: bool,
}

/// Makes all of it and gives the socket that QEMU connects to.
///
/// # Errors
/// When the target refuses a part, or has opened something else than this host would.
pub fn export(asked: &ExportSpdk) -> Result<PathBuf> {
    let mut rpc = Rpc::connect(&asked.rpc, LIMIT)?;
    let path = asked.backing.path()?;
    let target = Target::of(&mut rpc, &asked.rpc)?;
    rpc.call(asked.kind().create, bdev(asked, path)?)?;
    if let Some(direct) = direct(path, target.process)? {
        check_direct(path, direct)?;
    }
    if let Some(part) = asked.part {
        // A file has its marker behind the data, and guests side by side have a part each.
        let split = json!({"base_bdev": asked.name, "split_count": part.at + 1, "split_size_mb": part.mib});
        rpc.call("bdev_split_create", split)?;
    }
    rpc.call("vhost_create_blk_controller", controller_of(asked))?;
    let made = controller(&mut rpc, &asked.name)?;
    let socket = made.with_context(|| format!("the SPDK target shows no controller {}", asked.name))?.socket;
    match socket.is_absolute() && socket.exists() {
        true => Ok(socket),
        false => bail!(
            "the SPDK target's socket {} is not to be seen on this host; hint: start the target with -S and a folder of this host",
            socket.display()
        ),
    }
}

fn bdev(asked: &ExportSpdk, path: &Path) -> Result<Value> {
    let filename = path.to_str().context("a path that is not UTF-8")?;
    let mut bdev = json!({"name": asked.name, "filename": filename});
    // A device tells its own. Of a file direct I/O takes what the device below it takes.
    if !is_block(path)? {
        bdev["block_size"] = logical_block_below(path).into();
    }
    if asked.read_only {
        bdev["readonly"] = true.into();
    }
    Ok(bdev)
}

fn controller_of(asked: &ExportSpdk) -> Value {
    let mut controller = json!({"ctrlr": asked.name, "dev_name": asked.bdev()});
    if asked.read_only {
        controller["readonly"] = true.into();
    }
    if let Some(mask) = &asked.cpumask {
        controller["cpumask"] = mask.as_str().into();
    }
    controller
}

/// Where the controller of this name, or its bdev, is there: its socket, if it has come to one.
///
/// # Errors
/// When the target does not answer. One that is gone has nothing.
pub fn find(asked: &ExportSpdk) -> Result<Option<Option<PathBuf>>> {
    let Some(mut rpc) = running(&asked.rpc)? else { return Ok(None) };
    let controller = controller(&mut rpc, &asked.name)?;
    let there = controller.is_some() || described(&mut rpc, &asked.name)?.is_some();
    Ok(there.then(|| controller.map(|controller| controller.socket)))
}

/// Takes all parts away, in whatever state they are.
///
/// # Errors
/// [`NotOurs`] where something of that name is over another file; when the target refuses.
pub fn unexport(asked: &ExportSpdk) -> Result<()> {
    let Some(mut rpc) = running(&asked.rpc)? else { return Ok(()) };
    let (name, path) = (&asked.name, asked.backing.path()?);
    let bdev = described(&mut rpc, name)?;
    if let Some(other) = bdev.as_ref().and_then(filename).filter(|file| *file != path.as_os_str()) {
        let why = format!(
            "the SPDK target's bdev {name} is over {other} and not over {}: left alone",
            path.display()
        );
        return Err(NotOurs(why).into());
    }
    if let Some(controller) = controller(&mut rpc, name)? {
        if let Some(other) = controller.bdev.filter(|bdev| *bdev != asked.bdev()) {
            let why = format!(
                "the SPDK target's controller {name} serves {other}, not {}: left alone",
                asked.bdev()
            );
            return Err(NotOurs(why).into());
        }
        rpc.call("vhost_delete_controller", json!({"ctrlr": name}))?;
    }
    if bdev.is_none() {
        return Ok(());
    }
    if asked.part.is_some() && described(&mut rpc, &format!("{name}p0"))?.is_some() {
        rpc.call("bdev_split_delete", json!({"base_bdev": name}))?;
    }
    rpc.call(asked.kind().delete, json!({"name": name})).map(drop)?;
    Ok(())
}

/// What the target tells of the disk, by the names of settings.
///
/// # Errors
/// When it does not answer, or has no such disk any more.
pub fn read_back(socket: &Path, name: &str) -> Result<BTreeMap<String, String>> {
    let mut rpc = Rpc::connect(socket, LIMIT)?;
    let target = Target::of(&mut rpc, socket)?;
    let gone = || format!("the SPDK target behind {} has no {name} any more", socket.display());
    let bdev = described(&mut rpc, name)?.with_context(gone)?;
    let controller = controller(&mut rpc, name)?.with_context(gone)?;
    let on_off = |on: bool| if on { "on" } else { "off" }.to_owned();
    let path = filename(&bdev).map(PathBuf::from);
    let direct = path.and_then(|path| direct(&path, target.process).ok().flatten());
    let told = [
        ("read-only", Some(on_off(controller.read_only))),
        ("cache.direct", direct.map(on_off)),
        ("bdev", bdev["product_name"].as_str().map(str::to_owned)),
        ("block-size", bdev["block_size"].as_u64().map(|bytes| bytes.to_string())),
        ("server", Some(target.facts.said())),
    ];
    Ok(told.into_iter().filter_map(|(option, value)| Some((option.to_owned(), value?))).collect())
}

/// A connection, unless nobody listens any more: what was made went with the target.
fn running(socket: &Path) -> Result<Option<Rpc>> {
    match Rpc::connect(socket, LIMIT) {
        Err(RpcError::Absent { source, .. })
            if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
        {
            Ok(None)
        }
        other => Ok(Some(other?)),
    }
}

/// Of all, as to ask for one that is not there is an error that differs from SPDK to SPDK.
fn controller(rpc: &mut Rpc, name: &str) -> Result<Option<Controller>> {
    let all = rpc.call("vhost_get_controllers", Value::Null)?;
    let Some(found) = named(all, "ctrlr", name) else { return Ok(None) };
    let disk = &found["backend_specific"]["block"];
    Ok(Some(Controller {
        socket: found["socket"].as_str().context("a controller without a socket")?.into(),
        bdev: disk["bdev"].as_str().map(str::to_owned),
        read_only: disk["readonly"] == true,
    }))
}

fn described(rpc: &mut Rpc, name: &str) -> Result<Option<Value>> {
    Ok(named(rpc.call("bdev_get_bdevs", Value::Null)?, "name", name))
}

fn named(all: Value, key: &str, name: &str) -> Option<Value> {
    match all {
        Value::Array(all) => all.into_iter().find(|one| one[key] == name),
        _ => None,
    }
}

/// The file of a bdev of either kind.
fn filename(bdev: &Value) -> Option<&str> {
    let specific = &bdev["driver_specific"];
    specific["aio"]["filename"].as_str().or_else(|| specific["uring"]["filename"].as_str())
}

fn is_block(path: &Path) -> Result<bool> {
    let is = fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?;
    Ok(is.file_type().is_block_device())
}

/// Whether the process has that very file or device open with O_DIRECT; `None` where its files cannot be seen.
///
/// # Errors
/// When its files can be seen and that is not one of them: it has opened another one under the same name.
fn direct(path: &Path, process: Option<u32>) -> Result<Option<bool>> {
    let Some((pid, files)) =
        process.and_then(|pid| Some((pid, fs::read_dir(format!("/proc/{pid}/fd")).ok()?)))
    else {
        return Ok(None);
    };
    let wanted = identity(path).with_context(|| format!("cannot look at {}", path.display()))?;
    let mut ours =
        files.flatten().filter(|file| identity(&file.path()).is_ok_and(|it| it == wanted)).peekable();
    if ours.peek().is_none() {
        bail!(
            "the SPDK target (process {pid}) has another file open as {} than this host has there: it runs in a mount namespace of its own",
            path.display()
        );
    }
    // Another bdev of the target may be over it, too.
    Ok(ours.map(|file| is_direct(pid, &file.file_name().to_string_lossy())).max().flatten())
}

/// Device and inode of a file; of a device which one it is, under whatever node.
fn identity(path: &Path) -> std::io::Result<(bool, u64, u64)> {
    let is = fs::metadata(path)?;
    Ok(match is.file_type().is_block_device() {
        true => (true, is.rdev(), 0),
        false => (false, is.dev(), is.ino()),
    })
}

fn is_direct(pid: u32, descriptor: &str) -> Option<bool> {
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).ok()?;
    let octal = text.lines().find_map(|line| line.strip_prefix("flags:"))?.trim();
    let flags = u32::from_str_radix(octal, 8).ok()?;
    Some(flags & OFlags::DIRECT.bits() != 0)
}

/// SPDK goes through the page cache without a word where a file cannot be opened directly.
fn check_direct(path: &Path, direct: bool) -> Result<()> {
    match direct {
        true => Ok(()),
        false => bail!(
            "the SPDK target has opened {} through the page cache: its file system refuses O_DIRECT; hint: put the file on ext4 or xfs",
            path.display()
        ),
    }
}

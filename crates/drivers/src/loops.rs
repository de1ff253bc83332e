//! Attaches, finds and detaches loop devices. Ours are recognised by the inode of the file below,
//! which may have another name by now, and by their size limit.

use super::tool::tool;
use crate::refusal::NotOurs;
use crate::tool::run_tool;
use crate::wait::wait_until;
use anyhow::{Context, Result, bail};
use iotax_sys::loopdev;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    pub device: u64,
    pub inode: u64,
}

/// Marks by which a loop device of ours is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopOf<'a> {
    /// Path of the file or block device below, when it was attached.
    pub backing: &'a Path,
    /// Device and inode of the file, which stay when it is renamed. `None` in older journals: then
    /// its path counts.
    pub file: Option<FileId>,
    /// Size limit of the device, in bytes. Ours always have one. A person's rarely have, and must
    /// never be taken for ours.
    pub bytes: u64,
}

/// Attaches a free loop device and returns its path.
///
/// # Errors
/// If losetup fails, or `direct_io` is wanted and the file system below refuses it: then the device
/// is detached again.
pub fn attach(of: &LoopOf, direct_io: bool, read_only: bool) -> Result<PathBuf> {
    let mut command = tool("losetup", [""; 0]);
    command.arg("--find").arg("--show").arg("--sizelimit").arg(of.bytes.to_string());
    command.arg(format!("--direct-io={}", if direct_io { "on" } else { "off" }));
    if read_only {
        command.arg("--read-only");
    }
    let device = PathBuf::from(run_tool(command.arg(of.backing))?.trim());
    if direct_io && !loop_is_direct(&device) {
        let detached = detach(&device, &LoopOf { file: None, ..*of });
        let left = detached.err().map(|e| format!("; and {e:#}")).unwrap_or_default();
        bail!(
            "{} does not do direct I/O on {}: its file system refuses O_DIRECT{left}; \
             hint: put the file on ext4 or xfs, or say loop(direct-io=false)",
            device.display(),
            of.backing.display()
        );
    }
    Ok(device)
}

pub fn attached(of: &LoopOf) -> Result<Vec<PathBuf>> {
    Ok(loops()?.filter(|device| is_loop_of(device, of)).map(|device| dev_of(&device)).collect())
}

/// Detaches a loop device if it is still attached as `of` says. Does nothing if it is detached
/// already.
///
/// # Errors
/// [`NotOurs`] if it is attached to something else. Fails too if the path is not in /dev, losetup
/// fails, or the device is still in use after 10 s.
pub fn detach(device: &Path, of: &LoopOf) -> Result<()> {
    let name = device.file_name().filter(|_| device.parent() == Some(Path::new("/dev")));
    let name = name.with_context(|| format!("{} is no loop device", device.display()))?;
    let sysfs = Path::new("/sys/block").join(name);
    match loop_backing(&sysfs) {
        None => Ok(()),
        Some(_) if is_loop_of(&sysfs, of) => {
            run_tool(tool("losetup", ["--detach"]).arg(device))?;
            wait_until(Duration::from_secs(10), || loop_backing(&sysfs).is_none()).with_context(
                || format!("{} is still attached: something holds it", device.display()),
            )
        }
        Some(path) => Err(NotOurs(format!(
            "{} is now on {}, not on {} as it was made: not detached",
            device.display(),
            path.display(),
            of.backing.display()
        ))
        .into()),
    }
}

/// Finds a loop device on a file, whoever attached it. Returns `None` if there is none, or the
/// kernel's list of devices cannot be read.
pub fn any_on(file: &Path) -> Option<PathBuf> {
    let is_on = |device: &PathBuf| loop_backing(device).is_some_and(|of| same_path(&of, file));
    loops().into_iter().flatten().find(is_on).map(|device| dev_of(&device))
}

/// Returns true if both paths lead to the same file. The kernel shows the file of a loop device
/// with all links resolved, and a person may name it otherwise.
fn same_path(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn loops() -> Result<impl Iterator<Item = PathBuf>> {
    let entries = fs::read_dir("/sys/block").context("cannot read /sys/block")?;
    Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.join("loop").is_dir()))
}

fn dev_of(sysfs: &Path) -> PathBuf {
    Path::new("/dev").join(sysfs.file_name().unwrap_or_default())
}

/// Returns true if a loop device is attached as `of` says. A file that was removed or renamed since
/// is known by its inode.
fn is_loop_of(sysfs: &Path, of: &LoopOf) -> bool {
    let limit = fs::read_to_string(sysfs.join("loop/sizelimit")).unwrap_or_default();
    // Without a limit it is a person's.
    if of.bytes == 0 || limit.trim().parse() != Ok(of.bytes) {
        return false;
    }
    let Some(file) = of.file else {
        let Some(shown) = loop_backing(sysfs) else { return false };
        let removed =
            shown.to_str().and_then(|shown| shown.strip_suffix(" (deleted)")).map(Path::new);
        return same_path(&shown, of.backing) || removed == Some(of.backing);
    };
    let below = fs::File::open(dev_of(sysfs)).and_then(|device| loopdev::backing(&device));
    below.is_ok_and(|below| FileId { device: below.device, inode: below.inode } == file)
}

fn loop_backing(sysfs: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(sysfs.join("loop/backing_file")).ok()?;
    Some(PathBuf::from(text.trim_end_matches('\n')))
}

fn loop_is_direct(device: &Path) -> bool {
    let Some(name) = device.file_name() else { return false };
    let path = Path::new("/sys/block").join(name).join("loop/dio");
    fs::read_to_string(path).is_ok_and(|text| text.trim() == "1")
}

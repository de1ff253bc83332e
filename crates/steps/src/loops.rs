//! Loop devices as the kernel shows them, and by what ours are told from a person's: the file below, whatever its name is by now,
//! and how much of it is shown.

use anyhow::{Context, Result};
use iotax_sys::loopdev;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// A loop device to attach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopRequest<'a> {
    /// File or block device below.
    pub backing: &'a Path,
    /// Bytes of it that the loop device shows (our marker lies behind them).
    pub bytes: u64,
    /// Direct I/O to the backing file.
    pub direct_io: bool,
    /// No write passes.
    pub read_only: bool,
}

/// The identity of a file, which outlives its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

/// A loop device of ours, as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopOf<'a> {
    /// Path of the file or block device below, when it was attached.
    pub backing: &'a Path,
    /// Its identity, which outlives its name; older journals have none.
    pub file: Option<FileId>,
    /// Bytes of it that are shown. Ours are always attached with a limit; a person's rarely are, and must never be taken for ours.
    pub bytes: u64,
}

/// The kernel shows a loop's file with all links resolved; people name it as they like.
pub(super) fn same_path(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Loop devices, as folders of sysfs.
pub(super) fn loops() -> Result<impl Iterator<Item = PathBuf>> {
    let entries = fs::read_dir("/sys/block").context("cannot read /sys/block")?;
    Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.join("loop").is_dir()))
}

pub(super) fn dev_of(sysfs: &Path) -> PathBuf {
    Path::new("/dev").join(sysfs.file_name().unwrap_or_default())
}

/// Whether a loop device is attached like that. A file that was removed or renamed since is known by its inode.
pub(super) fn is_loop_of(sysfs: &Path, of: &LoopOf) -> bool {
    let limit = fs::read_to_string(sysfs.join("loop/sizelimit")).unwrap_or_default();
    // Without a limit it is a person's.
    if of.bytes == 0 || limit.trim().parse() != Ok(of.bytes) {
        return false;
    }
    let Some(file) = of.file else {
        let Some(shown) = loop_backing(sysfs) else { return false };
        let removed = shown.to_str().and_then(|shown| shown.strip_suffix(" (deleted)")).map(Path::new);
        return same_path(&shown, of.backing) || removed == Some(of.backing);
    };
    let below = fs::File::open(dev_of(sysfs)).and_then(|device| loopdev::backing(&device));
    below.is_ok_and(|below| FileId { device: below.device, inode: below.inode } == file)
}

pub(super) fn loop_backing(sysfs: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(sysfs.join("loop/backing_file")).ok()?;
    Some(PathBuf::from(text.trim_end_matches('\n')))
}

pub(super) fn loop_is_direct(device: &Path) -> bool {
    let Some(name) = device.file_name() else { return false };
    let path = Path::new("/sys/block").join(name).join("loop/dio");
    fs::read_to_string(path).is_ok_and(|text| text.trim() == "1")
}

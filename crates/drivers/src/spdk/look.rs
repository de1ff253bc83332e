//! Reads what a target has: bdevs with the files below them, controllers, and whether a file is
//! open there past the page cache. It changes nothing.

use super::rpc::{LIMIT, Rpc, RpcError};
use anyhow::{Context, Result, bail};
use rustix::fs::OFlags;
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Most layers of the target that are followed from a bdev to its files.
const DEEPEST: usize = 8;

pub struct Controller {
    pub socket: PathBuf,
    /// Bdev of the controller; `None` after the bdev was removed under it.
    pub bdev: Option<String>,
    pub read_only: bool,
}

/// Connects to a target, or returns `None` if nobody listens any more: what was made went with the
/// target.
///
/// # Errors
/// If the target is there and cannot be reached.
pub fn running(socket: &Path) -> Result<Option<Rpc>> {
    match Rpc::connect(socket, LIMIT) {
        Err(RpcError::Absent { source, .. })
            if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
        {
            Ok(None)
        }
        other => Ok(Some(other?)),
    }
}

/// Returns the controller of that name, if there is one. Lists all of them, since the error about
/// one that does not exist differs between SPDK versions.
///
/// # Errors
/// If the target does not answer, or reports the controller without a socket.
pub fn controller(rpc: &mut Rpc, name: &str) -> Result<Option<Controller>> {
    let all = list_objects(rpc, "vhost_get_controllers", Value::Null)?;
    let Some(found) = all.into_iter().find(|one| one["ctrlr"] == name) else { return Ok(None) };
    let disk = &found["backend_specific"]["block"];
    Ok(Some(Controller {
        socket: found["socket"].as_str().context("a controller without a socket")?.into(),
        bdev: disk["bdev"].as_str().map(str::to_owned),
        read_only: disk["readonly"] == true,
    }))
}

pub struct Bdevs(Vec<Value>);

impl Bdevs {
    pub fn look_up(rpc: &mut Rpc) -> Result<Bdevs> {
        Ok(Bdevs(list_objects(rpc, "bdev_get_bdevs", Value::Null)?))
    }

    /// Returns the bdev of this name or alias. `STORE/VOLUME` is only an alias of a logical volume;
    /// `STORE/VOLUMEp0` stands for a part of it, whose real name is another.
    pub fn find_bdev(&self, name: &str) -> Option<&Value> {
        let aliased = |bdev: &Value| {
            bdev["aliases"].as_array().is_some_and(|all| all.iter().any(|it| *it == name))
        };
        let found = self.0.iter().find(|bdev| bdev["name"] == name || aliased(bdev));
        found.or_else(|| self.part_named(name))
    }

    /// Returns the part that is called by an alias of the whole bdev, `p` and a number. Its real
    /// name has the real name of the whole in place of the alias.
    fn part_named(&self, name: &str) -> Option<&Value> {
        let (whole, number) =
            name.rsplit_once('p').filter(|(_, number)| number.parse::<u32>().is_ok())?;
        let real = format!("{}p{number}", self.find_bdev(whole)?["name"].as_str()?);
        self.0.iter().find(|bdev| bdev["name"] == real.as_str())
    }

    /// Returns the real name of a bdev, which is not an alias.
    ///
    /// # Errors
    /// If there is no such bdev.
    pub fn real_name(&self, name: &str) -> Result<&str> {
        let found = self.find_bdev(name).and_then(|bdev| bdev["name"].as_str());
        found.with_context(|| format!("the SPDK target has no bdev {name}"))
    }

    /// Returns true if both names refer to the same bdev.
    pub fn are_one(&self, one: &str, other: &str) -> bool {
        one == other
            || matches!((self.find_bdev(one), self.find_bdev(other)), (Some(a), Some(b)) if a["name"] == b["name"])
    }

    pub fn files_below(&self, name: &str) -> Vec<PathBuf> {
        self.files(name, DEEPEST)
    }

    /// Returns the name of the bdev that is over this very file or device.
    pub fn bdev_over(&self, path: &Path) -> Option<&str> {
        let wanted = identity(path).ok()?;
        let is_over = |bdev: &&Value| {
            filename(bdev)
                .is_some_and(|file| identity(Path::new(file)).is_ok_and(|it| it == wanted))
        };
        self.0.iter().find(is_over)?["name"].as_str()
    }

    /// Returns the target's description of the array that a bdev is or is on.
    pub fn array_below(&self, name: &str) -> Option<&Value> {
        self.array(name, DEEPEST)
    }

    fn array(&self, name: &str, deep: usize) -> Option<&Value> {
        let bdev = self.find_bdev(name).filter(|_| deep > 0)?;
        match &bdev["driver_specific"]["raid"] {
            Value::Null => bases(bdev).into_iter().find_map(|base| self.array(base, deep - 1)),
            raid => Some(raid),
        }
    }

    fn files(&self, name: &str, deep: usize) -> Vec<PathBuf> {
        let Some(bdev) = self.find_bdev(name).filter(|_| deep > 0) else { return Vec::new() };
        match filename(bdev) {
            Some(file) => vec![file.into()],
            None => bases(bdev).into_iter().flat_map(|base| self.files(base, deep - 1)).collect(),
        }
    }
}

/// Returns the names of the bdevs directly below a part, a volume or an array. Empty for others.
fn bases(bdev: &Value) -> Vec<&str> {
    let specific = &bdev["driver_specific"];
    let one = ["split", "lvol"].into_iter().filter_map(|kind| specific[kind]["base_bdev"].as_str());
    let members = specific["raid"]["base_bdevs_list"].as_array().into_iter().flatten();
    one.chain(members.filter_map(|member| member["name"].as_str())).collect()
}

/// Returns the path of the file or device below a bdev; `None` unless the bdev is one of libaio or
/// io_uring.
pub fn filename(bdev: &Value) -> Option<&str> {
    let specific = &bdev["driver_specific"];
    specific["aio"]["filename"].as_str().or_else(|| specific["uring"]["filename"].as_str())
}

/// Calls a method and returns the list that it reports; empty if the result is not a list.
///
/// # Errors
/// If the target refuses or does not answer.
pub fn list_objects(rpc: &mut Rpc, method: &str, params: Value) -> Result<Vec<Value>> {
    match rpc.call(method, params)? {
        Value::Array(all) => Ok(all),
        _ => Ok(Vec::new()),
    }
}

pub fn is_block(path: &Path) -> Result<bool> {
    let is = fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?;
    Ok(is.file_type().is_block_device())
}

/// Returns true if the process has that very file or device open with O_DIRECT, and `None` if its
/// files cannot be seen.
///
/// # Errors
/// If its files can be seen and that file is not one of them: the process has opened another one
/// under the same name.
pub fn direct(path: &Path, process: Option<u32>) -> Result<Option<bool>> {
    let Some((pid, files)) =
        process.and_then(|pid| Some((pid, fs::read_dir(format!("/proc/{pid}/fd")).ok()?)))
    else {
        return Ok(None);
    };
    let wanted = identity(path).with_context(|| format!("cannot look at {}", path.display()))?;
    let mut ours = files
        .flatten()
        .filter(|file| identity(&file.path()).is_ok_and(|it| it == wanted))
        .peekable();
    if ours.peek().is_none() {
        bail!(
            "the SPDK target (process {pid}) has another file open as {} than this host has there: it runs in a mount namespace of its own",
            path.display()
        );
    }
    // Another bdev of the target may be over the file, too.
    Ok(ours.map(|file| is_direct(pid, &file.file_name().to_string_lossy())).max().flatten())
}

/// Returns what identifies a file: false, its device and its inode. For a block device, which has
/// one number under every name: true, that number and 0.
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

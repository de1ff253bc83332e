//! Files that iotax made: `bytes` of data, which are measured, and after them a trailer of 4096
//! bytes with a [`Marker`]. A file without a valid marker is never written or removed.

use super::made_up;
use anyhow::{Context, Result};
use iotax_units::exit::Failed;
use iotax_units::shell;
use iotax_units::{GIB, MIB, show_bytes};
use rustix::fs::{AtFlags, CWD, FallocateFlags, FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Bytes of the trailer. The size of the data must be a multiple of it.
pub const TRAILER: u64 = 4096;
/// Divisor of a file system's size that gives the share kept free: one tenth.
pub const KEPT_FREE: u64 = 10;
const MAGIC: &[u8; 16] = b"iotax-owned-file";
const VERSION: u32 = 1;
const CRC_AT: usize = TRAILER as usize - 4;

/// Content of the trailer of a file that iotax made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    pub run_id: String,
    /// Inode at creation; a copy has a different one.
    pub inode: u64,
    /// Device number at creation. It is not compared, since it may change with a reboot.
    pub device: u64,
    /// Birth time in nanoseconds since 1970, if the file system has one. It exposes a copy on
    /// another file system that happens to get the same inode.
    pub born_ns: Option<u64>,
    /// Bytes of data before the trailer.
    pub bytes: u64,
    pub filled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    Removed,
    AlreadyGone,
    /// The file is not ours, or another run uses it; it was left alone. Holds the reason.
    Refused(String),
}

/// Creates a file of ours: fully allocated, mode 0600, with its marker written and synced, `filled`
/// not set.
///
/// # Errors
/// Something is at `path` already; the size is no positive multiple of 4 KiB; the run's id is empty
/// or too long; the folder is missing or on no drive; less than 10 % of the file system would stay
/// free; or it cannot allocate or write the file. No file is left, except if only the folder could
/// not be synced.
pub fn create_marked_file(path: &Path, bytes: u64, run_id: &str) -> Result<Marker> {
    check_size(path, bytes)?;
    check_run_id(run_id)?;
    refuse_existing(path)?;
    let parent = parent_of(path)?;
    check_space(path, &parent, &[bytes])?;
    let marker = match open_unnamed(&parent)? {
        Some(file) => {
            let marker = lay_out(&file, path, bytes, run_id)?;
            give_name(&file, path)?;
            marker
        }
        None => create_named(path, bytes, run_id)?,
    };
    sync_folder(&parent)?;
    Ok(marker)
}

/// Reads the marker of a file of ours. `None` if the file does not exist or is not ours (no valid
/// marker, another inode, birth time or size, a symbolic link, not a regular file).
///
/// # Errors
/// When the file cannot be opened or read.
pub fn read_marker(path: &Path) -> Result<Option<Marker>> {
    Ok(open_ours(path, false)?.map(|(_, marker)| marker))
}

/// Records in the marker whether the data region is filled.
///
/// # Errors
/// The file is not ours, or cannot be opened, read, written or synced.
pub fn set_filled(path: &Path, filled: bool) -> Result<()> {
    let (file, marker) = open_ours(path, true)?.ok_or_else(|| not_ours(path))?;
    write_trailer(&file, &Marker { filled, ..marker }, path)
}

/// Returns true for an error that means that nothing is at the path: no such name, a file in place
/// of a folder, or a name that no file can have.
pub fn means_absent(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let absent = [Errno::NOENT, Errno::NOTDIR, Errno::NAMETOOLONG];
    Errno::from_io_error(error).is_some_and(|errno| absent.contains(&errno))
}

/// Removes a file of ours that this run made, that has this inode, and that no run holds by
/// [`lock`]. Release your own lock first.
///
/// # Errors
/// When the file cannot be opened, locked or removed; that it is not ours, or that another run
/// works on it, is a [`Removal::Refused`].
pub fn remove_if_ours(path: &Path, inode: u64, run_id: &str) -> Result<Removal> {
    if let Err(error) = path.symlink_metadata() {
        return match means_absent(&error) {
            true => Ok(Removal::AlreadyGone),
            false => Err(error).with_context(|| format!("cannot look at {}", path.display())),
        };
    }
    let refused = |why: String| Ok(Removal::Refused(format!("{}: {why}", path.display())));
    let Some((file, marker)) = open_ours(path, false)? else {
        return Ok(Removal::Refused(format!("{} has no marker of iotax", path.display())));
    };
    if marker.inode != inode {
        return refused(format!("inode is {}, ours was {inode}", marker.inode));
    }
    if marker.run_id != run_id {
        return refused(format!("run {} made it, not run {run_id}", marker.run_id));
    }
    // Held until it is gone, so that no run takes it in between.
    if !lock(&file).with_context(|| format!("cannot lock {}", path.display()))? {
        return refused("it is in use by another run of iotax".into());
    }
    // A name cannot be removed by descriptor: look once more at what bears it, just before.
    match path.symlink_metadata() {
        Ok(meta) if meta.ino() == marker.inode => {}
        _ => {
            return Ok(Removal::Refused(format!("{} was replaced meanwhile", path.display())));
        }
    }
    std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    Ok(Removal::Removed)
}

/// Locks an open file of ours against other runs until it is closed. Returns false if another run
/// still has it locked after half a second.
///
/// # Errors
/// The kernel refuses for another reason.
pub fn lock(file: &File) -> std::io::Result<bool> {
    // A child being started elsewhere in this process holds a copy of a lock just given back, from
    // its fork to its exec.
    for _ in 0..50 {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// Opens a file of ours, and reads its marker; `None` if it does not exist or is not ours.
pub(super) fn open_ours(path: &Path, write: bool) -> Result<Option<(File, Marker)>> {
    let access = if write { OFlags::RDWR } else { OFlags::RDONLY };
    // NONBLOCK: a FIFO of that name must not make us wait for its writer.
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(
            rustix::io::Errno::NOENT
            | rustix::io::Errno::NOTDIR
            | rustix::io::Errno::NAMETOOLONG
            | rustix::io::Errno::LOOP
            | rustix::io::Errno::ISDIR
            | rustix::io::Errno::NXIO,
        ) => {
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(|| format!("cannot open {}", path.display())),
    };
    let meta = file.metadata().with_context(|| format!("cannot look at {}", path.display()))?;
    let marker =
        read_open(&file, &meta).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(marker.map(|marker| (file, marker)))
}

/// Reads the marker of an open file; `None` if there is no valid one, or it belongs to another
/// file.
fn read_open(file: &File, meta: &Metadata) -> std::io::Result<Option<Marker>> {
    if !meta.is_file() || meta.len() <= TRAILER {
        return Ok(None);
    }
    let mut trailer = [0; TRAILER as usize];
    file.read_exact_at(&mut trailer, meta.len() - TRAILER)?;
    Ok(decode(&trailer).filter(|marker| is_of(marker, meta)))
}

fn is_of(marker: &Marker, meta: &Metadata) -> bool {
    let born = born_ns(meta);
    let same_birth = marker.born_ns.is_none() || born.is_none() || marker.born_ns == born;
    marker.inode == meta.ino() && meta.len() == marker.bytes + TRAILER && same_birth
}

fn encode(marker: &Marker) -> [u8; TRAILER as usize] {
    let mut fields = Vec::with_capacity(160);
    fields.extend(MAGIC);
    fields.extend(VERSION.to_le_bytes());
    fields.extend(u32::from(marker.filled).to_le_bytes());
    for number in [marker.bytes, marker.inode, marker.device, marker.born_ns.unwrap_or(0)] {
        fields.extend(number.to_le_bytes());
    }
    fields.push(marker.run_id.len() as u8);
    fields.extend(marker.run_id.as_bytes());
    let mut trailer = [0; TRAILER as usize];
    trailer[..fields.len()].copy_from_slice(&fields);
    let crc = crc32fast::hash(&trailer[..CRC_AT]);
    trailer[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
    trailer
}

fn decode(trailer: &[u8; TRAILER as usize]) -> Option<Marker> {
    let word = |at: usize| trailer[at..at + 4].try_into().map(u32::from_le_bytes).ok();
    let long = |at: usize| trailer[at..at + 8].try_into().map(u64::from_le_bytes).ok();
    let whole = trailer.starts_with(MAGIC)
        && word(16)? == VERSION
        && word(CRC_AT)? == crc32fast::hash(&trailer[..CRC_AT]);
    if !whole {
        return None;
    }
    let name = trailer.get(57..57 + usize::from(trailer[56]))?;
    Some(Marker {
        run_id: String::from_utf8(name.to_vec()).ok()?,
        inode: long(32)?,
        device: long(40)?,
        born_ns: Some(long(48)?).filter(|ns| *ns != 0),
        bytes: long(24)?,
        filled: word(20)? == 1,
    })
}

/// Encodes the trailer with this marker, for a file that is made on another machine.
pub fn trailer(marker: &Marker) -> [u8; TRAILER as usize] {
    encode(marker)
}

/// Decodes the trailer of a file on another machine that is `length` bytes long. `None` if it has
/// no valid marker. The caller must compare the inode.
pub fn of_trailer(trailer: &[u8], length: u64) -> Option<Marker> {
    decode(trailer.try_into().ok()?).filter(|marker| length == marker.bytes + TRAILER)
}

fn born_ns(meta: &Metadata) -> Option<u64> {
    let since = meta.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok().filter(|ns| *ns != 0)
}

fn check_size(path: &Path, bytes: u64) -> Result<()> {
    if bytes == 0 || bytes % TRAILER != 0 || bytes > i64::MAX as u64 - TRAILER {
        return Err(Failed::input(format!(
            "cannot create {}: its size of {bytes} bytes is not a positive multiple of 4 KiB; \
             hint: size=1GiB",
            path.display()
        ))
        .into());
    }
    Ok(())
}

fn check_run_id(run_id: &str) -> Result<()> {
    if run_id.is_empty() || run_id.len() > 128 {
        return Err(Failed::input(format!("run id \"{run_id}\" is not of 1 to 128 bytes")).into());
    }
    Ok(())
}

fn refuse_existing(path: &Path) -> Result<()> {
    let Ok(meta) = path.symlink_metadata() else {
        return Ok(());
    };
    let what = if meta.is_symlink() {
        "is a symbolic link; hint: name the file itself".to_owned()
    } else {
        match read_marker(path) {
            Ok(Some(marker)) => format!(
                "exists already, made by iotax run {} with {}; hint: it can be reused at that size, or remove it",
                marker.run_id,
                show_bytes(marker.bytes)
            ),
            _ => "exists already and is not a file of iotax, so it is never written; hint: name another path"
                .to_owned(),
        }
    };
    Err(Failed::input(format!("cannot create {}: it {what}", path.display())).into())
}

/// Returns the folder of a path. Refuses a folder that does not exist or is on no drive.
fn parent_of(path: &Path) -> Result<PathBuf> {
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => {
            return Err(Failed::input(format!("{} does not name a file", path.display())).into());
        }
    };
    if !parent.is_dir() {
        return Err(Failed::input(format!(
            "cannot create {}: folder {} does not exist; hint: mkdir -p {}",
            path.display(),
            parent.display(),
            shell::path(parent)
        ))
        .into());
    }
    if let Some(kind) = made_up::file_system(parent) {
        return Err(Failed::input(format!(
            "cannot create {}: the kernel makes up what is in {} ({kind}); hint: name a folder on a drive",
            path.display(),
            parent.display()
        ))
        .into());
    }
    Ok(parent.to_owned())
}

/// Checks that a file with `bytes` bytes of data can be made at `path`: the size is a positive
/// multiple of 4 KiB, the folder exists, and a tenth of the file system stays free. Does not check
/// whether `path` is taken.
///
/// # Errors
/// What is in the way, and what would do.
pub fn check_room(path: &Path, bytes: u64) -> Result<()> {
    check_size(path, bytes)?;
    check_space(path, &parent_of(path)?, &[bytes])
}

/// Checks that there is room for all files of a run together, since those on one file system share
/// it. `files` has the path and the bytes of data of each.
///
/// # Errors
/// As [`check_room`], except for the sizes.
pub fn check_room_of_all(files: &[(PathBuf, u64)]) -> Result<()> {
    let mut by_file_system: BTreeMap<u64, (&Path, PathBuf, Vec<u64>)> = BTreeMap::new();
    for (path, bytes) in files {
        let parent = parent_of(path)?;
        let meta =
            parent.metadata().with_context(|| format!("cannot look at {}", parent.display()))?;
        by_file_system.entry(meta.dev()).or_insert((path, parent, Vec::new())).2.push(*bytes);
    }
    by_file_system.values().try_for_each(|(path, parent, sizes)| check_space(path, parent, sizes))
}

/// Checks that files with these bytes of data fit into `parent`, with a tenth of its file system
/// left free. `path` is the first of them.
fn check_space(path: &Path, parent: &Path, sizes: &[u64]) -> Result<()> {
    let wanted: u64 =
        sizes.iter().map(|bytes| bytes.saturating_add(TRAILER)).fold(0, u64::saturating_add);
    let stat = rustix::fs::statvfs(parent)
        .with_context(|| format!("cannot ask for room in {}", parent.display()))?;
    let total = stat.f_blocks.saturating_mul(stat.f_frsize);
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if total == 0 {
        return Err(Failed::need(format!(
            "cannot create {}: the file system of {} does not report its size, so 10 % of it cannot be kept free; \
             hint: use a folder on a disk",
            path.display(),
            parent.display()
        ))
        .into());
    }
    let usable = free.saturating_sub(total / KEPT_FREE);
    if wanted > usable {
        return Err(Failed::need(format!(
            "cannot create {}{} of {}: {} of {} are free and 10 % stay free; hint: size={} at most, or another folder",
            path.display(),
            if sizes.len() > 1 { format!(" and {} more, together", sizes.len() - 1) } else { String::new() },
            show_bytes(wanted - TRAILER * sizes.len() as u64),
            show_bytes(free),
            show_bytes(total),
            typed_size((usable / sizes.len().max(1) as u64).saturating_sub(TRAILER)),
        ))
        .into());
    }
    Ok(())
}

/// Rounds a size down to one that is easy to type: whole GiB, or whole MiB below one GiB.
fn typed_size(bytes: u64) -> String {
    match bytes {
        GIB.. => format!("{}GiB", bytes / GIB),
        _ => format!("{}MiB", bytes / MIB),
    }
}

/// Opens a file without a name, so that a kill leaves nothing. `None` if the file system does not
/// support that.
fn open_unnamed(parent: &Path) -> Result<Option<File>> {
    use rustix::io::Errno;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(parent, flags, Mode::RUSR | Mode::WUSR) {
        Ok(fd) => Ok(Some(File::from(fd))),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => Ok(None),
        Err(error) => {
            Err(Failed::input(format!("cannot write to folder {}: {error}", parent.display()))
                .into())
        }
    }
}

/// Gives an unnamed file its name. Fails if the name is taken, as O_EXCL does.
fn give_name(file: &File, path: &Path) -> Result<()> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    match rustix::fs::linkat(CWD, unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(()),
        // The other file may be gone by now: then this one still has no name.
        Err(rustix::io::Errno::EXIST) => refuse_existing(path).and_then(|()| Err(not_ours(path))),
        Err(error) => Err(error).with_context(|| format!("cannot create {}", path.display())),
    }
}

fn create_named(path: &Path, bytes: u64, run_id: &str) -> Result<Marker> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(fd) => File::from(fd),
        Err(rustix::io::Errno::EXIST) => {
            return refuse_existing(path).and_then(|()| Err(not_ours(path)));
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot create {}", path.display()));
        }
    };
    lay_out(&file, path, bytes, run_id).inspect_err(|_| {
        // O_EXCL: the name is ours since a moment ago.
        let _ = std::fs::remove_file(path);
    })
}

/// Allocates the file in full and writes its marker.
fn lay_out(file: &File, path: &Path, bytes: u64, run_id: &str) -> Result<Marker> {
    rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes + TRAILER)
        .map_err(|error| allocate_error(path, error))?;
    let meta = file.metadata().with_context(|| format!("cannot look at {}", path.display()))?;
    let marker = Marker {
        run_id: run_id.to_owned(),
        inode: meta.ino(),
        device: meta.dev(),
        born_ns: born_ns(&meta),
        bytes,
        filled: false,
    };
    write_trailer(file, &marker, path)?;
    Ok(marker)
}

fn allocate_error(path: &Path, error: rustix::io::Errno) -> anyhow::Error {
    use rustix::io::Errno;
    let cause = match error {
        Errno::OPNOTSUPP => {
            "the file system cannot allocate in advance; hint: use ext4, xfs, btrfs or tmpfs".into()
        }
        Errno::NOSPC => "the file system is full; hint: a smaller size=, or another folder".into(),
        Errno::DQUOT => "the quota is used up; hint: a smaller size=, or another folder".into(),
        Errno::FBIG => {
            "larger than the file system or the file size limit allows; hint: a smaller size="
                .into()
        }
        other => format!("cannot allocate: {other}"),
    };
    Failed::need(format!("cannot create {}: {cause}", path.display())).into()
}

fn write_trailer(file: &File, marker: &Marker, path: &Path) -> Result<()> {
    file.write_all_at(&encode(marker), marker.bytes)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("cannot write the marker of {}", path.display()))
}

fn sync_folder(parent: &Path) -> Result<()> {
    File::open(parent)
        .and_then(|folder| folder.sync_all())
        .with_context(|| format!("cannot sync folder {}", parent.display()))
}

pub(super) fn not_ours(path: &Path) -> anyhow::Error {
    Failed::input(format!(
        "{} is not a file of iotax (no valid marker), so it is never written; hint: name a path that does not exist",
        path.display()
    ))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("temporary folder")
    }

    #[test]
    fn a_file_is_made_read_marked_and_removed() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder();
        let path = folder.path().join("x.img");
        let marker = create_marked_file(&path, MIB, "run-1").expect("create");
        let meta = path.metadata().expect("metadata");
        assert_eq!((meta.len(), meta.permissions().mode() & 0o777), (MIB + TRAILER, 0o600));
        assert!(meta.blocks() * 512 >= MIB, "allocated in full");
        assert_eq!(read_marker(&path).expect("read"), Some(marker.clone()));
        set_filled(&path, true).expect("set filled");
        assert!(read_marker(&path).expect("read").expect("ours").filled);
        assert_eq!(remove_if_ours(&path, marker.inode, "run-1").expect("remove"), Removal::Removed);
        assert_eq!(
            remove_if_ours(&path, marker.inode, "run-1").expect("remove"),
            Removal::AlreadyGone
        );
    }

    #[test]
    fn what_exists_is_never_created_over() {
        let folder = folder();
        let (theirs, ours, link) =
            (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
        std::fs::write(&theirs, "precious").expect("write");
        create_marked_file(&ours, MIB, "run-1").expect("create");
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &link).expect("link");
        let error = |path: &Path| create_marked_file(path, MIB, "run-2").unwrap_err().to_string();
        assert!(error(&theirs).contains("not a file of iotax"), "{}", error(&theirs));
        assert!(error(&ours).contains("made by iotax run run-1"), "{}", error(&ours));
        assert!(error(&link).contains("symbolic link"), "{}", error(&link));
        assert_eq!(std::fs::read(&theirs).expect("read"), b"precious");
        assert!(!folder.path().join("nowhere").exists());
    }

    #[test]
    fn anothers_file_is_never_removed() {
        let folder = folder();
        let (theirs, ours) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&theirs, vec![7; 8192]).expect("write");
        let inode = theirs.metadata().expect("metadata").ino();
        assert!(matches!(
            remove_if_ours(&theirs, inode, "run-1").expect("look"),
            Removal::Refused(_)
        ));
        let marker = create_marked_file(&ours, MIB, "run-1").expect("create");
        assert!(matches!(
            remove_if_ours(&ours, marker.inode + 1, "run-1").expect("look"),
            Removal::Refused(_)
        ));
        assert!(theirs.exists() && ours.exists());
        assert_eq!(remove_if_ours(&ours, marker.inode, "run-1").expect("remove"), Removal::Removed);
    }

    #[test]
    fn a_file_that_another_run_works_on_is_not_removed() {
        let folder = folder();
        let path = folder.path().join("x.img");
        let marker = create_marked_file(&path, MIB, "run-1").expect("create");
        // Another open file description, as another process has.
        let theirs = File::open(&path).expect("open");
        assert!(lock(&theirs).expect("lock"));
        let refused = remove_if_ours(&path, marker.inode, "run-1").expect("look");
        assert!(
            matches!(&refused, Removal::Refused(why) if why.contains("in use by another run")),
            "{refused:?}"
        );
        assert_eq!(read_marker(&path).expect("read"), Some(marker.clone()));
        drop(theirs);
        assert_eq!(remove_if_ours(&path, marker.inode, "run-1").expect("remove"), Removal::Removed);
    }

    #[test]
    fn a_copy_a_grown_file_a_link_and_a_fifo_are_not_ours() {
        let folder = folder();
        let (ours, copy, link) =
            (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
        create_marked_file(&ours, MIB, "run-1").expect("create");
        std::fs::copy(&ours, &copy).expect("copy");
        std::os::unix::fs::symlink(&ours, &link).expect("link");
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR, 0).expect("fifo");
        for path in [&copy, &link, &fifo, &folder.path().to_owned(), &folder.path().join("none")] {
            assert_eq!(read_marker(path).expect("read"), None, "{}", path.display());
            assert!(set_filled(path, true).is_err(), "{}", path.display());
        }
        File::options().write(true).open(&ours).expect("open").set_len(2 * MIB).expect("grow");
        assert_eq!(read_marker(&ours).expect("read"), None);
    }

    #[test]
    fn size_folder_and_room_are_checked() {
        let folder = folder();
        let error = |path: &Path, bytes| create_marked_file(path, bytes, "run-1").unwrap_err();
        let path = folder.path().join("x");
        assert!(error(&path, 1000).to_string().contains("multiple of 4 KiB"));
        assert!(error(&folder.path().join("no/x"), MIB).to_string().contains("hint: mkdir -p"));
        let full = error(&path, 1 << 50);
        assert!(full.to_string().contains("10 % stay free"), "{full}");
        assert_eq!(iotax_units::exit::code_of(&full), iotax_units::exit::UNMET_NEED);
        assert!(!path.exists());
    }

    #[test]
    fn a_full_file_system_leaves_nothing_behind() {
        let Some(mount) = crate::guard::rig::Tmpfs::with_size(8 * MIB) else {
            return;
        };
        let path = mount.path().join("x");
        let error = create_marked_file(&path, 8 * MIB, "run-1").unwrap_err();
        assert!(error.to_string().contains("stay free"), "{error}");
        // Room for the check, none for the allocation: the check is not the only line of defence.
        let file = open_unnamed(mount.path()).expect("open").expect("tmpfs has unnamed files");
        let error = lay_out(&file, &path, 16 * MIB, "run-1").unwrap_err();
        assert!(error.to_string().contains("full"), "{error}");
        assert!(create_named(&path, 16 * MIB, "run-1").is_err());
        assert_eq!(std::fs::read_dir(mount.path()).expect("list").count(), 0);
    }

    proptest! {
        #[test]
        fn a_trailer_reads_back_and_any_flipped_bit_spoils_it(
            run_id in "[a-z0-9-]{1,128}", inode: u64, bytes: u64, filled: bool, at in 0usize..4096, bit in 0u8..8
        ) {
            let marker = Marker { run_id, inode, device: 5, born_ns: Some(7), bytes, filled };
            let mut trailer = encode(&marker);
            prop_assert_eq!(decode(&trailer), Some(marker));
            trailer[at] ^= 1 << bit;
            prop_assert_eq!(decode(&trailer), None);
        }
    }
}

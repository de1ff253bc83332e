//! Looks at a file or a block device and reports what it is, who uses it and what is on it. Only
//! reads. Also reports what could not be looked at, so that the judge can refuse because of it.

use super::found::{
    DATA, Finding, InspectedKind, Inspection, InspectionCheck, Signature, TargetUse, UncheckedPoint,
};
use super::marker;
use super::{kernel_users, made_up, mounts, openers, sample, signature};
use crate::block::{self, BlockNode, Identity};
use crate::probe::{GuestProbe, Probe};
use anyhow::{Context, Result};
use iotax_units::exit;
use rustix::fs::{Mode, OFlags};
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// Amount of content that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Signatures only: a few reads.
    Quick,
    /// Also 1,000 random blocks and both ends; required before a device may be written.
    Full,
}

/// Inspects a target on this machine in full.
///
/// # Errors
/// When there is nothing at the path, or it cannot be looked at.
pub fn inspect(path: &Path) -> Result<Inspection> {
    inspect_as(path, Depth::Full)
}

/// Inspects a target on this machine to the given depth.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_as(path: &Path, depth: Depth) -> Result<Inspection> {
    let probe = Probe::this_machine(Path::new("/"), GuestProbe::NOT_ASKED);
    let link = path.symlink_metadata().map_err(|error| not_there(path, &error))?;
    let meta = path.metadata().map_err(|error| not_there(path, &error))?;
    let mut found = Inspection { symlink: link.is_symlink(), ..Inspection::blank_at(path) };
    if let Some(kind) = made_up::file_system(path) {
        found.kind = InspectedKind::Other(format!("a file that the kernel makes up ({kind})"));
    } else if meta.file_type().is_block_device() {
        inspect_device(&probe, &mut found, meta.rdev(), depth)?;
    } else if meta.is_file() {
        inspect_file(&probe, &mut found, &meta)?;
    } else {
        found.kind = InspectedKind::Other(other_kind(&meta).to_owned());
    }
    Ok(found)
}

/// Returns the identity of a block device, or of anything else (its inode), without inspecting it.
///
/// # Errors
/// As [`inspect`].
pub fn identity_of(path: &Path) -> Result<Identity> {
    let meta = path.metadata().map_err(|error| not_there(path, &error))?;
    if !meta.file_type().is_block_device() {
        return Ok(Identity { inode: Some(meta.ino()), ..Identity::default() });
    }
    let probe = Probe::of_files(Path::new("/"));
    let node = block::node_by_number(&probe, meta.rdev());
    let node = node.with_context(|| format!("cannot find {} in /sys/dev/block", path.display()))?;
    Ok(block::identity(&probe, &node))
}

fn not_there(path: &Path, error: &std::io::Error) -> anyhow::Error {
    exit::of_io(format!("cannot inspect {}", path.display()), error).into()
}

impl InspectionCheck {
    /// Returns the word by which a consent waives this check: `open` of `unseen=open`.
    pub fn unseen_word(self) -> &'static str {
        match self {
            InspectionCheck::Mounts => "mounts",
            InspectionCheck::Open => "open",
            InspectionCheck::Exclusive => "exclusive",
            InspectionCheck::Content => "content",
            InspectionCheck::Reservation => "reservation",
        }
    }
}

fn other_kind(meta: &Metadata) -> &'static str {
    let kind = meta.file_type();
    match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_char_device() => "a character device",
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_socket() => "a socket",
        () => "something else",
    }
}

fn inspect_device(probe: &Probe, found: &mut Inspection, rdev: u64, depth: Depth) -> Result<()> {
    let node = block::node_by_number(probe, rdev)
        .with_context(|| format!("cannot find {} in /sys/dev/block", found.path.display()))?;
    found.kind = node.parent.clone().map_or(InspectedKind::Disk, InspectedKind::Partition);
    found.bytes = node.bytes;
    found.read_only = node.read_only;
    found.identity = block::identity(probe, &node);
    let target = openers::OpenTarget::Device(block::numbers_in_question(probe, &node));
    find_users(probe, found, &target);
    found.occupied.extend(kernel_users::of_device(probe, &node, found.identity.wwn.as_deref()));
    check_exclusive(found);
    read_content(probe, found, &node, depth);
    found.unchecked.push(UncheckedPoint {
        check: InspectionCheck::Reservation,
        why: "persistent reservations are not read; the drive itself enforces them".into(),
    });
    Ok(())
}

fn inspect_file(probe: &Probe, found: &mut Inspection, meta: &Metadata) -> Result<()> {
    found.identity.inode = Some(meta.ino());
    found.bytes = meta.len();
    found.marker = marker::read_marker(&found.path)?;
    if let Some(marker) = &found.marker {
        found.bytes = marker.bytes;
    }
    let target = openers::OpenTarget::File { device: meta.dev(), inode: meta.ino() };
    find_users(probe, found, &target);
    found.occupied.extend(kernel_users::of_file(probe, &found.path, meta));
    match File::open(&found.path) {
        Ok(file) => {
            check_sole_opener(found, &file);
            // What a file of ours carries (a file system of a run before) is ours to overwrite.
            if found.marker.is_none() {
                let (signatures, trouble) = signature::scan(&file, 0, found.bytes, 512, "");
                found.signatures = signatures;
                found.unchecked.extend(
                    trouble.map(|why| UncheckedPoint { check: InspectionCheck::Content, why }),
                );
            }
        }
        Err(error) => found.unchecked.push(UncheckedPoint {
            check: InspectionCheck::Content,
            why: format!("cannot be opened: {error}"),
        }),
    }
    Ok(())
}

fn find_users(probe: &Probe, found: &mut Inspection, target: &openers::OpenTarget) {
    if let openers::OpenTarget::Device(numbers) = target {
        let (mounted, blind) = mounts::of_devices(probe, numbers);
        found.occupied.extend(mounted);
        found
            .unchecked
            .extend(blind.map(|why| UncheckedPoint { check: InspectionCheck::Mounts, why }));
    }
    found.occupied.extend(kernel_users::swap(probe, target));
    let (open, blind) = openers::find_openers(probe, target);
    found.occupied.extend(open);
    found.unchecked.extend(blind.map(|why| UncheckedPoint { check: InspectionCheck::Open, why }));
}

/// Records if the device cannot be opened with O_EXCL: if the kernel has given it to a mount in any
/// namespace, to swap, md, device-mapper, bcache, LIO, btrfs or ZFS, or for another error.
fn check_exclusive(found: &mut Inspection) {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(&found.path, flags, Mode::empty()) {
        Ok(_) => {}
        Err(rustix::io::Errno::BUSY) => found.occupied.push(Finding {
            kind: TargetUse::Exclusive,
            text:
                "held exclusively by the kernel (an exclusive open says: device or resource busy)"
                    .into(),
        }),
        Err(error) => found.unchecked.push(UncheckedPoint {
            check: InspectionCheck::Exclusive,
            why: format!("it cannot be opened exclusively: {error}"),
        }),
    }
}

/// Returns true if no other opener of the file stands in the way of a lease. Asks again for 3 s if
/// one does that no other check has found: the kernel releases an io_uring's registered file some
/// time after its process has ended, so a run right after another would be refused.
fn sole_opener_soon(found: &Inspection, file: &File) -> std::io::Result<bool> {
    const LETTING_GO: Duration = Duration::from_secs(3);
    let start = Instant::now();
    loop {
        match iotax_sys::lease::sole_opener(file) {
            Ok(false) if found.occupied.is_empty() && start.elapsed() < LETTING_GO => {
                std::thread::sleep(Duration::from_millis(50));
            }
            other => return other,
        }
    }
}

/// Records an opener inside the kernel, which no /proc/PID/fd shows, but which makes the kernel
/// refuse a lease. A granted lease shows that no process writes the file, so it also removes the
/// note on processes that could not be examined.
fn check_sole_opener(found: &mut Inspection, file: &File) {
    match sole_opener_soon(found, file) {
        Ok(true) => found.unchecked.retain(|blind| blind.check != InspectionCheck::Open),
        // With a use already found (a loop, a process), this would only report the same opener
        // twice.
        Ok(false) if found.occupied.is_empty() => found.occupied.push(Finding {
            kind: TargetUse::Open,
            text: "open for writing by somebody that /proc does not show (the kernel, or another user's process)".into(),
        }),
        // There are no leases on this file system, or the file is another's: /proc alone has to do.
        Ok(false) | Err(_) => {}
    }
}

fn read_content(probe: &Probe, found: &mut Inspection, node: &BlockNode, depth: Depth) {
    let blind = |why: String| UncheckedPoint { check: InspectionCheck::Content, why };
    let file = match File::open(&found.path) {
        Ok(file) => file,
        Err(error) => {
            return found.unchecked.push(blind(format!("it cannot be opened: {error}")));
        }
    };
    let (signatures, trouble) = signature::scan(&file, 0, node.bytes, node.logical_block_bytes, "");
    found.signatures = signatures;
    found.unchecked.extend(trouble.map(blind));
    for part in block::partitions(probe, node) {
        let place = format!("in partition {} ", part.name);
        let (more, trouble) =
            signature::scan(&file, part.start, part.bytes, node.logical_block_bytes, &place);
        found.signatures.extend(more);
        found.unchecked.extend(trouble.map(blind));
    }
    let (by_blkid, trouble) = signature::ask_blkid(&found.path);
    found.unchecked.extend(trouble.map(blind));
    for signature in by_blkid {
        if !found.signatures.iter().any(|known| known.name == signature.name) {
            found.signatures.push(signature);
        }
    }
    if depth == Depth::Full {
        sample_content(found, node.bytes);
    }
}

fn sample_content(found: &mut Inspection, bytes: u64) {
    let sample = sample::sample_device(&found.path, bytes);
    if let Some(failed) = &sample.first_failure {
        let why = format!(
            "{} of {} reads failed, first: {failed}",
            sample.failed,
            sample.blocks + sample.failed
        );
        found.unchecked.push(UncheckedPoint { check: InspectionCheck::Content, why });
    }
    if sample.nonzero > 0 && found.signatures.is_empty() {
        let place = format!("in {} of {} blocks read", sample.nonzero, sample.blocks);
        found.signatures.push(Signature { name: DATA.into(), place });
    }
    found.sample = Some(sample);
}

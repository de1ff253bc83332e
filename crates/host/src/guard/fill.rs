//! Fills a file of ours with data that no drive can compress or deduplicate (unless the load's own
//! data can be), so that later reads measure the drive and not holes. Refuses files without our
//! marker.

use super::marker::{self, Marker};
use anyhow::{Context, Result};
use iotax_load::{DataKind, Stream};
use iotax_units::exit::Failed;
use iotax_units::{MIB, show_bytes};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

const CHUNK: usize = MIB as usize;
/// Alignment of memory for O_DIRECT; no device here needs more than 4 KiB.
const ALIGN: usize = 4096;

/// Time after which ZFS has counted the blocks of a file: it writes a transaction group every five
/// seconds.
const BLOCKS_COUNTED: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilledRange {
    /// All of it is written and synced.
    Whole,
    /// `progress` stopped the work after this number of bytes. After [`fill`], the marker then has
    /// `filled: false`.
    Stopped(u64),
}

/// Fills the data region of one of iotax's files with data of that kind, and syncs it. `progress`
/// gets the bytes written so far after every MiB, and may stop the work. Only a file of
/// incompressible data counts as filled; any other is filled again by its next user.
///
/// # Errors
/// The file is not ours; it cannot be opened, written (the file system is full) or synced; or more
/// holes are left than `data` explains.
pub fn fill(
    path: &Path,
    seed: u64,
    data: DataKind,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<FilledRange> {
    let marker = marker::read_marker(path)?.ok_or_else(|| marker::not_ours(path))?;
    marker::set_filled(path, false)?;
    let file = open_for_fill(path, &marker)?;
    let stream = Stream::new(data, seed);
    let written = write_all(&file, 0..marker.bytes, stream, progress)
        .map_err(|error| write_error(path, &error))?;
    if written < marker.bytes {
        return Ok(FilledRange::Stopped(written));
    }
    file.sync_data().with_context(|| format!("cannot sync {}", path.display()))?;
    let holes = settled_holes(path, allowed_holes(marker.bytes, data))?;
    if holes > 0 {
        return Err(Failed::measurement(format!(
            "{} of {} are holes after filling it; hint: a file system that compresses or deduplicates cannot be measured so",
            show_bytes(holes),
            path.display()
        ))
        .into());
    }
    marker::set_filled(path, data.is_unique())?;
    Ok(FilledRange::Whole)
}

/// Rewrites the holes and unwritten extents in the data region of one of iotax's filled files with
/// incompressible data. mkfs, a discard or a TRIM by a layer above leaves them, and reads of them
/// reach no disk. Does nothing if the file system does not report its extents. `progress` is that
/// of [`fill`]; if it stops the work, a later call does the rest.
///
/// # Errors
/// The file is not ours, or cannot be opened, written or synced.
pub fn restore(
    path: &Path,
    seed: u64,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<FilledRange> {
    let marker = marker::read_marker(path)?.ok_or_else(|| marker::not_ours(path))?;
    let ranges = unwritten_ranges(path, marker.bytes).unwrap_or_default();
    if ranges.is_empty() {
        return Ok(FilledRange::Whole);
    }
    let file = open_for_fill(path, &marker)?;
    let mut written = 0;
    for range in ranges {
        let (stream, length) =
            (Stream::new(DataKind::default(), seed ^ range.start), range.end - range.start);
        let mut report = |bytes| progress(written + bytes);
        let done = write_all(&file, range, stream, &mut report)
            .map_err(|error| write_error(path, &error))?;
        written += done;
        if done < length {
            return Ok(FilledRange::Stopped(written));
        }
    }
    file.sync_data().with_context(|| format!("cannot sync {}", path.display()))?;
    Ok(FilledRange::Whole)
}

/// Returns the ranges before `end` of a file that are holes or unwritten extents.
///
/// # Errors
/// When the file cannot be opened, or its file system does not report extents.
pub fn unwritten_ranges(path: &Path, end: u64) -> std::io::Result<Vec<Range<u64>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    iotax_sys::extents::unwritten_ranges(&file, end)
}

/// Returns the bytes for which a file system may have no blocks: the share that compresses, plus a
/// margin for ZFS's parity accounting and for our trailer, which is mostly zeros.
fn allowed_holes(bytes: u64, data: DataKind) -> u64 {
    bytes / 100 * u64::from(data.compress_percent) + bytes / 16 + (64 << 10)
}

/// Returns the bytes of holes in a file, or 0 if they are at most `allowed`. Asks again for 20 s,
/// since ZFS counts blocks when their transaction group is written, some seconds after they are
/// durable.
fn settled_holes(path: &Path, allowed: u64) -> Result<u64> {
    let start = Instant::now();
    loop {
        let holes = holes(path)?;
        if holes <= allowed {
            return Ok(0);
        }
        if start.elapsed() > BLOCKS_COUNTED {
            return Ok(holes);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the bytes of a file that have no block. A discard (mkfs on a loop over the file) leaves
/// such holes, and reads there measure nothing.
///
/// # Errors
/// When the file cannot be looked at.
pub fn holes(path: &Path) -> Result<u64> {
    let meta = path.metadata().with_context(|| format!("cannot look at {}", path.display()))?;
    Ok(meta.len().saturating_sub(meta.blocks().saturating_mul(512)))
}

fn open_for_fill(path: &Path, marker: &Marker) -> Result<File> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // tmpfs before Linux 6.6 and some network file systems refuse O_DIRECT.
    let fd = rustix::fs::open(path, flags | OFlags::DIRECT, Mode::empty())
        .or_else(|_| rustix::fs::open(path, flags, Mode::empty()))
        .with_context(|| format!("cannot open {}", path.display()))?;
    let file = File::from(fd);
    let inode =
        file.metadata().with_context(|| format!("cannot look at {}", path.display()))?.ino();
    if inode != marker.inode {
        return Err(marker::not_ours(path));
    }
    Ok(file)
}

/// Writes data of the stream over a range of the file. Returns the bytes written: fewer than the
/// range has if `progress` stopped it.
fn write_all(
    file: &File,
    range: Range<u64>,
    mut stream: Stream,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> std::io::Result<u64> {
    let mut memory = vec![0; CHUNK + ALIGN];
    let start = memory.as_ptr().align_offset(ALIGN);
    let buffer = &mut memory[start..start + CHUNK];
    let mut at = range.start;
    while at < range.end {
        let length = CHUNK.min(usize::try_from(range.end - at).unwrap_or(CHUNK));
        stream.fill(&mut buffer[..length]);
        file.write_all_at(&buffer[..length], at)?;
        at += length as u64;
        if progress(at - range.start).is_break() && at < range.end {
            break;
        }
    }
    Ok(at - range.start)
}

fn write_error(path: &Path, error: &std::io::Error) -> anyhow::Error {
    match error.kind() {
        std::io::ErrorKind::StorageFull => Failed::need(format!(
            "cannot fill {}: the file system is full; hint: a smaller size=, or another folder",
            path.display()
        ))
        .into(),
        _ => Failed::measurement(format!("cannot fill {}: {error}", path.display())).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::marker::{TRAILER, create_marked_file, read_marker};
    use iotax_units::GIB;

    fn ours(bytes: u64) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("x.img");
        create_marked_file(&path, bytes, "run-1").expect("create");
        (folder, path)
    }

    fn go_on(_: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    #[test]
    fn what_a_layer_has_zeroed_or_discarded_is_written_again() {
        let folder = tempfile::tempdir_in("/var/tmp").expect("a folder on a disk");
        let path = folder.path().join("x.img");
        create_marked_file(&path, 4 * MIB, "run-1").expect("create");
        fill(&path, 1, DataKind::default(), &mut go_on).expect("fill");
        let unwritten = || unwritten_ranges(&path, 4 * MIB);
        match unwritten() {
            Ok(ranges) => assert_eq!(ranges, []),
            Err(error) => return println!("skipped: needs FIEMAP in /var/tmp ({error})"),
        }
        let before = std::fs::read(&path).expect("read");
        let file = File::options().write(true).open(&path).expect("open");
        use rustix::fs::FallocateFlags as Mode;
        rustix::fs::fallocate(&file, Mode::ZERO_RANGE, MIB, MIB).expect("as mkfs.xfs does");
        rustix::fs::fallocate(&file, Mode::PUNCH_HOLE | Mode::KEEP_SIZE, 3 * MIB, 8192)
            .expect("a discard");
        assert_eq!(unwritten().expect("extents"), [MIB..2 * MIB, 3 * MIB..3 * MIB + 8192]);
        let mut told = 0;
        let mut tell = |bytes| {
            told = bytes;
            go_on(bytes)
        };
        assert_eq!(restore(&path, 7, &mut tell).expect("restore"), FilledRange::Whole);
        assert_eq!((told, unwritten().expect("extents")), (MIB + 8192, vec![]));
        let after = std::fs::read(&path).expect("read");
        assert_eq!(before[..1 << 20], after[..1 << 20], "what was written stays");
        assert!(
            after[1 << 20..2 << 20].chunks(512).all(|sector| sector.iter().any(|byte| *byte != 0))
        );
        assert!(read_marker(&path).expect("read").expect("ours").filled);
    }

    #[test]
    fn filled_whole_and_the_trailer_stays() {
        let (_folder, path) = ours(2 * MIB + 8192);
        let mut last = 0;
        let filled = fill(&path, 1, DataKind::default(), &mut |bytes| {
            last = bytes;
            go_on(bytes)
        });
        assert_eq!(filled.expect("fill"), FilledRange::Whole);
        assert_eq!(last, 2 * MIB + 8192);
        assert!(read_marker(&path).expect("read").expect("ours").filled);
        let data = std::fs::read(&path).expect("read");
        assert_eq!(data.len() as u64, 2 * MIB + 8192 + TRAILER);
        let blocks: std::collections::HashSet<&[u8]> = data.chunks(4096).collect();
        assert_eq!(blocks.len(), data.len() / 4096, "no block twice");
        assert!(data[..data.len() - TRAILER as usize].chunks(8).all(|word| word != [0; 8]));
    }

    #[test]
    fn a_file_of_stated_data_has_them_and_is_filled_anew_by_the_next() {
        let (_folder, path) = ours(4 * MIB);
        let kind = DataKind { compress_percent: 50, dedupe_percent: 25, unit: 4096 };
        assert_eq!(fill(&path, 1, kind, &mut go_on).expect("fill"), FilledRange::Whole);
        let data = std::fs::read(&path).expect("read");
        let data = &data[..4 << 20];
        let zeros = data.iter().filter(|byte| **byte == 0).count();
        assert!(zeros.abs_diff(2 << 20) < 1 << 14, "{zeros} zeros");
        let blocks: std::collections::HashSet<&[u8]> = data.chunks(4096).collect();
        // Of 1024 blocks: four standard deviations are 55.
        assert!(blocks.len().abs_diff(768) < 56, "{} different ones", blocks.len());
        assert!(!read_marker(&path).expect("read").expect("ours").filled);
    }

    #[test]
    fn fewer_blocks_are_allowed_as_far_as_the_data_compress() {
        let kind = |compress_percent| DataKind { compress_percent, ..DataKind::default() };
        assert!(allowed_holes(GIB, kind(0)) < GIB / 15);
        assert!((GIB / 2..GIB / 100 * 57).contains(&allowed_holes(GIB, kind(50))));
        let (_folder, path) = ours(4 * MIB);
        fill(&path, 1, DataKind::default(), &mut go_on).expect("fill");
        assert_eq!(settled_holes(&path, 0).expect("holes"), 0);
    }

    #[test]
    fn a_file_that_was_trimmed_is_filled_anew() {
        let (_folder, path) = ours(4 << 20);
        let seed = |seed| fill(&path, seed, DataKind::default(), &mut go_on).expect("fill");
        seed(1);
        marker::set_filled(&path, false).expect("as a load that trims has it");
        let file = File::options().write(true).open(&path).expect("open");
        let hole = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&file, hole, 0, 4 << 20).expect("punch");
        assert!(holes(&path).expect("look") >= 4 << 20);
        assert!(
            !read_marker(&path).expect("read").expect("ours, the marker lies behind it").filled
        );
        seed(2);
        assert_eq!(holes(&path).expect("look"), 0);
        assert!(read_marker(&path).expect("read").expect("ours").filled);
    }

    #[test]
    fn stopped_is_not_filled() {
        let (_folder, path) = ours(4 * MIB);
        let stopped =
            fill(&path, 1, DataKind::default(), &mut |_| ControlFlow::Break(())).expect("fill");
        assert_eq!(stopped, FilledRange::Stopped(MIB));
        assert!(!read_marker(&path).expect("read").expect("ours").filled);
    }

    #[test]
    fn anothers_file_is_not_filled() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("theirs");
        std::fs::write(&path, vec![7; 16384]).expect("write");
        assert!(
            fill(&path, 1, DataKind::default(), &mut go_on)
                .unwrap_err()
                .to_string()
                .contains("not a file of iotax")
        );
        assert_eq!(std::fs::read(&path).expect("read"), vec![7; 16384]);
    }

    #[test]
    fn a_punched_hole_is_noticed() {
        let (_folder, path) = ours(4 * MIB);
        fill(&path, 1, DataKind::default(), &mut go_on).expect("fill");
        assert_eq!(holes(&path).expect("holes"), 0);
        let file = File::options().write(true).open(&path).expect("open");
        let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&file, punch, 0, MIB).expect("punch");
        assert_eq!(holes(&path).expect("holes"), MIB);
    }
}

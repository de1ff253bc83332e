//! Fills a file of ours with data that no drive can compress or deduplicate, so that later reads
//! measure the drive and not holes. Refuses files without our marker.

use super::marker::{self, Marker};
use crate::exit::Failed;
use crate::units::{MIB, show_bytes};
use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

const CHUNK: usize = MIB as usize;
/// O_DIRECT wants memory aligned to the device's block; no device here asks for more than 4 KiB.
const ALIGN: usize = 4096;

/// How filling ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// Every byte is written and synced, and the marker says so.
    Whole,
    /// The callback asked to stop after so many bytes; the marker says `filled: false`.
    Stopped(u64),
}

/// Writes incompressible data over the data region of a file of ours, and syncs it. `progress` gets
/// the bytes written so far, after every MiB, and may stop.
///
/// # Errors
/// When the file is not ours, the file system is full, or holes are left behind.
pub fn fill(path: &Path, seed: u64, progress: &mut dyn FnMut(u64) -> ControlFlow<()>) -> Result<Filled> {
    let marker = marker::read(path)?.ok_or_else(|| marker::not_ours(path))?;
    marker::set_filled(path, false)?;
    let file = open_for_fill(path, &marker)?;
    let written =
        write_all(&file, marker.bytes, seed, progress).map_err(|error| write_error(path, &error))?;
    if written < marker.bytes {
        return Ok(Filled::Stopped(written));
    }
    file.sync_data().with_context(|| format!("cannot sync {}", path.display()))?;
    let holes = holes(path)?;
    if holes > 0 {
        return Err(Failed::measurement(format!(
            "{} of {} are holes after filling it; hint: a file system that compresses or deduplicates cannot be measured so",
            show_bytes(holes),
            path.display()
        ))
        .into());
    }
    marker::set_filled(path, true)?;
    Ok(Filled::Whole)
}

/// Bytes of a file that no block stands behind: after a discard (mkfs on a loop over the file) later
/// reads there measure nothing.
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
    let inode = file.metadata().with_context(|| format!("cannot look at {}", path.display()))?.ino();
    if inode != marker.inode {
        return Err(marker::not_ours(path));
    }
    Ok(file)
}

/// Returns the bytes written: fewer than `bytes` when `progress` stopped it.
fn write_all(
    file: &File,
    bytes: u64,
    seed: u64,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> std::io::Result<u64> {
    let mut memory = vec![0; CHUNK + ALIGN];
    let start = memory.as_ptr().align_offset(ALIGN);
    let buffer = &mut memory[start..start + CHUNK];
    let mut random = SplitMix(seed);
    let mut written = 0;
    while written < bytes {
        let length = CHUNK.min(usize::try_from(bytes - written).unwrap_or(CHUNK));
        random.fill(&mut buffer[..length]);
        file.write_all_at(&buffer[..length], written)?;
        written += length as u64;
        if progress(written).is_break() && written < bytes {
            break;
        }
    }
    Ok(written)
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

/// splitmix64 (Steele, Lea, Flood 2014): fast, and every block of it differs.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn fill(&mut self, buffer: &mut [u8]) {
        for word in buffer.chunks_exact_mut(8) {
            word.copy_from_slice(&self.next().to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::marker::{TRAILER, create, read};

    fn ours(bytes: u64) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("x.img");
        create(&path, bytes, "run-1").expect("create");
        (folder, path)
    }

    fn go_on(_: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    #[test]
    fn filled_whole_and_the_trailer_stays() {
        let (_folder, path) = ours(2 * MIB + 8192);
        let mut last = 0;
        let filled = fill(&path, 1, &mut |bytes| {
            last = bytes;
            go_on(bytes)
        });
        assert_eq!(filled.expect("fill"), Filled::Whole);
        assert_eq!(last, 2 * MIB + 8192);
        assert!(read(&path).expect("read").expect("ours").filled);
        let data = std::fs::read(&path).expect("read");
        assert_eq!(data.len() as u64, 2 * MIB + 8192 + TRAILER);
        let blocks: std::collections::HashSet<&[u8]> = data.chunks(4096).collect();
        assert_eq!(blocks.len(), data.len() / 4096, "no block twice");
        assert!(data[..data.len() - TRAILER as usize].chunks(8).all(|word| word != [0; 8]));
    }

    #[test]
    fn stopped_is_not_filled() {
        let (_folder, path) = ours(4 * MIB);
        let stopped = fill(&path, 1, &mut |_| ControlFlow::Break(())).expect("fill");
        assert_eq!(stopped, Filled::Stopped(MIB));
        assert!(!read(&path).expect("read").expect("ours").filled);
    }

    #[test]
    fn anothers_file_is_not_filled() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("theirs");
        std::fs::write(&path, vec![7; 16384]).expect("write");
        assert!(fill(&path, 1, &mut go_on).unwrap_err().to_string().contains("not a file of iotax"));
        assert_eq!(std::fs::read(&path).expect("read"), vec![7; 16384]);
    }

    #[test]
    fn a_punched_hole_is_noticed() {
        let (_folder, path) = ours(4 * MIB);
        fill(&path, 1, &mut go_on).expect("fill");
        assert_eq!(holes(&path).expect("holes"), 0);
        let file = File::options().write(true).open(&path).expect("open");
        let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&file, punch, 0, MIB).expect("punch");
        assert_eq!(holes(&path).expect("holes"), MIB);
    }
}

//! Targets for generators: some cost so little that the generator shows, one is the disk below this
//! machine's files.

use super::zram::Zram;
use iotax_host::facts::memory_bytes;
use iotax_host::probe::Probe;
use iotax_load::{DataKind, Stream};
use iotax_units::show_bytes;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// No target: the engine does no I/O.
    Nothing,
    Zero,
    PageCache,
    /// A compressed disk in memory that was never written: a block device without a device.
    Zram,
    /// A file read with O_DIRECT, past the page cache.
    Disk,
}

impl TargetKind {
    /// Returns true if the target is opened with O_DIRECT.
    pub fn direct(self) -> bool {
        matches!(self, TargetKind::Zram | TargetKind::Disk)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ContestTarget {
    pub path: PathBuf,
    /// Number of its bytes that are read.
    pub bytes: u64,
}

/// All targets of this machine.
pub struct Spots {
    cached: Result<Scratch, String>,
    disk: Result<Scratch, String>,
    zram: Result<Zram, String>,
}

/// A file without a name, which is gone with this process however that ends.
struct Scratch {
    file: File,
    bytes: u64,
}

/// Size that fits the page cache of the smallest machine measured.
const CACHED: u64 = 512 << 20;
/// Size beyond the caches of drives.
const ON_DISK: u64 = 2 << 30;
/// Bytes of a zram target, which takes no memory.
const IN_ZRAM: u64 = 512 << 20;
/// Bytes that are written or read at once.
const PIECE: usize = 1 << 20;

/// Reason why a kind of target was not prepared.
const ABSENT: &str = "it is in no line that was asked for";

impl Spots {
    /// Makes the needed targets in a folder; a target that cannot be made keeps the reason. `zrams`
    /// remembers compressed disks, so that one left by a kill is removed the next time.
    pub fn make(
        wanted: &[TargetKind],
        folder: &Path,
        zrams: &Path,
        go_on: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Spots {
        let mut scratch = |spot: TargetKind, bytes: u64| match wanted.contains(&spot) {
            true => on_a_disk(folder).and_then(|()| Scratch::make(folder, bytes, go_on)),
            false => Err(ABSENT.to_owned()),
        };
        let cached = scratch(TargetKind::PageCache, CACHED);
        let disk = scratch(TargetKind::Disk, ON_DISK);
        let zram = if wanted.contains(&TargetKind::Zram) {
            Zram::make(IN_ZRAM, zrams)
        } else {
            Err(ABSENT.to_owned())
        };
        Spots { cached, disk, zram }
    }

    /// Returns the target in the state that a contender needs.
    ///
    /// # Errors
    /// Returns why it is not there.
    pub fn ready(&self, spot: TargetKind) -> Result<ContestTarget, String> {
        match spot {
            TargetKind::Nothing | TargetKind::Zero => {
                Ok(ContestTarget { path: "/dev/zero".into(), bytes: CACHED })
            }
            TargetKind::PageCache => {
                let place = self.cached.as_ref().map_err(Clone::clone)?.place();
                if place.cacheable() < place.bytes {
                    return Err(format!(
                        "{} do not fit half of the memory that is available",
                        show_bytes(CACHED)
                    ));
                }
                place.warm()?;
                Ok(place)
            }
            TargetKind::Disk => self.disk.as_ref().map(Scratch::place).map_err(Clone::clone),
            TargetKind::Zram => {
                let zram = self.zram.as_ref().map_err(Clone::clone)?;
                Ok(ContestTarget { path: zram.path(), bytes: IN_ZRAM })
            }
        }
    }
}

/// Magic numbers (linux/magic.h) of file systems without a disk of their own. Files there are not
/// read like those of a disk, neither through the page cache nor past it.
const WITHOUT_DISK: [(&str, u64); 3] =
    [("tmpfs", 0x0102_1994), ("ramfs", 0x8584_58f6), ("overlay", 0x794c_7630)];

fn on_a_disk(folder: &Path) -> Result<(), String> {
    let found = rustix::fs::statfs(folder).map_err(|errno| {
        format!("cannot look at {}: {}", folder.display(), std::io::Error::from(errno))
    })?;
    match WITHOUT_DISK.iter().find(|(_, magic)| *magic == u64::from(found.f_type as u32)) {
        None => Ok(()),
        Some((name, _)) => Err(format!(
            "{} is on {name}, which is no disk; hint: --dir on a disk",
            folder.display()
        )),
    }
}

impl Scratch {
    fn make(
        folder: &Path,
        bytes: u64,
        go_on: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Scratch, String> {
        let failed = |what: &str, error: std::io::Error| {
            format!("cannot {what} in {}: {error}", folder.display())
        };
        let free =
            rustix::fs::statvfs(folder).map_err(|errno| failed("look for room", errno.into()))?;
        let free = free.f_bavail.saturating_mul(free.f_frsize);
        // The same amount is left to others.
        if free / 2 < bytes {
            return Err(format!(
                "{} of room are wanted in {}, and it has {}; hint: --dir DIR with more",
                show_bytes(2 * bytes),
                folder.display(),
                show_bytes(free)
            ));
        }
        let mut file =
            tempfile::tempfile_in(folder).map_err(|error| failed("make a scratch file", error))?;
        write_random(&mut file, bytes, &mut |done| {
            go_on(&format!("writing a scratch file: {} of {}", show_bytes(done), show_bytes(bytes)))
        })
        .map_err(|error| failed("write a scratch file", error))?;
        Ok(Scratch { file, bytes })
    }

    fn place(&self) -> ContestTarget {
        let path = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        ContestTarget { path: path.into(), bytes: self.bytes }
    }
}

impl ContestTarget {
    /// Returns how many of its bytes, from the start, may be put in the page cache: half of the
    /// available memory is left to others.
    pub fn cacheable(&self) -> u64 {
        let available = memory_bytes(&Probe::of_files(Path::new("/")), "MemAvailable");
        self.bytes.min(available.map_or(u64::MAX, |bytes| bytes / 2))
    }

    /// Reads it once, up to [`ContestTarget::cacheable`], so that the page cache holds it. O_DIRECT
    /// reads by others, and a shortage of memory, drop pages.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn warm(&self) -> Result<(), String> {
        let read = || -> std::io::Result<()> {
            let mut file = File::open(&self.path)?.take(self.cacheable());
            let mut piece = vec![0; PIECE];
            while file.read(&mut piece)? > 0 {}
            Ok(())
        };
        read().map_err(|error| format!("cannot read {}: {error}", self.path.display()))
    }
}

/// Fills a file from its start with random data, down to the medium.
fn write_random(
    file: &mut File,
    bytes: u64,
    go_on: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> std::io::Result<()> {
    let mut stream = Stream::new(DataKind::default(), 1);
    let mut piece = vec![0; PIECE];
    let mut done = 0;
    file.rewind()?;
    while done < bytes {
        if go_on(done).is_break() {
            return Err(std::io::Error::new(std::io::ErrorKind::Interrupted, "interrupted"));
        }
        let part = PIECE.min(usize::try_from(bytes - done).unwrap_or(PIECE));
        stream.fill(&mut piece[..part]);
        file.write_all(&piece[..part])?;
        done += part as u64;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_file_has_no_name_and_can_be_read_by_others() {
        let folder = tempfile::tempdir().unwrap();
        let scratch =
            Scratch::make(folder.path(), 3 << 20, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let place = scratch.place();
        let read = std::fs::read(&place.path).unwrap();
        assert_eq!(read.len(), 3 << 20);
        assert!(read.iter().filter(|byte| **byte == 0).count() < read.len() / 64);
        place.warm().unwrap();
    }

    #[test]
    fn a_file_system_without_a_disk_is_refused() {
        on_a_disk(Path::new("/no/such/folder")).unwrap_err();
        let shm = Path::new("/dev/shm");
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        if !mounts.contains(" /dev/shm tmpfs ") {
            println!("skipped: needs a tmpfs at /dev/shm");
            return;
        }
        let wanted = [TargetKind::PageCache, TargetKind::Disk];
        let spots = Spots::make(&wanted, shm, Path::new("/"), &mut |_| ControlFlow::Break(()));
        for spot in wanted {
            let why = spots.ready(spot).unwrap_err();
            assert_eq!(why, "/dev/shm is on tmpfs, which is no disk; hint: --dir on a disk");
        }
    }

    #[test]
    fn no_more_is_read_into_the_page_cache_than_half_of_the_memory() {
        let place = |bytes| ContestTarget { path: "/dev/zero".into(), bytes };
        assert_eq!(place(4096).cacheable(), 4096);
        let most = memory_bytes(&Probe::of_files(Path::new("/")), "MemTotal").unwrap() / 2;
        assert!((1..=most).contains(&place(u64::MAX).cacheable()));
    }

    #[test]
    fn without_room_or_when_stopped_there_is_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let why = Scratch::make(folder.path(), 1 << 60, &mut |_| ControlFlow::Continue(()))
            .err()
            .unwrap();
        assert!(why.contains("of room are wanted") && why.contains("--dir"), "{why}");
        let why =
            Scratch::make(folder.path(), 1 << 20, &mut |_| ControlFlow::Break(())).err().unwrap();
        assert!(why.contains("interrupted"), "{why}");
    }
}

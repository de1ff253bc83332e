//! Targets that a worker may issue I/O to: opens a regular file or a block device and checks that
//! the job fits it. Refuses everything else, writing without permission, regions that do not fit,
//! and sizes that O_DIRECT cannot do.

use crate::buffer::{BufferNeeds, Buffers};
use crate::data::DataKind;
use crate::engine::trim;
use crate::offsets::Region;
use crate::random::Random;
use crate::{Hold, Iomem, Job, LoadError, TargetSpec, WriteSync};
use rustix::fs::{AtFlags, FileType, OFlags, Statx, StatxFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// STATX_DIOALIGN (Linux 6.1), which rustix does not name.
const DIO_ALIGN: StatxFlags = StatxFlags::from_bits_retain(0x2000);

/// Logical block in bytes that O_DIRECT is assumed to need if nothing reports it.
const USUAL_BLOCK: u64 = 512;

#[derive(Clone, Debug)]
pub(crate) struct LoadTarget {
    path: PathBuf,
    writable: bool,
    block_device: bool,
    /// First byte that may be touched.
    offset: u64,
    /// Number of bytes from there that may be touched.
    bytes: u64,
    /// Number of bytes that offsets and sizes with O_DIRECT must be multiples of; `None` means that
    /// there is no O_DIRECT.
    direct_block: Option<u64>,
    hold: Hold,
    identity: Identity,
}

/// Identity of a file, which reveals another file of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: (u32, u32),
    inode: u64,
    special: (u32, u32),
}

impl LoadTarget {
    /// Inspects a target without changing it.
    ///
    /// # Errors
    /// When it cannot be opened for reading, is neither a regular file nor a block device, or is
    /// shorter than `spec.bytes`. /dev/zero is accepted for reading only, with a number of bytes.
    pub(crate) fn inspect(spec: &TargetSpec) -> Result<LoadTarget, LoadError> {
        let path = spec.path.as_path();
        let seen = stat_path(path).map_err(|errno| system("look at", path, errno.into()))?;
        let kind = kind_of(path, &seen)?;
        let block_device = kind == TargetType::BlockDevice;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = File::from(open_path(path, flags).map_err(|e| system("open", path, e.into()))?);
        let size = match (kind, spec.bytes) {
            (TargetType::Zero, Some(bytes)) if !spec.writable => bytes,
            (TargetType::Zero, _) => {
                return Err(LoadError::Unfit(format!(
                    "{} has no end and is only read; hint: say how many bytes of it",
                    path.display()
                )));
            }
            _ => size_of(&file, block_device).map_err(|e| system("measure", path, e))?,
        };
        let room = size.saturating_sub(spec.offset);
        let bytes = spec.bytes.unwrap_or(room);
        if bytes > room {
            return Err(LoadError::Unfit(format!(
                "{} has {size} bytes, too few for {bytes} bytes at offset {}; hint: make it larger or use less",
                path.display(),
                spec.offset
            )));
        }
        Ok(LoadTarget {
            path: spec.path.clone(),
            writable: spec.writable,
            block_device,
            offset: spec.offset,
            bytes,
            direct_block: direct_block(&file, &seen, block_device),
            hold: spec.hold,
            identity: identity(&seen),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the delay of its completions.
    pub(crate) fn hold(&self) -> Hold {
        self.hold
    }

    /// Returns true if both are the same file, or the same device, under whatever names.
    pub(crate) fn is_same(&self, other: &LoadTarget) -> bool {
        match (self.block_device, other.block_device) {
            (true, true) => self.identity.special == other.identity.special,
            (false, false) => self.identity == other.identity,
            _ => false,
        }
    }

    /// Returns the whole blocks that the job covers, for each thread of numjobs if they differ.
    ///
    /// # Errors
    /// When they reach beyond the end, when there is no whole block, or when the job is direct and
    /// the target has no O_DIRECT, or none for these sizes and offsets.
    pub(crate) fn regions(&self, job: &Job) -> Result<Vec<Region>, LoadError> {
        let differ = if job.offset_increment > 0 { job.numjobs } else { 1 };
        (0..differ).map(|thread| self.region(job, thread)).collect()
    }

    fn region(&self, job: &Job, thread: u32) -> Result<Region, LoadError> {
        let (offset, bs) = (job.offset_of(thread), job.bs);
        let whose = match job.offset_increment {
            0 => String::new(),
            increment => format!(" (of thread {} by offset_increment={increment})", thread + 1),
        };
        let room = self.bytes.saturating_sub(offset);
        let size = job.size.unwrap_or(room);
        if offset > self.bytes || size > room {
            return Err(self.unfit(job, format!(
                "offset {offset}{whose} and size {size} reach beyond the {} bytes of the target; hint: lower size or offset",
                self.bytes
            )));
        }
        if size < bs {
            return Err(self.unfit(
                job,
                format!(
                    "the region of {size} bytes{whose} does not hold one block of {bs}; hint: lower bs or raise size"
                ),
            ));
        }
        if job.direct {
            self.check_direct(job)?;
        }
        let blocks = size / bs;
        Ok(Region { offset: self.offset + offset, bs, blocks })
    }

    /// Opens the target for a thread of the job.
    ///
    /// # Errors
    /// When the job writes without permission, the system refuses, with or without O_DIRECT, or the
    /// path now names another file.
    pub(crate) fn open_for_job(&self, job: &Job) -> Result<File, LoadError> {
        if job.rw.writes() && !self.writable {
            return Err(self.unfit(
                job,
                format!("rw={} writes, and writing was not permitted", job.rw.word()),
            ));
        }
        let access = if job.rw.writes() { OFlags::RDWR } else { OFlags::RDONLY };
        let direct = if job.direct { OFlags::DIRECT } else { OFlags::empty() };
        let sync = match job.sync {
            WriteSync::None => OFlags::empty(),
            // The constant of rustix for O_DSYNC is O_SYNC on Linux.
            WriteSync::Dsync => OFlags::from_bits_retain(libc::O_DSYNC as u32),
            WriteSync::Sync => OFlags::SYNC,
        };
        let flags = access | direct | sync | OFlags::CLOEXEC;
        // Reads do not update the access time, as fio's do. Only the owner of the file may ask for
        // that.
        let opened = open_path(&self.path, flags | OFlags::NOATIME);
        let opened = if opened.as_ref().err() == Some(&Errno::PERM) {
            open_path(&self.path, flags)
        } else {
            opened
        };
        let file = match opened {
            Err(Errno::INVAL) if job.direct => return Err(self.unfit_direct(job)),
            opened => File::from(opened.map_err(|e| system("open", &self.path, e.into()))?),
        };
        let seen = stat(&file).map_err(|errno| system("look at", &self.path, errno.into()))?;
        if identity(&seen) != self.identity {
            let error = io::Error::other("another file has taken its place");
            return Err(system("open", &self.path, error));
        }
        Ok(file)
    }

    /// Reads the first block of the region, which finds problems that no query to the system shows.
    ///
    /// # Errors
    /// When there is no memory for the block, or it cannot be read as a whole.
    pub(crate) fn probe(&self, job: &Job, file: &File, region: Region) -> Result<(), LoadError> {
        let failed = |error| system("read", &self.path, error);
        let memory = probe_memory(1, region.bs).map_err(failed)?;
        // SAFETY: the slot's buffer has `bs` bytes, and nobody else knows of it.
        let data =
            unsafe { std::slice::from_raw_parts_mut(memory.read_buffer(0), region.bs as usize) };
        match file.read_at(data, region.offset) {
            Ok(read) if read == data.len() => Ok(()),
            Ok(read) => {
                let words = format!("{read} of {} bytes at {} came", region.bs, region.offset);
                Err(failed(io::Error::new(io::ErrorKind::UnexpectedEof, words)))
            }
            Err(error) if job.direct && error.raw_os_error() == Some(libc::EINVAL) => {
                Err(self.unfit_direct(job))
            }
            Err(error) => Err(failed(error)),
        }
    }

    pub(crate) fn check_trim(
        &self,
        job: &Job,
        file: &File,
        region: Region,
    ) -> Result<(), LoadError> {
        trim::check_trimming(file, region.offset, region.bs)
            .map_err(|clause| self.unfit(job, format!("rw={}: {clause}", job.rw.word())))
    }

    pub(crate) fn system(&self, action: &'static str, source: io::Error) -> LoadError {
        system(action, &self.path, source)
    }

    fn check_direct(&self, job: &Job) -> Result<(), LoadError> {
        let Some(block) = self.direct_block else {
            return Err(self.unfit_direct(job));
        };
        let words =
            [("bs", job.bs), ("offset", job.offset), ("offset_increment", job.offset_increment)];
        for (word, bytes) in words {
            if bytes % block != 0 {
                return Err(self.unfit(job, format!(
                    "{word}={bytes} is no multiple of the logical block of {block} bytes, which direct=1 needs; hint: a multiple of {block}, or direct=0"
                )));
            }
        }
        Ok(())
    }

    fn unfit_direct(&self, job: &Job) -> LoadError {
        let kind = if self.block_device { "device" } else { "file system" };
        self.unfit(
            job,
            format!(
                "the {kind} refuses O_DIRECT for blocks of {} bytes; hint: direct=0, or a larger bs",
                job.bs
            ),
        )
    }

    fn unfit(&self, job: &Job, reason: String) -> LoadError {
        LoadError::Unfit(format!("job \"{}\" on {}: {reason}", job.name, self.path.display()))
    }
}

/// Allocates memory for the reads of [`LoadTarget::probe`] and of engine trials.
pub(crate) fn probe_memory(slots: u32, bs: u64) -> io::Result<Buffers> {
    let (data, iomem) = (DataKind::default(), Iomem::default());
    let needs = BufferNeeds { slots, bs: bs as usize, reads: true, writes: false, data, iomem };
    Buffers::new(needs, Random::new(0, 0))
}

fn system(action: &'static str, path: &Path, source: io::Error) -> LoadError {
    LoadError::System { action, path: path.to_path_buf(), source }
}

fn open_path(path: &Path, flags: OFlags) -> Result<rustix::fd::OwnedFd, Errno> {
    rustix::fs::open(path, flags, rustix::fs::Mode::empty())
}

/// Looks at a path by name, before any open: opening a pipe would wait for its other end.
fn stat_path(path: &Path) -> Result<Statx, Errno> {
    let wanted = StatxFlags::BASIC_STATS | DIO_ALIGN;
    rustix::fs::statx(rustix::fs::CWD, path, AtFlags::empty(), wanted)
}

fn stat(file: &File) -> Result<Statx, Errno> {
    rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)
}

fn identity(seen: &Statx) -> Identity {
    Identity {
        device: (seen.stx_dev_major, seen.stx_dev_minor),
        inode: seen.stx_ino,
        special: (seen.stx_rdev_major, seen.stx_rdev_minor),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetType {
    File,
    BlockDevice,
    /// /dev/zero: the kernel's fastest read, without a device. It measures generators.
    Zero,
}

/// Major and minor number of /dev/zero, fixed by the kernel
/// (Documentation/admin-guide/devices.txt).
const ZERO: (u32, u32) = (1, 5);

fn kind_of(path: &Path, seen: &Statx) -> Result<TargetType, LoadError> {
    match FileType::from_raw_mode(u32::from(seen.stx_mode)) {
        FileType::BlockDevice => Ok(TargetType::BlockDevice),
        FileType::RegularFile => Ok(TargetType::File),
        FileType::CharacterDevice if (seen.stx_rdev_major, seen.stx_rdev_minor) == ZERO => {
            Ok(TargetType::Zero)
        }
        other => Err(LoadError::Unfit(format!(
            "{} is neither a regular file nor a block device, but {other:?}",
            path.display()
        ))),
    }
}

fn size_of(file: &File, block_device: bool) -> io::Result<u64> {
    if block_device {
        // The end of a device is its size; stat says 0.
        return Ok(rustix::fs::seek(file, rustix::fs::SeekFrom::End(0))?);
    }
    Ok(file.metadata()?.len())
}

/// Returns the bytes of which offsets and sizes with O_DIRECT must be multiples: of a device its
/// logical block; of a file what the file system reports, or else the logical block of the device
/// below, or else the usual one. `None` if the file system reports that it has no O_DIRECT.
fn direct_block(file: &File, seen: &Statx, block_device: bool) -> Option<u64> {
    if block_device {
        let block = rustix::fs::ioctl_blksszget(file).map(u64::from);
        return Some(block.unwrap_or(USUAL_BLOCK));
    }
    if seen.stx_mask & DIO_ALIGN.bits() != 0 {
        let align = u64::from(seen.stx_dio_offset_align);
        return (align > 0).then_some(align);
    }
    Some(block_below(seen.stx_dev_major, seen.stx_dev_minor).unwrap_or(USUAL_BLOCK))
}

fn block_below(major: u32, minor: u32) -> Option<u64> {
    let device = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    // A partition has its queue one folder up.
    let candidates = ["queue/logical_block_size", "../queue/logical_block_size"];
    let read = |name| std::fs::read_to_string(device.join(name)).ok();
    candidates.into_iter().find_map(read)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rw;

    fn file_of(bytes: u64) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(bytes).unwrap();
        file
    }

    fn spec(path: &Path) -> TargetSpec {
        TargetSpec {
            path: path.into(),
            offset: 0,
            bytes: None,
            writable: false,
            hold: crate::Hold::default(),
        }
    }

    fn buffered(bs: u64) -> Job {
        Job { bs, direct: false, ..Job::default() }
    }

    fn refusal<T>(result: Result<T, LoadError>) -> String {
        result.err().expect("refused").to_string()
    }

    #[test]
    fn the_region_is_whole_blocks_behind_the_offset() {
        let file = file_of(100_000);
        let target = LoadTarget::inspect(&spec(file.path())).unwrap();
        let mut job = buffered(4096);
        job.offset = 8192;
        let region = target.region(&job, 0).unwrap();
        assert_eq!((region.offset, region.bs, region.blocks), (8192, 4096, 22));
        job.size = Some(8200);
        assert_eq!(target.region(&job, 0).unwrap().blocks, 2);
    }

    #[test]
    fn a_region_that_does_not_fit_is_refused() {
        let file = file_of(100_000);
        let target = LoadTarget::inspect(&spec(file.path())).unwrap();
        let mut job = buffered(4096);
        job.size = Some(100_001);
        assert!(refusal(target.region(&job, 0)).contains("beyond the 100000 bytes"));
        job.size = Some(4095);
        assert!(refusal(target.region(&job, 0)).contains("does not hold one block"));
        job.size = None;
        job.offset = 200_000;
        assert!(refusal(target.region(&job, 0)).contains("beyond"));
        job.offset = 100_000;
        assert!(refusal(target.region(&job, 0)).contains("does not hold one block"));
    }

    #[test]
    fn a_part_of_a_target_begins_at_its_offset() {
        let file = file_of(100_000);
        let part = TargetSpec { offset: 40_960, bytes: Some(40_960), ..spec(file.path()) };
        let target = LoadTarget::inspect(&part).unwrap();
        let job = Job { offset: 4096, ..buffered(4096) };
        let region = target.region(&job, 0).unwrap();
        assert_eq!((region.offset, region.blocks), (45_056, 9));
        let beyond = TargetSpec { offset: 60_000, ..part };
        let words = refusal(LoadTarget::inspect(&beyond));
        assert!(words.contains("too few for 40960 bytes at offset 60000"), "{words}");
    }

    #[test]
    fn each_thread_has_its_region_where_it_is_moved_on() {
        let file = file_of(100_000);
        let target = LoadTarget::inspect(&spec(file.path())).unwrap();
        let mut job = Job { numjobs: 3, offset: 4096, offset_increment: 40_960, ..buffered(4096) };
        let regions = target.regions(&job).unwrap();
        let shape: Vec<_> = regions.iter().map(|region| (region.offset, region.blocks)).collect();
        assert_eq!(shape, [(4096, 23), (45_056, 13), (86_016, 3)]);
        job.size = Some(20_000);
        let words = refusal(target.regions(&job));
        assert!(
            words.contains("offset 86016 (of thread 3 by offset_increment=40960) and size 20000"),
            "{words}"
        );
        job.offset_increment = u64::MAX;
        assert!(refusal(target.regions(&job)).contains("beyond"));
        job.offset_increment = 0;
        assert_eq!(target.regions(&job).unwrap().len(), 1);
    }

    #[test]
    fn the_spec_may_use_less_but_not_more() {
        let file = file_of(100_000);
        let mut spec = spec(file.path());
        spec.bytes = Some(50_000);
        assert_eq!(LoadTarget::inspect(&spec).unwrap().bytes, 50_000);
        spec.bytes = Some(100_001);
        assert!(refusal(LoadTarget::inspect(&spec)).contains("has 100000 bytes"));
    }

    #[test]
    fn a_file_of_two_names_is_one() {
        let (file, other) = (file_of(100_000), file_of(100_000));
        let folder = tempfile::tempdir().unwrap();
        let (soft, hard) = (folder.path().join("soft"), file.path().with_extension("hard"));
        std::os::unix::fs::symlink(file.path(), &soft).unwrap();
        std::fs::hard_link(file.path(), &hard).unwrap();
        let inspect = |path: &Path| LoadTarget::inspect(&spec(path)).unwrap();
        let target = inspect(file.path());
        let same = [soft.as_path(), &hard, other.path()].map(|path| inspect(path).is_same(&target));
        std::fs::remove_file(hard).unwrap();
        assert_eq!(same, [true, true, false]);
    }

    #[test]
    fn what_is_no_file_or_device_is_refused_without_opening() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, 0o600.into(), 0).unwrap();
        for path in [folder.path(), &pipe, Path::new("/dev/null")] {
            assert!(refusal(LoadTarget::inspect(&spec(path))).contains("neither"), "{path:?}");
        }
        let missing = folder.path().join("missing");
        let words = refusal(LoadTarget::inspect(&spec(&missing)));
        assert!(words.starts_with("cannot look at") && words.contains("No such file"), "{words}");
    }

    #[test]
    fn zeros_are_read_as_far_as_is_said() {
        let zero = spec(Path::new("/dev/zero"));
        assert!(refusal(LoadTarget::inspect(&zero)).contains("say how many bytes"));
        let some = TargetSpec { bytes: Some(1 << 20), ..zero };
        let target = LoadTarget::inspect(&some).unwrap();
        let region = target.region(&buffered(4096), 0).unwrap();
        assert_eq!(region.blocks, 256);
        target
            .probe(&buffered(4096), &target.open_for_job(&buffered(4096)).unwrap(), region)
            .unwrap();
        assert!(
            refusal(LoadTarget::inspect(&TargetSpec { writable: true, ..some }))
                .contains("only read")
        );
    }

    #[test]
    fn writing_needs_permission() {
        let file = file_of(100_000);
        let mut spec = spec(file.path());
        let job = Job { rw: Rw::RandRw, ..buffered(4096) };
        let open = |spec: &TargetSpec| LoadTarget::inspect(spec).unwrap().open_for_job(&job);
        assert!(refusal(open(&spec)).contains("rw=randrw writes"));
        spec.writable = true;
        assert!(open(&spec).is_ok());
    }

    #[test]
    fn a_file_that_took_the_place_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, [0; 8192]).unwrap();
        let target = LoadTarget::inspect(&spec(&path)).unwrap();
        std::fs::write(folder.path().join("b"), [0; 8192]).unwrap();
        std::fs::rename(folder.path().join("b"), &path).unwrap();
        assert!(refusal(target.open_for_job(&buffered(4096))).contains("taken its place"));
    }

    #[test]
    fn direct_wants_multiples_of_the_logical_block() {
        let file = file_of(100_000);
        let mut target = LoadTarget::inspect(&spec(file.path())).unwrap();
        target.direct_block = Some(4096);
        let mut job = Job { bs: 512, ..Job::default() };
        assert!(refusal(target.region(&job, 0)).contains("bs=512 is no multiple"));
        job.bs = 4096;
        job.offset = 512;
        assert!(refusal(target.region(&job, 0)).contains("offset=512 is no multiple"));
        job.offset = 4096;
        assert!(target.region(&job, 0).is_ok());
        target.direct_block = None;
        assert!(refusal(target.region(&job, 0)).contains("refuses O_DIRECT"));
    }

    #[test]
    fn a_target_that_shrank_is_noticed_by_the_probe() {
        let file = file_of(100_000);
        let target = LoadTarget::inspect(&spec(file.path())).unwrap();
        let job = buffered(4096);
        let region = target.region(&job, 0).unwrap();
        let opened = target.open_for_job(&job).unwrap();
        assert!(target.probe(&job, &opened, region).is_ok());
        file.as_file().set_len(100).unwrap();
        assert!(refusal(target.probe(&job, &opened, region)).contains("100 of 4096 bytes at 0"));
    }
}

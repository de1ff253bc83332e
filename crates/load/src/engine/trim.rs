//! Trims: BLKDISCARD of a block device, holes punched into a file. Both are done when the call
//! returns. Targets that cannot trim are refused, and blocks so small that a device would do
//! nothing.

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;

/// `_IO(0x12, 119)` of linux/fs.h, which is the same on every architecture.
const BLKDISCARD: libc::c_ulong = 0x1277;

/// Way in which an open file is trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trimmer {
    Device,
    File,
}

impl Trimmer {
    pub(crate) fn for_file(file: &File) -> io::Result<Trimmer> {
        let device = file.metadata()?.file_type().is_block_device();
        Ok(if device { Trimmer::Device } else { Trimmer::File })
    }

    pub(crate) fn trim(self, file: &File, offset: u64, bytes: u64) -> Result<(), Errno> {
        match self {
            Trimmer::File => {
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(file, hole, offset, bytes)
            }
            Trimmer::Device => {
                let range = [offset, bytes];
                // SAFETY: the call reads two numbers of 64 bits, which live until it returns.
                let done =
                    unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD as _, range.as_ptr()) };
                match io::Error::last_os_error().raw_os_error() {
                    _ if done == 0 => Ok(()),
                    error => Err(Errno::from_raw_os_error(error.unwrap_or(libc::EIO))),
                }
            }
        }
    }
}

/// Checks that blocks of `bytes` bytes from `offset` on can be trimmed, without trimming any data.
///
/// # Errors
/// A clause that says why not.
pub(crate) fn check_trimming(file: &File, offset: u64, bytes: u64) -> Result<(), String> {
    let failed = |error: io::Error| format!("it cannot be asked whether it trims: {error}");
    let meta = file.metadata().map_err(failed)?;
    match Trimmer::for_file(file).map_err(failed)? {
        Trimmer::Device => check_device(meta.rdev(), offset, bytes),
        Trimmer::File => {
            let unit = meta.blksize();
            if offset % unit != 0 || bytes % unit != 0 {
                return Err(format!(
                    "its file system frees blocks of {unit} bytes, and fills what is less with zeros; hint: bs and offset of a multiple of that"
                ));
            }
            // Beyond the end of the file, and of the space allocated for it, there is nothing to
            // lose.
            let beyond = meta.size().max(meta.blocks() * 512).next_multiple_of(1 << 20);
            match Trimmer::File.trim(file, beyond, bytes) {
                Ok(()) => Ok(()),
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                    Err("its file system punches no holes; hint: ext4, xfs, btrfs or tmpfs".into())
                }
                Err(errno) => {
                    Err(format!("a hole cannot be punched into it: {}", io::Error::from(errno)))
                }
            }
        }
    }
}

fn check_device(number: u64, offset: u64, bytes: u64) -> Result<(), String> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let device = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    // A partition has its queue one folder up.
    let limit = |name: &str| {
        let read = |folder: &str| std::fs::read_to_string(device.join(folder).join(name)).ok();
        read("queue").or_else(|| read("../queue"))?.trim().parse::<u64>().ok()
    };
    check_limits(limit("discard_max_bytes"), limit("discard_granularity"), [offset, bytes])
}

/// Checks the discard limits of a device: `most` is its `discard_max_bytes` (0 if it cannot trim),
/// `numbers` are offset and block size. A device leaves anything smaller than its granularity as it
/// is.
fn check_limits(
    most: Option<u64>,
    granularity: Option<u64>,
    numbers: [u64; 2],
) -> Result<(), String> {
    if most.unwrap_or(0) == 0 {
        return Err("the device cannot trim (queue/discard_max_bytes is 0); hint: a device that can, or in a guest discard=unmap of its disk".into());
    }
    match granularity.filter(|unit| *unit > 0 && numbers.iter().any(|number| number % unit != 0)) {
        None => Ok(()),
        Some(unit) => Err(format!(
            "the device trims multiples of {unit} bytes (queue/discard_granularity), and leaves what is less as it is; hint: bs and offset of a multiple of that"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_hole_is_punched_and_nothing_else_is_lost() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 16384], 0).unwrap();
        check_trimming(&file, 0, 4096).unwrap();
        let trimmer = Trimmer::for_file(&file).unwrap();
        assert_eq!(trimmer, Trimmer::File);
        trimmer.trim(&file, 4096, 8192).unwrap();
        let mut data = vec![1; 16384];
        file.read_exact_at(&mut data, 0).unwrap();
        let kept = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 7);
        assert!(
            kept(&data[..4096])
                && kept(&data[12288..])
                && data[4096..12288].iter().all(|byte| *byte == 0)
        );
        assert_eq!(file.metadata().unwrap().len(), 16384);
    }

    #[test]
    fn what_cannot_trim_says_so() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let reading = File::open(file.path()).unwrap();
        assert!(
            check_trimming(&reading, 0, 4096).unwrap_err().contains("a hole cannot be punched")
        );
        for numbers in [(0, 512), (512, 4096)] {
            assert!(
                check_trimming(file.as_file(), numbers.0, numbers.1)
                    .unwrap_err()
                    .contains("fills what is less with zeros")
            );
        }
        let refused = |most, granularity| check_limits(most, granularity, [4096, 12288]).err();
        assert_eq!(refused(Some(1 << 30), Some(4096)), None);
        assert_eq!(refused(Some(1 << 30), None), None);
        assert!(refused(Some(0), Some(4096)).unwrap().contains("discard_max_bytes is 0"));
        assert!(refused(None, None).unwrap().contains("cannot trim"));
        assert!(refused(Some(1 << 30), Some(8192)).unwrap().contains("multiples of 8192 bytes"));
    }
}

//! Parts of a file that have no written blocks, by FIEMAP (Documentation/filesystems/fiemap.rst of
//! Linux). Direct reads of them return zeros and reach no disk.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

/// Number of the request FIEMAP: `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: libc::c_ulong = 0xc020_660b;
const LAST: u32 = 0x1;
const UNWRITTEN: u32 = 0x800;
/// Flag of a request: the kernel first writes the file's dirty data.
const SYNC: u32 = 0x1;
const AT_ONCE: usize = 128;

/// struct fiemap_extent of linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// struct fiemap of linux/fiemap.h, with room for [`AT_ONCE`] extents.
#[repr(C)]
struct ExtentMap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [Extent; AT_ONCE],
}

/// Returns the byte ranges of `file` before `end` that are holes or allocated but unwritten, in
/// order.
///
/// # Errors
/// `EOPNOTSUPP` or `ENOTTY` if the file system has no FIEMAP (tmpfs, ZFS, network file systems).
pub fn unwritten_ranges(file: impl AsFd, end: u64) -> io::Result<Vec<Range<u64>>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    let mut add = |range: Range<u64>| match found.last_mut() {
        _ if range.is_empty() => {}
        Some(last) if last.end == range.start => last.end = range.end,
        _ => found.push(range),
    };
    let mut at = 0;
    while at < end {
        let map = read_map(&file, at, end - at)?;
        let extents = &map.extents[..(map.mapped as usize).min(AT_ONCE)];
        for extent in extents {
            let start = extent.logical.clamp(at, end);
            let stop = extent.logical.saturating_add(extent.length).clamp(start, end);
            add(at..start);
            if extent.flags & UNWRITTEN != 0 {
                add(start..stop);
            }
            at = stop;
        }
        if extents.last().is_none_or(|last| last.flags & LAST != 0) {
            break;
        }
    }
    add(at..end);
    Ok(found)
}

fn read_map(file: impl AsFd, start: u64, length: u64) -> io::Result<Box<ExtentMap>> {
    let mut map = Box::new(ExtentMap {
        start,
        length,
        flags: SYNC,
        mapped: 0,
        count: AT_ONCE as u32,
        reserved: 0,
        extents: [Extent::default(); AT_ONCE],
    });
    // SAFETY: the structure has the kernel's layout, with room for as many extents as `count` says,
    // and outlives the call.
    let result = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), FS_IOC_FIEMAP, &raw mut *map) };
    if result == 0 { Ok(map) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::unwritten_ranges;
    use std::os::unix::fs::FileExt;

    const BLOCK: u64 = 64 << 10;

    fn only(range: std::ops::Range<u64>) -> Vec<std::ops::Range<u64>> {
        std::iter::once(range).collect()
    }

    #[test]
    fn holes_and_what_is_only_allocated_are_unwritten() {
        // Not on tmpfs, which has no FIEMAP.
        let path = format!("/var/tmp/iotax-extents-{}", std::process::id());
        let file = std::fs::File::create_new(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.set_len(4 * BLOCK).unwrap();
        let whole = match unwritten_ranges(&file, 4 * BLOCK) {
            Ok(ranges) => ranges,
            Err(error) => return println!("skipped: needs FIEMAP in /var/tmp ({error})"),
        };
        assert_eq!(whole, only(0..4 * BLOCK), "a hole is one range");
        let data = [7; BLOCK as usize];
        file.write_all_at(&data, BLOCK).unwrap();
        file.write_all_at(&data, 3 * BLOCK).unwrap();
        assert_eq!(unwritten_ranges(&file, 4 * BLOCK).unwrap(), [0..BLOCK, 2 * BLOCK..3 * BLOCK]);
        let allocate = rustix::fs::FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&file, allocate, 0, BLOCK).unwrap();
        assert_eq!(
            unwritten_ranges(&file, BLOCK).unwrap(),
            only(0..BLOCK),
            "allocated, not written"
        );
        file.write_all_at(&data, 0).unwrap();
        assert_eq!(unwritten_ranges(&file, 4 * BLOCK).unwrap(), only(2 * BLOCK..3 * BLOCK));
        assert_eq!(unwritten_ranges(&file, 2 * BLOCK).unwrap(), []);
    }
}

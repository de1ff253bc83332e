//! Bytes of one file or block device that the page cache has yet to write: cachestat(2), Linux 6.5
//! and newer. The counters of the machine (`Dirty` in /proc/meminfo) are of all files.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Number of the system call, the same on every architecture, as for all system calls since 424.
const CACHESTAT: libc::c_long = 451;

/// struct cachestat_range of linux/mman.h. A length of 0 means up to the end.
#[repr(C)]
#[derive(Default)]
struct Range {
    offset: u64,
    length: u64,
}

/// struct cachestat of linux/mman.h, counts in pages.
#[repr(C)]
#[derive(Default)]
struct Pages {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Returns the number of bytes of a file or block device that wait to be written back or are being
/// written.
pub fn owed_bytes(file: impl AsFd) -> io::Result<u64> {
    let (range, mut pages) = (Range::default(), Pages::default());
    // SAFETY: both structures have the kernel's layout and outlive the call, which writes the
    // second only.
    let result = unsafe {
        libc::syscall(
            CACHESTAT,
            file.as_fd().as_raw_fd(),
            &raw const range,
            &raw mut pages,
            0 as libc::c_uint,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: no pointer is passed.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page_bytes = u64::try_from(page_bytes).map_err(|_| io::Error::last_os_error())?;
    Ok((pages.dirty + pages.writeback) * page_bytes)
}

#[cfg(test)]
mod tests {
    use super::owed_bytes;
    use std::io::Write;

    #[test]
    fn what_was_written_is_owed_until_it_is_synced() {
        // Not on tmpfs, whose pages are never written back.
        let path = format!("/var/tmp/iotax-cachestat-{}", std::process::id());
        let mut file = std::fs::File::create_new(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        match owed_bytes(&file) {
            Ok(owed) => assert_eq!(owed, 0, "nothing was written"),
            Err(error) => return println!("skipped: needs cachestat, Linux 6.5 ({error})"),
        }
        file.write_all(&[7; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        assert_eq!(owed_bytes(&file).unwrap(), 0, "synced");
        // The kernel may begin to write it back at once, and be done; within some tries it is seen.
        let seen = (0..50).any(|_| {
            file.write_all(&[7; 1 << 20]).unwrap();
            owed_bytes(&file).unwrap() >= 1 << 20
        });
        assert!(seen);
    }
}

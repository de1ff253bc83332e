//! Reads and writes the blocks of a disk without the page cache, so that what is read came from the
//! layers below. Tests use disks that lose what they acknowledged.

use super::stamp::BLOCK;
use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Disk of blocks of [`BLOCK`] bytes, which several threads read and write at the same time.
pub trait BlockFile: Sync {
    fn read_block(&self, block: u64, into: &mut [u8]) -> io::Result<()>;
    /// Writes a block, which may be lost until a flush returns.
    ///
    /// # Errors
    /// The errors of the system.
    fn write_block(&self, block: u64, data: &[u8]) -> io::Result<()>;
    /// Flushes the disk: each write that returned before this call must survive once this returns.
    ///
    /// # Errors
    /// The errors of the system.
    fn flush_blocks(&self) -> io::Result<()>;
}

/// Block device or file, opened with O_DIRECT.
pub struct DirectDisk(File);

impl DirectDisk {
    /// Opens a block device or file for reading and, if `writable`, for writing.
    ///
    /// # Errors
    /// If the system refuses, as where a file system has no O_DIRECT.
    pub fn open(path: &Path, writable: bool) -> Result<DirectDisk> {
        let access = if writable { OFlags::RDWR } else { OFlags::RDONLY };
        let opened =
            rustix::fs::open(path, access | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty());
        let file =
            opened.with_context(|| format!("cannot open {} with O_DIRECT", path.display()))?;
        Ok(DirectDisk(file.into()))
    }
}

impl BlockFile for DirectDisk {
    fn read_block(&self, block: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(into, block * BLOCK as u64)
    }

    fn write_block(&self, block: u64, data: &[u8]) -> io::Result<()> {
        // A short write of one block is not continued: it would be two writes.
        match self.0.write_at(data, block * BLOCK as u64)? {
            written if written == data.len() => Ok(()),
            written => Err(io::Error::new(
                io::ErrorKind::WriteZero,
                format!("{written} bytes were written"),
            )),
        }
    }

    fn flush_blocks(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// Memory of one block, aligned as O_DIRECT needs it.
pub struct AlignedPage {
    memory: Vec<u8>,
    start: usize,
}

impl Default for AlignedPage {
    fn default() -> AlignedPage {
        let memory = vec![0; 2 * BLOCK];
        let start = memory.as_ptr().align_offset(BLOCK);
        AlignedPage { memory, start }
    }
}

impl AlignedPage {
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + BLOCK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_aligned_and_a_block_comes_back() {
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let Ok(disk) = DirectDisk::open(file.path(), true) else {
            eprintln!("skipped: needs O_DIRECT in /var/tmp");
            return;
        };
        let mut page = AlignedPage::default();
        assert_eq!(page.bytes().as_ptr().align_offset(BLOCK), 0);
        page.bytes().fill(7);
        disk.write_block(3, page.bytes()).unwrap();
        disk.flush_blocks().unwrap();
        page.bytes().fill(0);
        disk.read_block(3, page.bytes()).unwrap();
        assert!(page.bytes().iter().all(|byte| *byte == 7));
        assert!(disk.read_block(256, page.bytes()).is_err(), "behind the end");
    }
}

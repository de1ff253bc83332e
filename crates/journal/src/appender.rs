//! The only way to append to files that must survive a kill: the index, the segment and the journal
//! of a run. A record is written completely or not at all, even on a full disk.

use super::{StoreError, private};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// File that nothing else writes.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
    end: u64,
}

impl Appender {
    /// Opens a file in a folder of ours; the file is private, and made if needed.
    ///
    /// # Errors
    /// [`StoreError::Unsafe`] if the file or the folder is not what it should be,
    /// [`StoreError::System`].
    pub fn open(folder: &Path, name: &str) -> Result<Appender, StoreError> {
        let (file, path) = (private::open_to_write(folder, name)?, folder.join(name));
        let end =
            file.metadata().map_err(|error| StoreError::system("look at", &path, error))?.len();
        Ok(Appender { file, path, end })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the open file, to lock it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Appends all of the bytes or none, and returns where they begin.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::System`]; the file is then as it was before, as far as
    /// it can be cut.
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64, StoreError> {
        let start = self.end;
        if let Err(source) = self.file.write_all_at(bytes, start) {
            // If even this fails, the reader sees one torn line or an unused frame.
            let _ = self.file.set_len(start);
            return Err(self.failed(source));
        }
        self.end += bytes.len() as u64;
        Ok(start)
    }

    fn failed(&self, source: io::Error) -> StoreError {
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                StoreError::Full { path: self.path.clone(), source }
            }
            _ => StoreError::system("write", &self.path, source),
        }
    }

    /// Ends a line that a kill tore, so that it does not swallow the next one. The index keeps the
    /// torn line and counts it.
    ///
    /// # Errors
    /// As [`Appender::append`], and [`StoreError::System`] if the last byte cannot be read.
    pub fn end_torn_line(&mut self) -> Result<(), StoreError> {
        if self.ends_a_line()? { Ok(()) } else { self.append(b"\n").map(|_| ()) }
    }

    /// Cuts the file to `whole` bytes and waits until this is on the disk: it removes the part of
    /// the last line that a kill left.
    ///
    /// # Errors
    /// [`StoreError::System`].
    pub fn cut(&mut self, whole: u64) -> Result<(), StoreError> {
        let cut = self.file.set_len(whole).and_then(|()| self.file.sync_all());
        cut.map_err(|error| StoreError::system("cut the torn last line of", &self.path, error))?;
        self.end = whole;
        Ok(())
    }

    fn ends_a_line(&self) -> Result<bool, StoreError> {
        let Some(last) = self.end.checked_sub(1) else { return Ok(true) };
        let mut byte = [0u8];
        let read = self.file.read_exact_at(&mut byte, last);
        read.map_err(|error| StoreError::system("read", &self.path, error))?;
        Ok(byte == *b"\n")
    }

    /// Waits until all appended bytes are on the disk.
    ///
    /// # Errors
    /// [`StoreError::System`].
    pub fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(|error| StoreError::system("sync", &self.path, error))
    }
}

/// Syncs a folder: the names of new files survive a power loss only with it.
///
/// # Errors
/// [`StoreError::System`].
pub fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| StoreError::system("sync", folder, error))
}

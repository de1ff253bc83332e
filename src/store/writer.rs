//! Appends to a run. Each record reaches the kernel before the call returns, so that a kill loses nothing;
//! `sync` makes it outlive the power. What a full disk cut off is taken away again.

use super::{INDEX, SEGMENT, StoreError, index, segment};
use crate::store::record::Record;
use iotax_load::Histogram;
use rustix::fs::FlockOperation;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The only writer of a run.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    index: Appender,
    segment: Appender,
}

impl Writer {
    /// Opens both files, makes them where needed, and ends a torn last line.
    pub(super) fn open(folder: &Path) -> Result<Writer, StoreError> {
        let mut index = Appender::open(folder.join(INDEX))?;
        lock(&index, folder)?;
        index.end_torn_line()?;
        let segment = Appender::open(folder.join(SEGMENT))?;
        sync_folder(folder)?;
        Ok(Writer { folder: folder.to_owned(), index, segment })
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stores a histogram; the number goes into a sample as `Value::Histogram`.
    ///
    /// # Errors
    /// [`StoreError::Full`] and the like; the segment is then as it was before.
    pub fn histogram(&mut self, histogram: &Histogram) -> Result<u64, StoreError> {
        self.segment.append(&segment::encode(histogram))
    }

    /// Stores a record, after the histograms that it names.
    ///
    /// # Errors
    /// [`StoreError::Full`] and the like; the index is then as it was before.
    pub fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        self.index.append(&index::encode(record)?).map(|_| ())
    }

    /// Waits until all of it is on the disk; called at verdicts, not at slices, where it would be load.
    ///
    /// # Errors
    /// [`StoreError::System`].
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.segment.sync()?;
        self.index.sync()
    }
}

/// Waits a moment: a child being started elsewhere in this process holds a copy of a lock just given
/// back, from its fork to its exec.
fn lock(index: &Appender, folder: &Path) -> Result<(), StoreError> {
    for _ in 0..50 {
        match rustix::fs::flock(&index.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(StoreError::system("lock", &index.path, error.into())),
        }
    }
    Err(StoreError::Busy(folder.to_owned()))
}

#[derive(Debug)]
struct Appender {
    file: File,
    path: PathBuf,
    end: u64,
}

impl Appender {
    fn open(path: PathBuf) -> Result<Appender, StoreError> {
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
            .open(&path);
        let file = opened.map_err(|error| StoreError::system("open", &path, error))?;
        let end = file.metadata().map_err(|error| StoreError::system("look at", &path, error))?.len();
        Ok(Appender { file, path, end })
    }

    /// Where the bytes begin.
    fn append(&mut self, bytes: &[u8]) -> Result<u64, StoreError> {
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

    fn end_torn_line(&mut self) -> Result<(), StoreError> {
        let Some(last) = self.end.checked_sub(1) else {
            return Ok(());
        };
        let mut byte = [0u8];
        self.file
            .read_exact_at(&mut byte, last)
            .map_err(|error| StoreError::system("read", &self.path, error))?;
        if byte == *b"\n" { Ok(()) } else { self.append(b"\n").map(|_| ()) }
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(|error| StoreError::system("sync", &self.path, error))
    }
}

/// The names of new files outlive the power only with their folder.
fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| StoreError::system("sync", folder, error))
}

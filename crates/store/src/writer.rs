//! Appends to a run. Each record reaches the kernel before the call returns, so that a kill loses
//! nothing; [`Writer::sync`] makes it survive a power loss. What a full disk cut off is removed
//! again.

use super::appender::{Appender, sync_folder};
use super::{INDEX, SEGMENT, StoreError, index, line, segment};
use iotax_load::{Histogram, ShortSlice};
use iotax_model::record::RunRecord;
use iotax_model::record::imported::ImportedResult;
use rustix::fs::FlockOperation;
use serde::Serialize;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Only writer of a run.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    index: Appender,
    segment: Appender,
}

impl Writer {
    /// Opens the index, which it locks, and the segment. Makes them if needed, and ends a torn last
    /// line.
    pub(super) fn open(folder: &Path) -> Result<Writer, StoreError> {
        let mut index = Appender::open(folder, INDEX)?;
        lock(&index, folder)?;
        index.end_torn_line()?;
        let segment = Appender::open(folder, SEGMENT)?;
        sync_folder(folder)?;
        Ok(Writer { folder: folder.to_owned(), index, segment })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks that the run's folder still exists: what is written to removed files is lost.
    ///
    /// # Errors
    /// [`StoreError::Removed`].
    pub fn check_present(&self) -> Result<(), StoreError> {
        let open = self.index.file().metadata().map(|meta| (meta.dev(), meta.ino()));
        let gone = match std::fs::symlink_metadata(self.index.path()) {
            Ok(named) => open.is_ok_and(|open| open != (named.dev(), named.ino())),
            Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        };
        if gone { Err(StoreError::Removed(self.folder.clone())) } else { Ok(()) }
    }

    /// Stores a histogram; the number goes into a sample as `SampleValue::Histogram`.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::System`]; the segment is then as it was before.
    pub fn histogram(&mut self, histogram: &Histogram) -> Result<u64, StoreError> {
        self.segment.append(&segment::encode(histogram))
    }

    /// Stores the short slices of a series; the number goes into a `RunRecord::Series`.
    ///
    /// # Errors
    /// As [`Writer::histogram`].
    pub fn short_slices(&mut self, slices: &[ShortSlice]) -> Result<u64, StoreError> {
        self.segment.append(&segment::encode_series(slices))
    }

    /// Stores a record. The histograms that it names must be stored before.
    ///
    /// # Errors
    /// [`StoreError::Removed`], [`StoreError::Unwritable`], [`StoreError::Full`],
    /// [`StoreError::System`]; the index is then as it was before.
    pub fn append(&mut self, record: &RunRecord) -> Result<(), StoreError> {
        self.check_present()?;
        self.index.append(&index::encode(record)?).map(|_| ())
    }

    /// Stores lines of records made by [`line_of`] or [`imported_line`], all or none.
    ///
    /// # Errors
    /// [`StoreError::Removed`], [`StoreError::Full`], [`StoreError::System`]; the index is then as it was before.
    pub fn append_lines(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        self.check_present()?;
        self.index.append(lines).map(|_| ())
    }

    /// Waits until everything is on the disk. Called at verdicts, not at slices, where it would add
    /// load.
    ///
    /// # Errors
    /// [`StoreError::System`].
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.segment.sync()?;
        self.index.sync()
    }
}

/// Returns the line of a record in the index, with its newline.
///
/// # Errors
/// [`StoreError::Unwritable`].
pub fn line_of(record: &RunRecord) -> Result<Vec<u8>, StoreError> {
    index::encode(record)
}

/// Returns the line of an imported result in the index, without copying the result.
///
/// # Errors
/// As [`line_of`].
pub fn imported_line(result: &ImportedResult) -> Result<Vec<u8>, StoreError> {
    #[derive(Serialize)]
    #[serde(tag = "record", rename = "imported")]
    struct Tagged<'a> {
        #[serde(flatten)]
        result: &'a ImportedResult,
    }
    line::encode(&Tagged { result }).map_err(StoreError::Unwritable)
}

/// Locks the index; fails with [`StoreError::Busy`] if another process holds the lock. It waits
/// half a second: a child that is started elsewhere in this process holds a copy of a lock just
/// released, from its fork to its exec.
pub(super) fn lock(index: &Appender, folder: &Path) -> Result<(), StoreError> {
    for _ in 0..50 {
        match rustix::fs::flock(index.file(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(StoreError::system("lock", index.path(), error.into())),
        }
    }
    Err(StoreError::Busy(folder.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    #[test]
    fn nothing_is_stored_in_a_folder_that_is_gone() {
        let end = RunRecord::End { at: "now".into(), outcome: "complete".into() };
        let gone = |remove: &dyn Fn(&Path)| {
            let runs = tempfile::tempdir().unwrap();
            let mut writer = Store::create(&runs.path().join("runs"), "a").unwrap();
            writer.append(&end).unwrap();
            remove(writer.folder());
            (
                matches!(writer.append(&end), Err(StoreError::Removed(_))),
                writer.check_present().is_err(),
            )
        };
        assert_eq!(gone(&|_| ()), (false, false));
        assert_eq!(gone(&|run| std::fs::remove_dir_all(run).unwrap()), (true, true));
        assert_eq!(
            gone(&|run| std::fs::remove_dir_all(run.parent().unwrap()).unwrap()),
            (true, true)
        );
        assert_eq!(
            gone(&|run| std::fs::rename(run, run.with_file_name("b")).unwrap()),
            (true, true)
        );
        let another = |run: &Path| {
            std::fs::remove_file(run.join(INDEX)).unwrap();
            std::fs::write(run.join(INDEX), "").unwrap();
        };
        assert_eq!(gone(&another), (true, true), "another file of that name");
    }
}
